"""Existing clusters are judged as far as they permit, and left as they were. Here: a cluster of `schedproof cluster
up`.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.clusters import bootstrap
from schedproof.clusters.cluster import Rbac
from schedproof.clusters.existing.access import Access, read_access
from schedproof.clusters.node_backup import NOTE
from schedproof.clusters.run_lease import RunLease
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from conftest import Running, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

NODE_CHANGED = Deadline("node changed", 240, "the first clauses of a run take a second each on an idle machine")
NAMED = (
    "namespaces", "pods", "serviceaccounts", "roles", "rolebindings", "clusterroles", "clusterrolebindings",
    "validatingwebhookconfigurations", "priorityclasses",
)  # fmt: skip


class Up:
    """A running `schedproof cluster up`, and what it has printed."""

    def __init__(self, shell: Shell, folder: Path) -> None:
        self.command = shell.start("schedproof", "cluster", "up", "--nodes", "3")
        self.command.says("try: ")
        shell.watch()
        lines = dict(line.split(": ", 1) for line in self.command.so_far.out.splitlines() if ": " in line)
        self.printed = {name.strip(): value.strip() for name, value in lines.items()}
        self.kubeconfig = self.printed["kubeconfig"]
        self.access: Access = read_access(Path(self.kubeconfig), "", folder)
        self.api = self.access.api()

    def run(self, shell: Shell, *options: str, candidate: str = "least-traffic-extender", **changed: str) -> Running:
        to = {"kubeconfig": self.kubeconfig, "prometheus": self.printed["prometheus"], **changed}
        given = [f"--{name}={value}" for name, value in to.items()]
        return shell.start("schedproof", "run", candidate, "--cluster=existing", "--report=report", *given, *options)

    def everything(self) -> dict[str, Any]:
        """All objects that could be left or changed in it."""
        found: dict[str, Any] = {
            f"{resource} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}": item["metadata"].get(
                "labels"
            )
            for resource in NAMED
            for item in self.api.list(resource)["items"]
        }
        found |= {f"lease {item['metadata']['name']}": "" for item in self.api.list("leases", "kube-system")["items"]}
        for node in self.api.list("nodes")["items"]:
            # Taints of the node controllers come and go with the machine's load, but for one.
            taints = [
                taint for taint in node["spec"].get("taints", ())
                if not taint["key"].startswith("node.kubernetes.io/") or taint["key"].endswith("/unschedulable")
            ]  # fmt: skip
            metadata = {key: node["metadata"].get(key) for key in ("uid", "labels", "annotations")}
            found[f"node {node['metadata']['name']}"] = (metadata, taints, node["spec"].get("unschedulable"))
        return found


@pytest.fixture(scope="module")
def up(shells: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    shell = shells()
    up = Up(shell, tmp_path_factory.mktemp("credentials"))
    yield up
    up.command.interrupt()
    ended = up.command.ends()
    assert ended.code == 130, ended.printed
    shell.expect_nothing_left()


@pytest.fixture(autouse=True)
def _left_as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    if "up" not in request.fixturenames:
        yield
        return
    up: Up = request.getfixturevalue("up")
    before = up.everything()
    yield
    assert up.everything() == before


def outcomes(shell: Shell) -> dict[str, tuple[str, str]]:
    (candidate,) = shell.report()["candidates"]
    return {clause["id"]: (clause["outcome"], clause["summary"]) for clause in candidate["clauses"]}


def test_clauses_on_missing_capabilities_are_skipped_and_all_others_are_judged(up: Up, shell: Shell) -> None:
    lacking = {
        "core/binds": "audit", "core/cordon": "change-nodes", "extender/prioritize-range": "idle-nodes",
        "core/no-nodes": "empty-cluster", "network/real-traffic": "load", "core/bind-uid": "audit, hold-bindings",
        "core/dra": "claimed-devices",
    }  # fmt: skip
    judged = ("core/fit-cpu", "core/requeue-pod-deleted", "network/flip", "extender/malformed")
    ended = up.run(shell, *(f"--clause={clause}" for clause in (*lacking, *judged))).ends()
    assert ended.code == 3, ended.printed
    assert "this cluster lacks the capability audit: core/binds" in ended.out
    found = outcomes(shell)
    for clause, capability in lacking.items():
        assert found[clause] == ("skipped", f"this cluster lacks the capability {capability}")
    assert {found[clause][0] for clause in (*judged, "core/alive")} == {"passed"}, ended.printed


def test_with_an_audit_log_an_address_and_node_changes_more_clauses_are_judged(up: Up, shell: Shell) -> None:
    """The command that `cluster up` prints, on clauses that need all of its options."""
    _, _, candidate, *options = up.printed["try"].split()
    clauses = ("core/binds", "core/bind-uid", "core/cordon", "core/requeue-node-added", "extender/prioritize-range")
    command = ("schedproof", "run", candidate, *options, "--report=report")
    ended = shell.start(*command, *(f"--clause={clause}" for clause in clauses)).ends()
    assert ended.code == 0, ended.printed
    found = outcomes(shell)
    always = ("core/alive", "core/own-pods-only", "core/all-accounted", "core/feasible")
    assert {clause: found[clause][0] for clause in (*clauses, *always)} == dict.fromkeys((*clauses, *always), "passed")


def test_clean_removes_objects_of_a_killed_run_and_restores_its_nodes(up: Up, shell: Shell) -> None:
    def noted() -> None:
        nodes = {node["metadata"]["name"]: node for node in up.api.list("nodes")["items"]}
        if not any(NOTE in (node["metadata"].get("annotations") or {}) for node in nodes.values()):
            raise NotYet("no node bears a note")

    command = up.run(shell, "--allow-node-changes", "--profile=network-aware", "--clause=core/taint-noschedule")
    wait_for(noted, NODE_CHANGED, what="the run to change a node", watching=(command,))
    shell.watch()
    command.process.kill()
    command.ends()
    cleaned = shell.schedproof("clean", "--kubeconfig", up.kubeconfig)
    assert cleaned.code == 0, cleaned.printed
    assert "removed namespaces/schedproof-run\n" in cleaned.out, cleaned.printed
    assert "(restored)\n" in cleaned.out, cleaned.printed


def test_a_cluster_that_cannot_be_used_is_refused_with_the_reason(up: Up, shells: Any, tmp_path: Path) -> None:
    unprivileged = bootstrap.identity(
        up.api, "nobody", Rbac(), directory=tmp_path, server=up.access.url, ca=up.access.ca, home="default"
    )
    wrong: dict[str, dict[str, str]] = {
        "in use by run 'of this test'": {},
        "has no context 'other'": {"context": "other"},
        "cannot list resource": {"kubeconfig": str(unprivileged.kubeconfig)},
        "Prometheus does not respond at http://127.0.0.1:1": {"prometheus": "http://127.0.0.1:1"},
    }
    with contextlib.ExitStack() as undo:
        undo.callback(up.api.delete, "serviceaccounts", "nobody", "default")
        undo.enter_context(contextlib.closing(RunLease(up.api, "'of this test'")))
        started = [(text, shell := shells(), up.run(shell, candidate="stock", **how)) for text, how in wrong.items()]
        for text, shell, command in started:
            ended = command.ends()
            assert ended.code == 2, ended.printed
            assert text in ended.err, ended.printed
            assert "  fix: " in ended.err, ended.printed
            shell.expect_nothing_left()


def test_a_cluster_ends_with_its_command_even_by_sigkill(shell: Shell, tmp_path: Path) -> None:
    up = Up(shell, tmp_path)
    up.command.process.kill()
    assert up.command.ends().code == -signal.SIGKILL
