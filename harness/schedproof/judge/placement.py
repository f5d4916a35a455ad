"""Was each binding feasible, and did what could be scheduled get scheduled?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from schedproof.judge.evidence import decision_table, log_tails, shown, timeline
from schedproof.judge.verdict import Finding, failed, invalid, passed
from schedproof.oracle.feasibility import check, unmodelled

if TYPE_CHECKING:
    from schedproof.history.history import Binding, History, TestPod
    from schedproof.history.record import Record

__all__ = ["Ruling", "judge_placement", "rule_binding"]


@dataclasses.dataclass(frozen=True)
class Ruling:
    """On one binding. `reasons` is empty where it was feasible; `feasible` are the nodes of the state ruled by."""

    binding: Binding
    reasons: tuple[str, ...]
    feasible: tuple[str, ...]
    per_node: dict[str, tuple[str, ...]]
    unmodelled: tuple[str, ...]


def rule_binding(history: History, binding: Binding) -> Ruling:
    """Whether a binding was feasible in some state of the world that the candidate may have decided in.

    Caches lag, so every state counts from the newest that the candidate can be shown to have seen up to the
    bind. Its own earlier bindings are no news to it: they are part of each of those states as long as the pods exist.
    (A pod that was created on its node is news, whatever schedulerName it bears.)
    """
    first = min(history.seen_rv(before=binding.rv), binding.rv - 1)
    states = list(history.world.states(first, binding.rv))
    final = states[-1]
    own = history.own_pods()
    placed = {
        name: pod
        for name, pod in final.pods.items()
        if (uid := pod["metadata"]["uid"]) in own and uid in history.bindings and uid != binding.uid
    }
    newest: dict[str, tuple[str, ...]] = {}
    gaps: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    for state in reversed(states):
        pods = [*{**state.pods, **placed}.values()]
        per_node = check(binding.manifest, state.nodes.values(), pods)
        # The newest state that allows the binding is the one that explains it best.
        reasons = per_node.get(binding.node, (f"node {binding.node!r} does not exist",))
        if not newest:
            newest = per_node
            gaps = unmodelled(binding.manifest, pods, state.nodes.values())
            newest_reasons = reasons
        if not reasons:
            newest = per_node
            break
    else:
        reasons = newest_reasons
    feasible = tuple(sorted(node for node, why in newest.items() if not why))
    return Ruling(binding, reasons, feasible, newest, gaps)


def judge_placement(history: History, case: str) -> Finding:
    """Every pod of the case that is the candidate's was placed where it could run, and only if it could.

    Every `expect` record of the case is checked against the record, and the expectation itself against the
    oracle: a test that expects the impossible is `invalid`, not a failure of the candidate.
    """
    own = history.own_pods()
    rulings = [
        rule_binding(history, history.bindings[pod.uid])
        for pod in history.test_pods(case)
        # Where the probes that show what it has seen went, is for core/node-selector to judge.
        if pod.role != "settle" and pod.uid in own and pod.uid in history.bindings
    ]
    # Where the oracle does not know all the rules, what it holds against a node that exists is a guess.
    guesses = [ruling for ruling in rulings if ruling.unmodelled and ruling.binding.node in ruling.per_node]
    wrong = [ruling for ruling in rulings if ruling.reasons and ruling not in guesses]
    if wrong:
        first = wrong[0]
        return failed(
            f"{first.binding.pod} was bound to {first.binding.node}, where it cannot run: {'; '.join(first.reasons)}"
            + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""),
            decisions=[decision_table(history, ruling.binding, ruling.per_node) for ruling in wrong[:5]],
            **shown(history, case),
        )  # fmt: skip
    if gaps := sorted({gap for ruling in guesses for gap in ruling.unmodelled}):
        return invalid(f"the oracle does not model {', '.join(gaps)}")
    expectations = list(history.of("expect", case))
    if not expectations:
        return invalid("nothing was tried", timeline=timeline(history, case))
    pods = {pod.uid: pod for pod in history.test_pods(case)}
    for expectation in expectations:
        finding = _judge_expectation(history, expectation, pods[expectation["uid"]])
        if finding.outcome != "passed":
            return finding
    if unseen := next(history.of("unseen", case), None):
        return invalid(
            f"could not show that the candidate saw the world: {unseen['reason']}",
            timeline=timeline(history, case),
        )
    bound = sum(e["outcome"] == "bound" for e in expectations)
    return passed(
        f"{bound} pods bound where they fit, {len(expectations) - bound} rightly left pending",
        timeline=timeline(history, case),
    )


def _judge_expectation(history: History, expectation: Record, pod: TestPod) -> Finding:
    rv = expectation["rv"]
    binding = history.bindings.get(pod.uid)
    bound = binding is not None and binding.rv <= rv
    state = history.world.at(rv)
    manifest = state.pods.get(pod.name) or history.manifests[pod.uid]
    per_node = check(manifest, state.nodes.values(), state.pods.values())
    possible = sorted(node for node, why in per_node.items() if not why)
    evidence = {
        "decisions": [decision_table(history, binding, per_node, manifest=manifest)],
        "timeline": timeline(history, pod.case),
        "logs": log_tails(history, pod.case),
    }
    if bound:
        if expectation["outcome"] == "bound":
            return passed("bound")
        if expectation["outcome"] == "unwilling":
            assert binding is not None
            return failed(f"{pod.name} was bound to {binding.node}, which the candidate claims not to do", **evidence)
        # Every binding has been ruled on before: this one was feasible, as far as the candidate can be held to know.
        return invalid(f"{pod.name} was expected to stay pending, but it could be bound", **evidence)
    if gaps := unmodelled(manifest, state.pods.values(), state.nodes.values()):
        return invalid(f"{pod.name} was not bound, and the oracle does not model {', '.join(gaps)}", **evidence)
    if expectation["outcome"] == "bound":
        if not possible:
            return invalid(f"{pod.name} was expected to be bound, but the oracle finds no node for it", **evidence)
        begin, _ = history.span(pod.case)
        ended = [e for e in history.of("process") if e["event"] == "exited" and begin <= e["at"] <= expectation["at"]]
        waited = f"within {expectation['within']:g} s ({expectation['deadline']})"
        if ended:
            waited = f"before {ended[0]['name']} ended with code {ended[0]['code']}"
        return failed(f"{pod.name} was not bound {waited}, although it fits on {', '.join(possible)}", **evidence)
    if possible and expectation["outcome"] == "pending":
        return invalid(
            f"{pod.name} was expected to stay pending, but the oracle finds {', '.join(possible)}", **evidence
        )
    if not any(_decided(history, pod, fence) for fence in history.of("fence", pod.case) if fence["rv"] <= rv):
        return invalid(f"no fence shows that {pod.name} was decided on", **evidence)
    return passed("pending")


def _decided(history: History, pod: TestPod, fence: Record) -> bool:
    """Whether the fence's sentinel was created after the pod, and was bound."""
    return any(
        sentinel.name == fence["pod"] and sentinel.at > pod.at and sentinel.uid in history.bindings
        for sentinel in history.test_pods(pod.case, "sentinel")
    )
