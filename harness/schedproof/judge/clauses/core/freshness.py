"""`core/freshness` and `core/no-nodes`: the age of the view of the nodes that a scheduler decides by."""

from __future__ import annotations

from schedproof.history.acts import Aged, Emptied, Fence
from schedproof.history.history import History, TestPod
from schedproof.history.observations import WatchEvent
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STEERED, TRIED_AGAIN, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.lateness import is_overdue, too_busy
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.feasibility import check

_TOO_OFTEN = 2
"""Tolerated decisions on a view that is too old. A single decision can be late because the machine stalled."""


@gives("outdated-view", "too-few", also=[judge_placement])
def judge_freshness(history: History, case: str) -> Finding:
    """Changes of nodes affected decisions within the claimed time, in all rounds except one at most."""
    late, in_time, busy = [], 0, []
    for aged in history.of(Aged, case):
        pod = next((pod for pod in history.test_pods(case, "probe") if pod.at >= aged.at), None)
        if pod is None:
            continue
        if _is_late(history, pod, aged):
            if why := too_busy(aged.kept, aged.seconds):
                busy.append(why)
            else:
                late.append((pod, aged))
        elif any(fence.at > pod.at for fence in history.of(Fence, case)):
            in_time += 1
    if len(late) >= _TOO_OFTEN:
        pod, aged = late[0]
        return failed(
            "outdated-view",
            f"{pod.name} was bound to {aged.node}, although it was created {aged.seconds:g} s after the delivery of a "
            f"change of that node that rules it out ({len(late)} of {len(late) + in_time} changes; the claimed "
            f"freshness is {aged.seconds:g} s, spec.claims.timing.freshness)",
        )
    if busy and len(late) + len(busy) >= _TOO_OFTEN:
        return invalid("machine-too-busy", busy[0])
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    if in_time < _TOO_OFTEN:
        return invalid("too-few", f"only {in_time} changes were tried to the end")
    missed = f"; {len(late)} was not, once" if late else ""
    return passed(f"{in_time} changes of nodes were taken into account in time{missed}")


def _is_late(history: History, pod: TestPod, aged: Aged) -> bool:
    """Whether the pod was bound to the changed node, where it could not run from the change until the Binding."""
    binding = history.bindings.get(pod.uid)
    if binding is None or binding.node != aged.node:
        return False
    versions = history.world.node_versions(binding.node, aged.rv, binding.rv - 1)
    return all(node is None or check(binding.manifest, [node], ())[binding.node] for _, node in versions)


@gives("not-tried", "outdated-view", also=[judge_placement])
def judge_no_nodes(history: History, case: str) -> Finding:
    """Without nodes, pods waited once the deletions had to be known; with the first node they were scheduled."""
    emptied = next(history.of(Emptied, case), None)
    freshness = history.claims.timing.freshness
    if emptied is not None:
        gone = [
            event.at
            for event in history.of(WatchEvent)
            if event.resource == "nodes" and event.type == "DELETED" and event.at >= emptied.at
        ]
        last = max(gone, default=emptied.at)
        misplaced = [pod for pod in history.test_pods(case, "probe") if _on_missing_node(history, pod)]
        late = [pod for pod in misplaced if is_overdue(history, last, pod.at, freshness)]
        if len(late) >= _TOO_OFTEN:
            return failed(
                "outdated-view",
                f"{late[0].name} was bound to {history.bindings[late[0].uid].node}, which was deleted more than the "
                f"claimed freshness of {freshness:g} s earlier ({len(late)} such pods)",
            )
    finding = judge_placement(history, case)
    if finding.outcome == "failed" or emptied is not None:
        return finding
    return invalid("not-tried", "the nodes were not removed")


def _on_missing_node(history: History, pod: TestPod) -> bool:
    binding = history.bindings.get(pod.uid)
    return binding is not None and binding.node not in history.world.at(binding.rv - 1).nodes


CLAUSES = (
    Clause(
        "core/freshness",
        "A change of a node affects decisions within the claimed time after its delivery to the scheduler.",
        "the candidate's own claim (timing.freshness)", judge_freshness, needs=CHANGE_NODES | SEVERAL_NODES,
        stands_on=STEERED,
        hint="Watch nodes instead of listing them from time to time, and use the delivered state in the next decision.",
    ),
    Clause(
        "core/no-nodes", "Without nodes, pods wait; with the first node, they are scheduled.",
        "kube-scheduler: ErrNoNodesAvailable", judge_no_nodes, needs=frozenset({"empty-cluster"}),
        stands_on=TRIED_AGAIN,
        hint="An empty list of nodes is a reason to wait, not an error; look for maxima over nothing.",
    ),
)  # fmt: skip
