"""Evictions for groups of pods, and of such groups, by the PodGroups of Kubernetes.

Only these have a rule for it: kube-scheduler with another group, by label or by an object of its own, evicts for each
member by itself.

Source: Kubernetes: workload-aware preemption (KEP-5710), PodGroup's `disruptionMode`. Both belong to the feature gate
GenericWorkload, which is off by default in 1.37.
"""

from __future__ import annotations

import dataclasses

from schedproof.candidate.claims import Claims
from schedproof.history.acts import GroupCreated
from schedproof.history.history import History
from schedproof.judge.clause import AUDIT, CHANGE_NODES, Clause
from schedproof.judge.clauses.core.gang import GANG, WHOLE, bound_members, group_outcome, is_whole
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.removals import removals
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@gives(
    "evicted-in-vain", "group-not-bound", "needless-eviction", "not-tried", "nothing-evicted",
    also=[judge_placement],
)  # fmt: skip
def judge_preempts(history: History, case: str) -> Finding:
    """Pods (role `holder`) were evicted for the group that fits without them, only as many as needed, and for no other.

    The first group does not fit even without all pods of lower priority, the last one does.
    """
    groups = list(history.of(GroupCreated, case))
    holders = {pod.uid: pod for pod in history.test_pods(case, "holder")}
    evicted = [removal for removal in removals(history) if removal.uid in holders]
    if not groups or not holders:
        return invalid("not-tried", "no group was created that needs the room of others")
    last = groups[-1]
    early = next((removal for removal in evicted if len(groups) < 2 or removal.at < last.at), None)
    if early is not None:
        return failed(
            "evicted-in-vain",
            f"{holders[early.uid].name} was evicted, although the group {groups[0].name}, which waited, does not fit "
            "even without all pods of lower priority",
        )
    if len(groups) < 2:
        placed = judge_placement(history, case)
        return placed if placed.outcome != "passed" else invalid("not-tried", "no group fits without others")
    if not is_whole(history, last):
        return failed(
            "group-not-bound",
            f"{len(bound_members(history, last))} of {len(last.pods)} members of the group {last.name} were bound, "
            f"although it fits without pods of lower priority; {len(evicted)} pods were evicted",
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if not evicted:
        return invalid("nothing-evicted", "no pod had to be evicted")
    before = history.world.at(int(min(removal.rv for removal in evicted)) - 1)
    gone = {removal.uid for removal in evicted}
    for removal in evicted:
        left = {name: pod for name, pod in before.pods.items() if pod["metadata"]["uid"] not in gone - {removal.uid}}
        if group_outcome(history, last, dataclasses.replace(before, pods=left)) == "placed":
            return failed(
                "needless-eviction",
                f"{holders[removal.uid].name} was evicted for the group {last.name}, which had room without that",
            )
    return passed(f"{len(evicted)} pods were evicted for a group, and none for one that does not fit without them")


@gives("nothing-evicted", "part-of-group-evicted", "preemptor-not-bound", also=[judge_placement])
def judge_evicted_whole(history: History, case: str) -> Finding:
    """Of a group that is disrupted as a whole, all members were evicted for a pod (role `preemptor`), or none."""
    group = next(history.of(GroupCreated, case), None)
    gone = {removal.uid for removal in removals(history)}
    if group is None:
        return invalid("nothing-evicted", "no group was in the way")
    evicted = [uid for uid in group.pods if uid in gone]
    if 0 < len(evicted) < len(group.pods):
        return failed(
            "part-of-group-evicted",
            f"{len(evicted)} of {len(group.pods)} members of the group {group.name} were evicted, although its "
            "disruptionMode is all",
        )
    waiting = [pod for pod in history.test_pods(case, "preemptor") if pod.uid not in history.bindings]
    if is_whole(history, group) and waiting and not evicted:
        return failed(
            "preemptor-not-bound",
            f"{waiting[0].name} was not bound, although it has a higher priority than the group {group.name}: no pod "
            "was evicted",
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if not evicted:
        return invalid("nothing-evicted", "no pod had to be evicted")
    return passed(f"all {len(evicted)} members of a group were evicted together")


def _no_pod_groups(claims: Claims) -> str:
    own = claims.gang is not None and claims.gang.by_pod_groups
    return "" if own else "the groups of claims.gang are not PodGroups of Kubernetes (scheduling.k8s.io)"


CLAUSES = (
    Clause(
        "core/gang-preempts",
        "Pods are evicted for a group of higher priority if all of it fits then, no more than needed, and otherwise "
        "none.",
        "Kubernetes: workload-aware preemption (KEP-5710); DefaultPreemption plugin", judge_preempts,
        needs=CHANGE_NODES | AUDIT, features=GANG | {"preemption"}, gate="GenericWorkload", unclaimed=_no_pod_groups,
        stands_on=WHOLE,
        hint="Remove all pods of lower priority, place the whole group, then add back those that still fit.",
    ),
    Clause(
        "core/gang-evicted-whole", "Of a PodGroup with the disruptionMode all, all members are evicted, or none.",
        "Kubernetes: PodGroup's disruptionMode", judge_evicted_whole, needs=CHANGE_NODES | AUDIT,
        features=GANG | {"preemption"}, gate="GenericWorkload", unclaimed=_no_pod_groups, stands_on=WHOLE,
        hint="Take the members of such a group for one victim, with the priority of its PodGroup.",
    ),
)  # fmt: skip
