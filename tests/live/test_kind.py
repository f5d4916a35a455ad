"""The main job on kind: the same verdicts as on the embedded cluster, with candidates deployed as their users do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.foundation.deadlines import Deadline

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [
    pytest.mark.live, pytest.mark.kind, pytest.mark.slow, pytest.mark.usefixtures("docker_left_as_found"),
]  # fmt: skip

KIND_ENDS = Deadline("command on kind ends", 1800, "the reference controller takes five minutes on an idle machine")
NETWORK = ("least-traffic", "missing-node", "prometheus-down", "joins", "real-traffic")
"""One of each way in which network-aware clauses touch a cluster: each takes half a minute. `make parity` tries all."""
EVERYWHERE = tuple(f"--clause=network/{clause}" for clause in NETWORK)
REFERENCES = {
    "least-traffic-controller": ("--profile=core", "--profile=controller"),
    # Their core is kube-scheduler's; `make parity` tries it.
    "least-traffic-extender": ("--profile=extender", "--clause=normalize/range", "--clause=core/restart"),
    "least-traffic-plugin": ("--profile=plugin", "--clause=core/restart"),
}
"""What is tried of each, besides."""
LACKING = {
    "core/no-nodes": "empty-cluster",
    "core/watch-reconnect": "cut-apiserver",
    "core/watch-expired": "second-apiserver",
    "core/watch-versions": "advance-versions",
    "core/watch-burst": "cut-apiserver",
    "core/token-rotated": "cut-apiserver",
    "controller/watch-reconnect": "cut-apiserver",
    "plugin/healthz-readyz": "cut-apiserver",
    "plugin/metrics": "cut-apiserver",
}
"""What kind cannot show, and why: its nodes are machines, which join again as soon as they are taken away, and pods
reach the apiserver directly."""


def verdicts(candidate: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {clause["id"]: (clause["outcome"], clause["summary"]) for clause in candidate["clauses"]}


@pytest.mark.parametrize("candidate", REFERENCES)
def test_a_reference_has_the_same_verdicts_as_on_the_embedded_cluster(shell: Shell, candidate: str) -> None:
    """There they pass all that they claim, as other tests show: here as well, but for what kind cannot show."""
    options = (*EVERYWHERE, *REFERENCES[candidate], "--cluster=kind", "--allow-skipped", "--report=report")
    ended = shell.schedproof("run", candidate, *options, deadline=KIND_ENDS)
    assert ended.code == 0, ended.said
    (judged,) = shell.report()["candidates"]
    found = verdicts(judged)
    if "--profile=core" in options:
        # Not every reference claims it, and no kubelet starts a pod whose devices no driver prepares.
        assert found.pop("core/dra")[0] in ("skipped", "not-claimed")
    asked = {clause for clause in LACKING if f"--profile={clause.partition('/')[0]}" in options}
    assert {clause: found.pop(clause) for clause in LACKING if clause in found} == {
        clause: ("skipped", f"this cluster lacks the capability {LACKING[clause]}") for clause in asked
    }
    assert {outcome for outcome, _ in found.values()} == {"passed", "not-claimed"}, ended.said


def test_a_compiled_scheduler_takes_the_control_planes_place(shell: Shell) -> None:
    """D1's own proof: traffic on all workers but one, the pod lands there, and the report shows the scores."""
    options = ("--cluster=kind", "--deploy=control-plane", "--report=report", "--clause=network/real-traffic")
    ended = shell.schedproof("run", "described/d1-network-traffic/corrected", *options, deadline=KIND_ENDS)
    assert ended.code == 0, ended.said
    (candidate,) = shell.report()["candidates"]
    (clause,) = [clause for clause in candidate["clauses"] if clause["id"] == "network/real-traffic"]
    nodes = clause["evidence"]["decisions"][0]["nodes"]
    workers = {node["node"]: node for node in nodes if node["scores"]}
    assert len(workers) == 3
    quietest = min(workers.values(), key=lambda node: node["traffic"])
    assert quietest["chosen"]
    assert quietest["scores"]["D1Corrected"] == max(node["scores"]["D1Corrected"] for node in workers.values()) > 0


def test_schedulers_are_measured_on_kinds_own_control_plane(shell: Shell) -> None:
    """With the cost of its apiserver and its etcd; whoever binds to its own node is wrong."""
    tainted = "d6-ignores-taints"
    options = ("--cluster=kind", "--workload=network-aware", "--nodes=5", "--pods=100", "--rounds=5", "--mode=drain")
    candidate = "described/d6-random-controller/ignores-taints"
    ended = shell.schedproof("bench", candidate, *options, "--phases", "--report=report", deadline=KIND_ENDS)
    document = json.loads((shell.work / "report" / "bench.json").read_text())
    assert "error" not in document["run"], ended.said
    assert document["run"]["cluster"] == "kind"
    assert {one["candidate"] for one in document["measurements"]} == {"stock", tainted}
    for measurement in document["measurements"]:
        for one in measurement["rounds"]:
            assert one["bound"] == one["pods"] == 100, ended.said
            assert all(one["usage"][server]["peak"] > 0 for server in ("etcd", "kube-apiserver"))
            if measurement["candidate"] == "stock":
                assert (one["wrong"], one["not_judged"]) == ([], [])
            else:
                # That not one pod of 100 goes to one node of 6 happens once in 80 million.
                assert "control-plane" in "\n".join(one["wrong"])
    assert [(one["candidate"], one["pods"]) for one in document["phases"]] == [("stock", 100), (tainted, 100)]
    assert ended.code == 1, ended.said
    shell.expect_nothing_left()
