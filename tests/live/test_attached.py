"""A scheduler that runs already is judged as it is: nothing of it is changed, and its pods are deleted only if allowed.

Here: on kind, a second scheduler as a Deployment, and the static pod of the control plane.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from schedproof.candidate.installed import Installed
from schedproof.clusters.cluster import Cluster, Rbac
from schedproof.clusters.objects import AppliedObjects
from schedproof.deploy.install import install
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session

from .users import restricted

if TYPE_CHECKING:
    from conftest import Ended, Shell

pytestmark = [pytest.mark.live, pytest.mark.kind, pytest.mark.slow]

DEPLOYED = Deadline("second scheduler deployed", 180, "its image is on the nodes")
SECOND = {"namespace": "schedulers", "workload": {"kind": "Deployment", "name": "second"}}
STATIC = {"selector": {"component": "kube-scheduler"}}


class Attaching:
    """A kind cluster with a second scheduler, as a cluster that others run."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.api, self._folder = cluster, cluster.api, folder
        self.admin = cluster.identity("live-admin", Rbac(cluster_roles=("cluster-admin",))).kubeconfig
        files = [Path(__file__).with_name("second-scheduler.yaml"), content("clusters", "attached-rbac.yaml")]
        install(AppliedObjects(cluster.api, mine=True), [Installed(tuple(files))], "default", {"namespace": "default"})
        wait_for(self._deployed, DEPLOYED, what="the second scheduler", poll=0.5)

    def _deployed(self) -> None:
        if self.deployment["status"].get("readyReplicas") != 2:
            raise NotYet(str(self.deployment["status"]))

    @property
    def deployment(self) -> dict[str, Any]:
        return self.api.get("deployments", "second", "schedulers")

    @property
    def pods(self) -> dict[str, Any]:
        items = self.api.list("pods", "schedulers")["items"]
        return {pod["metadata"]["uid"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in items}

    @property
    def restricted(self) -> Path:
        """The kubeconfig of the user of clusters/attached-rbac.yaml."""
        return restricted(self.api, self.admin, self._folder)

    def run(self, shell: Shell, attached: dict[str, Any], *options: str, kubeconfig: Path, name: str) -> Ended:
        spec = {"schedulerName": name, "attached": attached, "claims": {"features": ["priority"]}}
        document = {"apiVersion": "schedproof/v1", "kind": "Candidate", "metadata": {"name": name}, "spec": spec}
        (shell.work / "candidate.yaml").write_text(yaml.safe_dump(document))
        given = ("--cluster=existing", f"--kubeconfig={kubeconfig}", "--report=report", *options)
        return shell.schedproof("run", "candidate.yaml", *given)


@pytest.fixture(scope="module")
def attaching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attaching]:
    folder = tmp_path_factory.mktemp("attached")
    with contextlib.closing(Session(Settings(report=folder / "cluster", cluster="kind"), SilentProgress())) as session:
        yield Attaching(session.cluster, folder)


def outcomes(shell: Shell) -> dict[str, str]:
    """The outcomes of what is claimed."""
    (candidate,) = shell.report()["candidates"]
    found = {clause["id"]: clause["outcome"] for clause in candidate["clauses"]}
    return {clause: outcome for clause, outcome in found.items() if outcome != "not-claimed"}


def test_a_deployment_is_judged_and_restarted_but_not_changed(attaching: Attaching, shell: Shell) -> None:
    before, pods = attaching.deployment, attaching.pods
    clauses = ("core/binds", "core/fit-cpu", "core/restart", "core/priority-order")
    ended = attaching.run(
        shell, SECOND, "--allow-restart", "--allow-node-changes", f"--audit-log={attaching.cluster.audit_log}",
        "--allow-skipped", *(f"--clause={clause}" for clause in clauses), kubeconfig=attaching.admin, name="second",
    )  # fmt: skip
    assert ended.code == 0, ended.printed
    assert "it deletes these pods for clauses about restarts" in ended.out
    assert "stop-candidate (the harness does not start this scheduler" in ended.out
    always = ("core/alive", "core/own-pods-only", "core/all-accounted", "core/feasible")
    passed = dict.fromkeys((*clauses, *always), "passed")
    assert outcomes(shell) == {**passed, "core/priority-order": "skipped"}, ended.printed
    assert (attaching.deployment["spec"], attaching.deployment["metadata"]["generation"]) == (
        before["spec"], before["metadata"]["generation"],
    )  # fmt: skip
    assert len(attaching.pods) == 2
    assert not attaching.pods.keys() & pods.keys()


def test_the_shipped_rights_suffice_for_a_scheduler_that_may_not_be_restarted(
    attaching: Attaching, shell: Shell
) -> None:
    """The static pod of kind's own control plane."""
    user = attaching.restricted
    told = attaching.run(shell, STATIC, "--dry-run", kubeconfig=user, name="default-scheduler")
    assert told.code == 0, told.printed
    assert "it changes no node" in told.out
    assert "control-plane (leads)" in told.out
    assert "change-nodes (--allow-node-changes)" in told.out
    assert not (shell.work / "report").exists()
    ended = attaching.run(shell, STATIC, "--allow-skipped", kubeconfig=user, name="default-scheduler")
    assert ended.code == 0, ended.printed
    found = outcomes(shell)
    assert set(found.values()) <= {"passed", "skipped"}
    assert {found[clause] for clause in ("core/fit-cpu", "core/alive", "core/feasible")} == {"passed"}
    refused = attaching.run(shell, STATIC, "--allow-restart", "--dry-run", kubeconfig=user, name="default-scheduler")
    assert refused.code == 2
    assert "is static: only its kubelet restarts it" in refused.err
    left = [attaching.api.list(kind, labelSelector="schedproof.dev/run")["items"] for kind in ("namespaces", "pods")]
    assert left == [[], []]
