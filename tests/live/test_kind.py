"""`schedproof run` on kind: the same verdicts as on the embedded cluster, with candidates deployed as by users."""

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
    """On embedded clusters the references pass all that they claim; here too, except for what kind cannot try."""
    options = (*EVERYWHERE, *REFERENCES[candidate], "--cluster=kind", "--allow-skipped", "--report=report")
    ended = shell.schedproof("run", candidate, *options, deadline=KIND_ENDS)
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    found = verdicts(judged)
    if "--profile=core" in options:
        # Not every reference claims it, and no kubelet starts a pod whose devices no driver prepares.
        for clause in ("core/dra", "core/dra-extended"):
            assert found.pop(clause)[0] in ("skipped", "not-claimed")
    selected = {clause for clause in LACKING if f"--profile={clause.partition('/')[0]}" in options}
    assert {clause: found.pop(clause) for clause in LACKING if clause in found} == {
        clause: ("skipped", f"this cluster lacks the capability {LACKING[clause]}") for clause in selected
    }
    assert {outcome for outcome, _ in found.values()} == {"passed", "not-claimed"}, ended.printed


def test_a_compiled_scheduler_replaces_that_of_the_control_plane(shell: Shell) -> None:
    """D1: with traffic on all workers but one, the pod is bound to that one, and the report shows the scores."""
    options = ("--cluster=kind", "--deploy=control-plane", "--report=report", "--clause=network/real-traffic")
    ended = shell.schedproof("run", "described/d1-network-traffic/corrected", *options, deadline=KIND_ENDS)
    assert ended.code == 0, ended.printed
    (candidate,) = shell.report()["candidates"]
    (clause,) = [clause for clause in candidate["clauses"] if clause["id"] == "network/real-traffic"]
    nodes = clause["evidence"]["decisions"][0]["nodes"]
    workers = {node["node"]: node for node in nodes if node["scores"]}
    assert len(workers) == 3
    quietest = min(workers.values(), key=lambda node: node["traffic"])
    assert quietest["chosen"]
    assert quietest["scores"]["D1Corrected"] == max(node["scores"]["D1Corrected"] for node in workers.values()) > 0


def test_schedulers_are_benchmarked_on_the_control_plane_of_kind(shell: Shell) -> None:
    """Includes the cost of kind's apiserver and etcd; a scheduler that binds to the control-plane node is wrong."""
    tainted = "d6-ignores-taints"
    options = ("--cluster=kind", "--workload=network-aware", "--nodes=5", "--pods=100", "--rounds=5", "--mode=drain")
    candidate = "described/d6-random-controller/ignores-taints"
    ended = shell.schedproof("bench", candidate, *options, "--phases", "--report=report", deadline=KIND_ENDS)
    document = json.loads((shell.work / "report" / "bench.json").read_text())
    assert "error" not in document["run"], ended.printed
    assert document["run"]["cluster"] == "kind"
    assert {entry["candidate"] for entry in document["measurements"]} == {"stock", tainted}
    for measurement in document["measurements"]:
        for round_ in measurement["rounds"]:
            assert round_["bound"] == round_["pods"] == 100, ended.printed
            assert all(round_["usage"][server]["peak"] > 0 for server in ("etcd", "kube-apiserver"))
            if measurement["candidate"] == "stock":
                assert (round_["wrong"], round_["not_judged"]) == ([], [])
            else:
                # That not one pod of 100 goes to one node of 6 happens once in 80 million.
                assert "control-plane" in "\n".join(round_["wrong"])
    assert [(phase["candidate"], phase["pods"]) for phase in document["phases"]] == [("stock", 100), (tainted, 100)]
    assert ended.code == 1, ended.printed
    shell.expect_nothing_left()
