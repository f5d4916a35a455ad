"""`core/freshness` and `core/no-nodes`: how old the view of the nodes is that a scheduler decides by."""

from __future__ import annotations

from schedproof.history.acts import Aged, Emptied, Fence
from schedproof.history.history import History, TestPod
from schedproof.history.observations import WatchEvent
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STEERED, TRIED_AGAIN, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.lateness import is_overdue, too_busy
from schedproof.judge.verdict import Finding, failed, invalid, passed
from schedproof.oracle.feasibility import check

_TOO_OFTEN = 2
"""Decisions on a view that was too old. One may be a machine that stood still for a moment."""


def judge_freshness(history: History, case: str) -> Finding:
    """What a node was told to have become was heeded within the claimed time, in all rounds but one at most."""
    late, heeded, busy = [], 0, []
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
            heeded += 1
    if len(late) >= _TOO_OFTEN:
        pod, aged = late[0]
        return failed(
            "outdated-view",
            f"{pod.name} was bound to {aged.node}, created {aged.seconds:g} s after a change of that node which "
            f"rules it out had been delivered ({len(late)} of {len(late) + heeded} changes; the claimed freshness is "
            f"{aged.seconds:g} s, spec.claims.timing.freshness)",
        )
    if busy and len(late) + len(busy) >= _TOO_OFTEN:
        return invalid("machine-too-busy", busy[0])
    finding = judge_placement(history, case)
    if finding.outcome == "failed":
        return finding
    if heeded < _TOO_OFTEN:
        return invalid("too-few", f"only {heeded} changes were tried to the end")
    missed = f"; {len(late)} was not, once" if late else ""
    return passed(f"{heeded} changes of nodes were taken into account in time{missed}")


def _is_late(history: History, pod: TestPod, aged: Aged) -> bool:
    """Whether it was bound to the node that changed, where it could not run from that change on until the bind."""
    binding = history.bindings.get(pod.uid)
    if binding is None or binding.node != aged.node:
        return False
    versions = history.world.node_versions(binding.node, aged.rv, binding.rv - 1)
    return all(node is None or check(binding.manifest, [node], ())[binding.node] for _, node in versions)


def judge_no_nodes(history: History, case: str) -> Finding:
    """While there was no node, pods waited, once that must be known; with the first node they were scheduled."""
    emptied = next(history.of(Emptied, case), None)
    freshness = history.claims.timing.freshness
    if emptied is not None:
        gone = [
            event.at
            for event in history.of(WatchEvent)
            if event.resource == "nodes" and event.type == "DELETED" and event.at >= emptied.at
        ]
        last = max(gone, default=emptied.at)
        astray = [pod for pod in history.test_pods(case, "probe") if _went_nowhere(history, pod)]
        late = [pod for pod in astray if is_overdue(history, last, pod.at, freshness)]
        if len(late) >= _TOO_OFTEN:
            return failed(
                "outdated-view",
                f"{late[0].name} was bound to {history.bindings[late[0].uid].node}, which had been gone for more than "
                f"the claimed freshness of {freshness:g} s ({len(late)} such pods)",
            )
    finding = judge_placement(history, case)
    if finding.outcome == "failed" or emptied is not None:
        return finding
    return invalid("not-tried", "the nodes were not taken away")


def _went_nowhere(history: History, pod: TestPod) -> bool:
    binding = history.bindings.get(pod.uid)
    return binding is not None and binding.node not in history.world.at(binding.rv - 1).nodes


CLAUSES = (
    Clause(
        "core/freshness",
        "A change of a node affects decisions within the claimed time after its delivery to the scheduler.",
        "the candidate's own claim (timing.freshness)", judge_freshness, needs=CHANGE_NODES | SEVERAL_NODES,
        stands_on=STEERED,
        hint="Watch nodes instead of listing them now and then, and use what the watch delivered in the next decision.",
    ),
    Clause(
        "core/no-nodes", "Without nodes, pods wait; with the first node, they are scheduled.",
        "kube-scheduler: ErrNoNodesAvailable", judge_no_nodes, needs=frozenset({"empty-cluster"}),
        stands_on=TRIED_AGAIN,
        hint="An empty list of nodes is a reason to wait, not an error; look for maxima over nothing.",
    ),
)  # fmt: skip
