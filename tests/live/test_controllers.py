"""Controllers: they have an identity of their own, and start with or without a readiness endpoint."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.clusters.cluster import Cluster
from schedproof.deploy.attachment import Attachment
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

ASKS = """
import json, pathlib, threading
from kubernetes import client, config
config.load_kube_config()
api = client.CoreV1Api()
def status(function, *arguments, **more):
    try:
        function(*arguments, _preload_content=False, **more)
    except client.ApiException as error:
        return error.status
    return 200
statuses = {
    "list pods": status(api.list_pod_for_all_namespaces),
    "get pods": status(api.read_namespaced_pod, "nobody", "default"),
    "list nodes": status(api.list_node),
    "list secrets": status(api.list_secret_for_all_namespaces),
    "bind pods": status(api.create_namespaced_pod_binding, "nobody", "default",
                        client.V1Binding(target=client.V1ObjectReference(kind="Node", name="nowhere"))),
    "read how the apiserver authenticates": status(
        api.read_namespaced_config_map, "extension-apiserver-authentication", "kube-system"),
}
pathlib.Path("statuses").write_text(json.dumps(statuses))
threading.Event().wait()
"""
"""A controller that asks for what it may do, and serves nothing."""


def candidate(folder: Path, command: list[str], rules: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "candidate.yaml").write_text(
        f"""
apiVersion: schedproof/v1
kind: Candidate
metadata: {{name: mine}}
spec:
  schedulerName: mine
  controller: {{command: {json.dumps(command)}}}
  rbac: {{rules: [{rules}]}}
  claims: {{profiles: [core]}}
"""
    )
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    session = Session(Settings(report=tmp_path_factory.mktemp("controllers")), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster


DECLARED = '{apiGroups: [""], resources: [pods], verbs: [list]}'


@pytest.mark.parametrize(("rules", "allowed"), [(DECLARED, {"list pods"}), ("", set())])
def test_a_controller_s_identity_has_exactly_the_declared_permissions(
    cluster: Cluster, tmp_path: Path, rules: str, allowed: set[str]
) -> None:
    folder = candidate(tmp_path / "mine", ["{python}", "asks.py"], rules)
    # Identities are named after candidates, and those of both cases share one cluster.
    (folder / "candidate.yaml").write_text(
        (folder / "candidate.yaml").read_text().replace("mine", f"mine-{len(rules)}")
    )
    (folder / "asks.py").write_text(ASKS)
    attachment = Attachment(cluster, load_candidate(folder), tmp_path / "logs")
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(attachment.stop)
        attachment.start(lambda *_, **__: None)
        (process,) = attachment.components

        def answered() -> dict[str, Any]:
            try:
                statuses: dict[str, Any] = json.loads((folder / "statuses").read_text())
            except (OSError, ValueError) as error:
                raise NotYet(process.log_tail()) from error
            return statuses

        statuses = wait_for(answered, CANDIDATE_READY, what="its answers", watching=(process,))
    assert {what for what, status in statuses.items() if status != 403} == allowed, statuses


def test_the_reference_controller_keeps_what_it_claims(shell: Shell) -> None:
    ended = shell.schedproof("run", "least-traffic-controller", "--report", "report")
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    assert {clause["outcome"] for clause in judged["clauses"]} == {"passed", "not-claimed"}, ended.printed


def test_a_controller_that_ends_at_once_is_not_alive(shell: Shell) -> None:
    candidate(shell.work / "mine", ["{python}", "-c", "raise SystemExit('nothing to do for me')"])
    ended = shell.schedproof("run", "mine", "--clause", "core/alive", "--clause", "core/binds", "--report", "report")
    assert ended.code == 1, ended.printed
    (judged,) = shell.report()["candidates"]
    outcomes = {clause["id"]: clause for clause in judged["clauses"]}
    assert outcomes["core/alive"]["outcome"] == "failed"
    assert "nothing to do for me" in json.dumps(outcomes["core/alive"])
