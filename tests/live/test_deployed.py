"""Candidates as pods of an existing cluster, and load in it: judged, and gone at the end, also after SIGKILL.

Here: on kind, with Prometheus behind a Service in it. Images that are loaded onto the nodes stand for those of a
registry.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.candidate.installed import Installed
from schedproof.candidate.kinds import CommandSpec, PluginSpec
from schedproof.clusters.cluster import Cluster, Rbac
from schedproof.clusters.node_image.images import our_images
from schedproof.clusters.objects import AppliedObjects
from schedproof.deploy.image import command_image, scheduler_image
from schedproof.deploy.install import install
from schedproof.deploy.plugin_build.plugin_build import scheduler_binary
from schedproof.documents.manifests import read_manifests
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session

from .users import restricted

if TYPE_CHECKING:
    from conftest import Running, Shell

pytestmark = [pytest.mark.live, pytest.mark.kind, pytest.mark.slow]

MEASURED = Deadline("Prometheus measures", 180, "its image is on the nodes, and it scrapes every second")
SENDING = Deadline("load is sent", 300, "two clauses are before it, and its pods start in seconds")
KINDS = (
    "namespaces", "pods", "deployments", "daemonsets", "jobs", "configmaps", "services", "serviceaccounts",
    "clusterroles", "clusterrolebindings", "roles", "rolebindings", "priorityclasses", "storageclasses",
    "runtimeclasses",
)  # fmt: skip


class Deployed:
    """A kind cluster with Prometheus in it, as a cluster that others run."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        assert cluster.hosting is not None
        self.cluster, self.api, self.hosting, self._folder = cluster, cluster.api, cluster.hosting, folder
        images = our_images(cluster.kubernetes)
        for image in (images.prometheus, images.python):
            self.hosting.load_image(image)
        self.python = images.python
        self.admin = cluster.identity("live-admin", Rbac(cluster_roles=("cluster-admin",))).kubeconfig
        rights = [content("clusters", f"{name}-rbac.yaml") for name in ("attached", "deployed")]
        objects = AppliedObjects(cluster.api, mine=True)
        install(objects, [Installed(tuple(rights))], "default", {"namespace": "default"})
        manifests = read_manifests(Path(__file__).with_name("in-cluster-prometheus.yaml"))
        by_kind = {manifest["kind"]: manifest for manifest in manifests}
        by_kind["ConfigMap"]["data"]["prometheus.yml"] = json.dumps(self._scraping())
        by_kind["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"] = images.prometheus
        objects.apply(manifests, "monitoring", source="in-cluster-prometheus.yaml")
        wait_for(self._measured, MEASURED, what="samples of all nodes", poll=0.5)

    def _scraping(self) -> dict[str, Any]:
        """Return the configuration of Prometheus, of which the harness's own build has no discovery."""
        nodes = {node: self.api.get("nodes", node)["status"]["addresses"][0]["address"] for node in self.cluster.nodes}
        targets = [{"targets": [f"{address}:9100"], "labels": {"node": node}} for node, address in nodes.items()]
        jobs = [{"job_name": "node-exporter", "static_configs": targets}]
        return {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": jobs}

    def _measured(self) -> None:
        path = "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/api/v1/query?query="
        status, _, body = self.api.forward("GET", f"{path}count(min_over_time(up[5s])==1)", b"", "")
        if status != 200 or not (result := json.loads(body)["data"]["result"]) or result[0]["value"][1] != "3":
            raise NotYet(body.decode(errors="replace")[:300])

    @property
    def restricted(self) -> Path:
        """The kubeconfig of the user of clusters/attached-rbac.yaml and deployed-rbac.yaml."""
        return restricted(self.api, self.admin, self._folder)

    def described(self, name: str, folder: Path) -> Path:
        """Write the description of a reference whose image is on the nodes, and return its path."""
        home = content("fixtures", "candidates", name)
        candidate = load_candidate(home)
        document = yaml.safe_load((home / "candidate.yaml").read_text().replace("{here}", str(home)))
        if isinstance(candidate.spec, PluginSpec):
            built = scheduler_binary(
                candidate.spec, name=name, kubernetes=self.cluster.kubernetes, progress=SilentProgress()
            )
            image = scheduler_image(Path(built), self.python)
            document["spec"]["plugin"]["package"] = str(home / "networktraffic")
        else:
            assert isinstance(candidate.spec, CommandSpec)
            image = command_image(candidate, candidate.spec, self.python)
        self.hosting.load_image(image)
        document["spec"]["image"] = {"ref": image}
        document["spec"].pop("scoring", None)
        path = folder / "candidate.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    def run(self, shell: Shell, name: str, *options: str, kubeconfig: Path | None = None) -> Running:
        return shell.start(
            "schedproof", "run", str(self.described(name, shell.work)), "--cluster=existing",
            f"--kubeconfig={kubeconfig or self.admin}", "--deploy=pod", "--report=report", "--allow-skipped", *options,
        )  # fmt: skip

    def everything(self) -> dict[str, Any]:
        """All objects that could be left or changed in it."""
        found: dict[str, Any] = {}
        for kind in KINDS:
            for item in self.api.list(kind)["items"]:
                metadata = item["metadata"]
                name = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
                found[name] = (metadata["uid"], metadata.get("labels"), metadata.get("generation"))
        for node in self.api.list("nodes")["items"]:
            found[f"node {node['metadata']['name']}"] = (node["metadata"]["labels"], node["spec"])
        return found


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("deployed")
    with contextlib.closing(Session(Settings(report=folder / "cluster", cluster="kind"), SilentProgress())) as session:
        yield Deployed(session.cluster, folder)


@pytest.fixture(autouse=True)
def _left_as_it_was(deployed: Deployed) -> Iterator[None]:
    before = deployed.everything()
    yield
    assert deployed.everything() == before


def outcomes(shell: Shell) -> dict[str, tuple[str, str]]:
    (candidate,) = shell.report()["candidates"]
    return {clause["id"]: (clause["outcome"], clause["summary"]) for clause in candidate["clauses"]}


REFERENCES = ("least-traffic-extender", "least-traffic-controller", "least-traffic-plugin")
ALWAYS = ("core/alive", "core/own-pods-only", "core/all-accounted", "core/feasible")


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_is_judged_as_pods_that_this_machine_reaches(deployed: Deployed, shell: Shell, name: str) -> None:
    """With taps, chosen readings and real traffic."""
    clauses = ("core/binds", "core/fit-cpu", "core/restart", "network/least-traffic", "network/real-traffic")
    ended = deployed.run(
        shell, name, f"--callback-address={deployed.cluster.callback_address}", "--allow-load=20M",
        f"--audit-log={deployed.cluster.audit_log}", f"--python-image={deployed.python}", "--allow-node-changes",
        *(f"--clause={clause}" for clause in clauses),
    ).ends()  # fmt: skip
    assert ended.code == 0, ended.printed
    found = outcomes(shell)
    assert {clause: found[clause][0] for clause in (*clauses, *ALWAYS)} == dict.fromkeys((*clauses, *ALWAYS), "passed")


def test_the_shipped_rights_suffice_and_what_needs_a_tap_is_skipped(deployed: Deployed, shell: Shell) -> None:
    """From afar: pods do not reach this machine, and the user may do what the two manifests permit."""
    options = ("--allow-load=20M", f"--python-image={deployed.python}")
    clauses = ("core/fit-cpu", "extender/verbs-served", "network/least-traffic", "network/real-traffic")
    chosen = (*options, *(f"--clause={clause}" for clause in clauses))
    user = deployed.restricted
    told = deployed.run(shell, "least-traffic-extender", *chosen, "--dry-run", kubeconfig=user).ends()
    assert told.code == 0, told.printed
    assert "2 Deployments (candidate-least-traffic-extender, scheduler-least-traffic-extender)" in told.out
    assert "send each other up to 20 MB/s per node, for 30 min at most" in told.out
    assert "--callback-address ADDRESS" in told.out
    ended = deployed.run(shell, "least-traffic-extender", *chosen, kubeconfig=user).ends()
    assert ended.code == 0, ended.printed
    found = outcomes(shell)
    passed = ("core/fit-cpu", "network/real-traffic", "core/alive", "core/feasible")
    assert {clause: found[clause][0] for clause in passed} == dict.fromkeys(passed, "passed"), ended.printed
    for clause in ("extender/verbs-served", "network/least-traffic"):
        assert found[clause][0] == "skipped"
    assert "--callback-address" in found["network/least-traffic"][1]


def test_an_image_that_nodes_cannot_have_is_refused_before_the_start(deployed: Deployed, shell: Shell) -> None:
    options = ("--cluster=existing", f"--kubeconfig={deployed.admin}", "--deploy=pod", "--dry-run")
    ended = shell.schedproof("run", "least-traffic-controller", *options)
    assert ended.code == 2, ended.printed
    assert "nodes can only pull images" in ended.err
    assert "--registry HOST/PATH" in ended.err


def test_nothing_is_left_of_a_run_that_is_killed_while_it_sends_load(deployed: Deployed, shell: Shell) -> None:
    command = deployed.run(
        shell, "least-traffic-controller", f"--callback-address={deployed.cluster.callback_address}",
        "--allow-load=20M", f"--python-image={deployed.python}", "--clause=network/real-traffic",
    )  # fmt: skip

    def sending() -> None:
        pods = deployed.api.list("pods", "schedproof-run", labelSelector="app=load")["items"]
        if sum(pod["status"]["phase"] == "Running" for pod in pods) < len(deployed.cluster.nodes):
            raise NotYet(f"{len(pods)} pods")

    wait_for(sending, SENDING, what="load", watching=(command,))
    command.process.kill()
    command.ends()

    def silent() -> None:
        pods = deployed.api.list("pods", "schedproof-run", labelSelector="app=load")["items"]
        if left := [pod["metadata"]["name"] for pod in pods]:
            raise NotYet(f"{left}")

    # Before `clean`, and long before the deadline of the Job: within a minute if the run was not connected yet.
    wait_for(silent, MEASURED, what="the pods that send load to end by themselves")
    cleaned = shell.schedproof("clean", "--kubeconfig", str(deployed.admin))
    assert cleaned.code == 0, cleaned.printed
    assert "removed namespaces/schedproof-run\n" in cleaned.out, cleaned.printed
