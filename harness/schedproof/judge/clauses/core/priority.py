"""Which of the waiting pods get the free room."""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.history.acts import Expect, Resumed
from schedproof.history.history import History, TestPod
from schedproof.judge.clause import STEERED, STOP, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.lateness import is_overdue
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

REPEATED = "contender-again"
"""Role of the pods of a round that is tried once more, with pods that have waited."""


@gives("lower-priority-first", "no-choice", "not-tried", also=[judge_placement])
def judge_priority_order(history: History, case: str) -> Finding:
    """If more pods waited than had room, the pods of the highest priorities were bound.

    In each round as many pods count as there was room for, in the order of their bindings: a pod that was bound and
    then evicted for a pod of a higher priority was taken first. Among the taken pods, order does not matter. A pod
    that was passed over counts as waiting only if the candidate must have seen it: if it had the claimed freshness for
    that since its start. Otherwise the round is tried again, with pods that have waited for longer, and that counts.
    """
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    contenders = [*history.test_pods(case, "contender"), *history.test_pods(case, REPEATED)]
    rounds = sorted({(pod.phase, pod.role == REPEATED) for pod in contenders})
    for phase, again in rounds:
        pods = [pod for pod in contenders if (pod.phase, pod.role == REPEATED) == (phase, again)]
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
        wrong = [pod for pod in taken if pod not in deserving]
        if not again and (phase, True) in rounds and not _seen(history, wrong, passed_over):
            continue
        if passed_over:
            first = min(taken, key=lambda pod: priority[pod.uid])
            return failed(
                "lower-priority-first",
                f"{first.name} (priority {priority[first.uid]}) was bound to {history.bindings[first.uid].node} while "
                f"{passed_over[0].name} (priority {priority[passed_over[0].uid]}) waited for the same room",
            )
    # One that was bound first, and evicted then, may leave room where none was expected.
    if finding.outcome != "passed":
        return finding
    if not rounds:
        return invalid("not-tried", "no pods waited for the same room")
    return passed(
        f"{len(contenders)} pods competed in {len(rounds)} rounds, and those of the highest priorities were bound"
    )


def _seen(history: History, wrong: Sequence[TestPod], passed_over: Sequence[TestPod]) -> bool:
    """Whether a pod was taken wrongly after the candidate must have seen a pod that was passed over."""
    last = max((history.bindings[pod.uid].at for pod in wrong), default=0.0)
    starts = [resumed.at for resumed in history.of(Resumed) if resumed.at <= last]
    since = max(starts, default=0.0)
    patience = history.claims.timing.freshness
    return any(is_overdue(history, max(pod.at, since), last, patience) for pod in passed_over)


def _room(history: History, case: str, pods: list[TestPod]) -> int:
    """The number of pods that were expected to be bound."""
    uids = {pod.uid for pod in pods}
    return sum(expect.outcome == "bound" and expect.uid in uids for expect in history.of(Expect, case))


CLAUSES = (
    Clause(
        "core/priority-order",
        "If pods compete for the same room, the pods of the highest priorities get it.",
        "Kubernetes: PodSpec.priority; PrioritySort plugin", judge_priority_order, features=frozenset({"priority"}),
        stands_on=STEERED, needs=STOP,
        hint=(
            "List all pending pods before the first decision, and take the pod with the highest spec.priority (none: "
            "0)."
        ),
    ),
)  # fmt: skip
