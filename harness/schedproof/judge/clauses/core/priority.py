"""Which of the waiting pods get the free room."""

from __future__ import annotations

from schedproof.history.acts import Expect
from schedproof.history.history import History, TestPod
from schedproof.judge.clause import STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, passed


def judge_priority_order(history: History, case: str) -> Finding:
    """If more pods waited than had room, the pods of the highest priorities were bound.

    In each phase as many pods count as there was room for, in the order of their bindings: a pod that was bound and
    then evicted for a pod of a higher priority was taken first. Among the taken pods, order does not matter.
    """
    finding = judge_placement(history, case)
    if finding.outcome == "failed":
        return finding
    contenders = history.test_pods(case, "contender")
    phases = sorted({pod.phase for pod in contenders})
    for phase in phases:
        pods = [pod for pod in contenders if pod.phase == phase]
        priority = {pod.uid: history.manifests[pod.uid]["spec"].get("priority") or 0 for pod in pods}
        by_priority = sorted(pods, key=lambda pod: -priority[pod.uid])
        bound = sorted(
            (pod for pod in pods if pod.uid in history.bindings), key=lambda pod: history.bindings[pod.uid].rv
        )
        room = _room(history, case, pods)
        ranks = [priority[pod.uid] for pod in by_priority]
        if not 0 < room < len(pods) or ranks[room - 1] == ranks[room]:
            return invalid("no-choice", "there were no pods of different priorities that compete for one place")
        taken, deserving = bound[:room], by_priority[:room]
        passed_over = [pod for pod in deserving if pod not in taken]
        if passed_over:
            wrong = min(taken, key=lambda pod: priority[pod.uid])
            return failed(
                "lower-priority-first",
                f"{wrong.name} (priority {priority[wrong.uid]}) was bound to {history.bindings[wrong.uid].node} while "
                f"{passed_over[0].name} (priority {priority[passed_over[0].uid]}) waited for the same room",
            )
    # One that was bound first, and evicted then, may leave room where none was expected.
    if finding.outcome != "passed":
        return finding
    if not phases:
        return invalid("not-tried", "no pods waited for the same room")
    return passed(
        f"{len(contenders)} pods competed in {len(phases)} rounds, and those of the highest priorities were bound"
    )


def _room(history: History, case: str, pods: list[TestPod]) -> int:
    """The number of pods that were expected to be bound."""
    uids = {pod.uid for pod in pods}
    return sum(expect.outcome == "bound" and expect.uid in uids for expect in history.of(Expect, case))


CLAUSES = (
    Clause(
        "core/priority-order",
        "If pods compete for the same room, the pods of the highest priorities get it.",
        "Kubernetes: PodSpec.priority; PrioritySort plugin", judge_priority_order, features=frozenset({"priority"}),
        stands_on=STEERED,
        hint=(
            "List all pending pods before the first decision, and take the pod with the highest spec.priority (none: "
            "0)."
        ),
    ),
)  # fmt: skip
