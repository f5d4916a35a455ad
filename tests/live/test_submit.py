"""Runs in the cluster that they judge: verdicts as from outside, whatever happens to the command that submitted them.

Here: on kind, in an image of the harness without any shell.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import build_image
import pytest
import yaml

from schedproof.clusters.kind.docker import docker
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import IMAGE_BUILT, Deadline
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session
from schedproof.submission.manifests import namespace_of

from .test_deployed import Deployed, outcomes

if TYPE_CHECKING:
    from conftest import Ended, Running, Shell

pytestmark = [pytest.mark.live, pytest.mark.kind, pytest.mark.slow]

JUDGED = Deadline("judged", 600, "three clauses take a minute on an idle machine")
WITHOUT_SHELL = """\
FROM {image}
USER 0
RUN ["python3", "-c", "import pathlib; [p.unlink() for d in ('/bin', '/usr/bin') \
for n in ('sh', 'bash', 'dash', 'rbash') \
for p in [pathlib.Path(d, n)] if p.is_symlink() or p.exists()]"]
USER 65532:65532
"""
RUNNING = {"schedulerName": "default-scheduler", "attached": {"selector": {"component": "kube-scheduler"}}}
CLAUSES = ("core/fit-cpu", "core/fit-memory", "core/requeue-pod-deleted")


class Submitting(Deployed):
    """A cluster that has the image of the harness."""

    def __init__(self, session: Session, folder: Path) -> None:
        super().__init__(session.cluster, folder)
        built = build_image.build("schedproof:with-shell", self.python, "")
        self.image = "schedproof:live"
        dockerfile = WITHOUT_SHELL.format(image=built).encode()
        docker("build", "-q", "-t", self.image, "-", stdin=dockerfile, deadline=IMAGE_BUILT)
        self.hosting.load_image(self.image)

    def submit(self, shell: Shell, *arguments: str) -> Running:
        return shell.start(
            "schedproof", "submit", *arguments, f"--kubeconfig={self.admin}", f"--image={self.image}",
            "--allow-skipped",
        )  # fmt: skip

    def attached(self, shell: Shell) -> str:
        """Write the description of the control plane's own scheduler, and return its path."""
        document = {
            "apiVersion": "schedproof/v1", "kind": "Candidate", "metadata": {"name": "stock"}, "spec": RUNNING,
        }  # fmt: skip
        (shell.work / "running").mkdir()
        path = shell.work / "running" / "candidate.yaml"
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def read(self, namespace: str, pod: str, container: str, path: str) -> str:
        """Return the text of a file in a container, which needs no shell for that."""
        command = ("python3", "-c", f"print(open({path!r}).read(), end='')")
        stream = io.BytesIO()
        with contextlib.closing(self.api.execute(namespace, pod, container, command)) as connection:
            connection.copy(stream)
        return stream.getvalue().decode()


@pytest.fixture(scope="module")
def submitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submitting]:
    folder = tmp_path_factory.mktemp("submitting")
    with contextlib.closing(Session(Settings(report=folder / "cluster", cluster="kind"), SilentProgress())) as session:
        yield Submitting(session, folder)


@pytest.fixture(autouse=True)
def _left_as_it_was(submitting: Submitting) -> Iterator[None]:
    before = submitting.everything()
    yield
    assert submitting.everything() == before


def name_of(ended: Ended) -> str:
    found = re.search(r"^submitted as (\S+);", ended.out, re.MULTILINE)
    assert found, ended.printed
    return found[1]


def judged(shell: Shell) -> dict[str, str]:
    return {clause: outcome for clause, (outcome, _) in outcomes(shell).items() if outcome != "not-claimed"}


def test_verdicts_are_those_of_a_run_from_outside(submitting: Submitting, shell: Shell) -> None:
    """A candidate that is deployed, with taps and chosen readings."""
    candidate = submitting.described("least-traffic-controller", shell.work)
    clauses = ("core/binds", "core/fit-cpu", "network/least-traffic", "network/flip")
    options = ("--seed=1", "--report=report", *(f"--clause={clause}" for clause in clauses))
    ended = submitting.submit(shell, str(candidate), *options).ends()
    assert ended.code == 0, ended.printed
    assert "pass  network/least-traffic" in ended.out
    inside = judged(shell)
    assert inside["network/least-traffic"] == "passed"
    (shell.work / "report").rename(shell.work / "inside")
    outside = shell.schedproof(
        "run", str(candidate), "--cluster=existing", f"--kubeconfig={submitting.admin}", "--deploy=pod",
        "--allow-skipped", f"--callback-address={submitting.cluster.callback_address}", *options,
    )  # fmt: skip
    assert outside.code == 0, outside.printed
    assert judged(shell) == inside


def test_a_submit_that_is_killed_comes_back_for_the_report(submitting: Submitting, shell: Shell) -> None:
    options = (f"--clause={clause}" for clause in CLAUSES)
    command = submitting.submit(shell, submitting.attached(shell), *options, "--report=never")
    command.says("pass  core/fit-cpu")
    command.process.kill()
    name = name_of(command.ends())
    ended = submitting.submit(shell, f"--attach={name}", "--report=report").ends()
    assert ended.code == 0, ended.printed
    assert ended.out.count("pass  core/fit-cpu") == 1
    assert {judged(shell)[clause] for clause in CLAUSES} == {"passed"}
    assert (shell.work / "report" / "junit.xml").exists()


