"""Groups of pods that are useful only together: all of them are bound, or none.

Source: Kubernetes: gang scheduling (KEP-4671); the coscheduling plugin of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.history.acts import Expect, Fence, GroupCreated
from schedproof.history.history import History
from schedproof.history.watched import Binding
from schedproof.judge.clause import CHANGE_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement, room_for
from schedproof.judge.rulings.lateness import busy_between, is_overdue
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@gives("groups-block-each-other", "not-tried", "partial-group-bound", also=[judge_placement])
def judge_gang(history: History, case: str) -> Finding:
    """A group with room for all members was bound as a whole; of a group without, no member stayed bound.

    A member may be bound without its group for the claimed timeout, and has to be gone afterwards. Members may also
    hold room without being bound, for example at Permit, if no other pod needs it: two groups that each hold the room
    that the other lacks have to release it within that time.
    """
    gang = history.claims.gang
    if gang is None:
        return invalid("not-claimed", "claims.gang does not say what a group is")
    groups = list(history.of(GroupCreated, case))
    left = [group for group in groups if not _is_whole(history, group)]
    if stayed := _stayed(history, case, left, gang.timeout):
        return stayed
    held_up = [group for group in left if _is_held_up(history, case, group)]
    finding = judge_placement(history, case, but_for={uid for group in held_up for uid in group.pods})
    if finding.outcome != "passed":
        return finding
    if len(held_up) > 1:
        names = " and ".join(group.name for group in held_up)
        return failed(
            "groups-block-each-other",
            f"each of the groups {names} holds room that the other lacks, for more than {gang.timeout:g} s",
        )
    early = sum(binding.uid not in history.endings for group in left for binding in _bound(history, group))
    if early:
        return invalid("cut-short", f"{early} members were bound too late in the case for a verdict")
    if len(left) == len(groups) or not left:
        return invalid("not-tried", "the case did not have groups of both kinds")
    last = max((fence.at for fence in history.of(Fence, case)), default=0.0)
    if undecided := [group.name for group in left if group.at > last]:
        return invalid(
            "not-decided-on", f"no sentinel pod shows that the candidate decided on the group {undecided[0]}"
        )
    return passed(
        f"{len(groups) - len(left)} groups were bound whole; of {len(left)} groups no member stayed bound"
        + (f"; members of {len(held_up)} groups hold room that the others of their group lack" if held_up else ""),
    )


def _stayed(history: History, case: str, groups: Sequence[GroupCreated], timeout: float) -> Finding | None:
    """The finding about a member of an incomplete group that stayed bound too long, or may have; None if none did."""
    # A deletion takes as long to be shown as any other change.
    patience, (_, end) = timeout + history.claims.timing.freshness, history.span(case)
    busy = ""
    for group in groups:
        for binding in _bound(history, group):
            ending = history.endings.get(binding.uid)
            until = end if ending is None else ending.at
            if is_overdue(history, binding.at, until, patience):
                return failed(
                    "partial-group-bound",
                    f"{binding.pod} of the group {group.name} stayed on {binding.node} for more than "
                    f"{timeout:g} s, with {len(_bound(history, group))} of its {len(group.pods)} members bound",
                )
            busy = busy or busy_between(history, binding.at, until, patience)
    return invalid("machine-too-busy", busy) if busy else None


def _is_held_up(history: History, case: str, group: GroupCreated) -> bool:
    """Whether some members of a group are nominated for a node and the others have no room beside all nominated pods.

    This is judged at the time when the case last waited for the candidate.
    """
    expected = list(history.of(Expect, case))
    if not expected or group.at > expected[-1].at:
        return False
    state = history.world.at(expected[-1].rv)
    there = {pod["metadata"]["uid"]: pod for pod in state.pods.values()}
    members = [there[uid] for uid in group.pods if uid in there]
    lack = [pod for pod in members if not (pod["spec"].get("nodeName") or pod["status"].get("nominatedNodeName"))]
    hold = len(lack) < len(members) == len(group.pods)
    return hold and any(not room_for(history, pod, state) for pod in lack)


def _bound(history: History, group: GroupCreated) -> list[Binding]:
    return [history.bindings[uid] for uid in group.pods if uid in history.bindings]


def _is_whole(history: History, group: GroupCreated) -> bool:
    return len(_bound(history, group)) == len(group.pods)


CLAUSES = (
    Clause(
        "core/gang",
        "All pods of a group are bound if there is room for it; otherwise none stays bound beyond the group's timeout.",
        "Kubernetes: gang scheduling (KEP-4671); coscheduling plugin", judge_gang, needs=CHANGE_NODES,
        features=frozenset({"gang"}), stands_on=STEERED,
        hint=(
            "Place all members of a group in a copy of the world first, and bind them only if all of them fit."
        ),
    ),
)  # fmt: skip