def test_ctrl_c_leaves_the_run_until_it_is_cancelled(submitting: Submitting, shell: Shell) -> None:
    command = submitting.submit(shell, submitting.attached(shell))
    command.says("attaching stock: done")
    command.interrupt()
    ended = command.ends()
    assert ended.code == 130, ended.printed
    assert "goes on in the cluster" in ended.err
    in_use = shell.schedproof("clean", "--kubeconfig", str(submitting.admin))
    assert in_use.code == 2
    assert "the cluster is in use by" in in_use.err
    cancelled = submitting.submit(shell, f"--attach={name_of(ended)}", "--cancel").ends()
    assert cancelled.code == 0, cancelled.printed


def test_clean_removes_a_run_whose_report_was_never_fetched(submitting: Submitting, shell: Shell) -> None:
    command = submitting.submit(shell, submitting.attached(shell), "--clause=core/fit-cpu")
    command.says("submitted as")
    command.process.kill()
    place = namespace_of(name_of(command.ends()))

    def over() -> None:
        pods = submitting.api.list("pods", place)["items"]
        states = [status["state"] for pod in pods for status in pod["status"].get("containerStatuses") or ()]
        if not any("terminated" in state for state in states):
            raise NotYet(str(states))

    wait_for(over, JUDGED, what="the run to end", poll=0.5)
    cleaned = shell.schedproof("clean", "--kubeconfig", str(submitting.admin))
    assert cleaned.code == 0, cleaned.printed
    assert f"removed namespaces/{place}\n" in cleaned.out


def test_an_image_that_nodes_cannot_have_leaves_nothing(submitting: Submitting, shell: Shell) -> None:
    options = (f"--kubeconfig={submitting.admin}", "--image=nowhere.invalid/harness:1")
    ended = shell.schedproof("submit", submitting.attached(shell), *options)
    assert ended.code == 2, ended.printed
    assert "does not start: ImagePullBackOff" in ended.err
    assert not list(shell.work.glob("schedproof-results"))


def test_the_image_is_a_plugin_of_sonobuoy(submitting: Submitting, shell: Shell) -> None:
    """Its definition as Sonobuoy makes a pod of it, with a container in place of Sonobuoy's worker."""
    plugin = yaml.safe_load(content("clusters", "sonobuoy-plugin.yaml").read_text())
    worker: dict[str, Any] = {
        "name": "worker", "image": submitting.image, "command": ["python3", "-m", "schedproof.submission.pod", "hold"],
        "volumeMounts": [{"name": "results", "mountPath": "/results"}],
    }  # fmt: skip
    container = plugin["spec"]
    container["image"] = submitting.image
    container["args"] += [f"--clause={clause}" for clause in CLAUSES]
    container["volumeMounts"].append({"name": "config", "mountPath": "/tmp/sonobuoy/config"})
    spec = {**plugin["podSpec"], "containers": [container, worker]}
    spec["volumes"] = [{"name": "results", "emptyDir": {}}, {"name": "config", "configMap": {"name": "plugin"}}]
    api = submitting.api
    with contextlib.ExitStack() as undo:
        api.create("namespaces", {"metadata": {"name": "sonobuoy"}})
        undo.callback(wait_for, lambda: gone(submitting), JUDGED, what="the namespace to go")
        undo.callback(api.delete, "namespaces", "sonobuoy")
        api.create("serviceaccounts", {"metadata": {"name": "sonobuoy-serviceaccount"}}, "sonobuoy")
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subject = {"kind": "ServiceAccount", "name": "sonobuoy-serviceaccount", "namespace": "sonobuoy"}
        bound = {"metadata": {"name": "sonobuoy"}, "roleRef": role, "subjects": [subject]}
        api.create("clusterrolebindings", bound)
        undo.callback(api.delete, "clusterrolebindings", "sonobuoy")
        api.create("configmaps", {"metadata": {"name": "plugin"}, "data": plugin["config-map"]}, "sonobuoy")
        api.create("pods", {"metadata": {"name": "plugin"}, "spec": spec}, "sonobuoy")

        def over() -> None:
            statuses = api.get("pods", "plugin", "sonobuoy")["status"].get("containerStatuses") or ()
            states = {status["name"]: status["state"] for status in statuses}
            if "terminated" not in states.get("plugin", {}):
                raise NotYet(str(states))

        wait_for(over, JUDGED, what="the plugin to end", poll=0.5)
        log = b"".join(api.log("sonobuoy", "plugin", container="plugin").chunks()).decode()
        assert "pass  core/fit-cpu" in log, log
        assert submitting.read("sonobuoy", "plugin", "worker", "/results/done") == "/tmp/sonobuoy/results/junit.xml"
        junit = ElementTree.fromstring(submitting.read("sonobuoy", "plugin", "worker", "/results/junit.xml"))
    cases = {str(case.get("name")): case for case in junit.iter("testcase")}
    passed = {name for name, case in cases.items() if not len(case)}
    assert passed >= {*CLAUSES}, sorted(cases)


def gone(submitting: Submitting) -> None:
    if any(item["metadata"]["name"] == "sonobuoy" for item in submitting.api.list("namespaces")["items"]):
        raise NotYet("it is there")
