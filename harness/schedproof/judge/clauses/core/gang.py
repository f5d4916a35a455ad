"""Groups of pods that are useful only together: all of them are bound, or none.

Source: Kubernetes: gang scheduling (KEP-4671); the coscheduling plugin of scheduler-plugins.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from schedproof.history.acts import Expect, Fence, GroupCreated
from schedproof.history.history import History
from schedproof.history.watched import Binding
from schedproof.history.world import State
from schedproof.judge.clause import CHANGE_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import check_configured, judge_placement, room_for
from schedproof.judge.rulings.lateness import busy_between, is_overdue
from schedproof.judge.rulings.removals import removals
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.groups import Outcome, outcome
from schedproof.oracle.manifest import Manifest, priority


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
    left = [group for group in groups if not is_whole(history, group)]
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
    early = sum(binding.uid not in history.endings for group in left for binding in bound_members(history, group))
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


def _stayed(
    history: History,
    case: str,
    groups: Sequence[GroupCreated],
    timeout: float,
    *,
    end: float = math.inf,
    missing: int = 0,
) -> Finding | None:
    """The finding about a member of an incomplete group that stayed bound too long, or may have; None if none did.

    `end`: until when the groups are incomplete. `missing`: how many of their members do not exist until then.
    """
    # A deletion takes as long to be shown as any other change.
    patience, end = timeout + history.claims.timing.freshness, min(end, history.span(case)[1])
    busy = ""
    for group in groups:
        bindings, size = bound_members(history, group), len(group.pods) + missing
        for binding in bindings:
            ending = history.endings.get(binding.uid)
            until = end if ending is None else min(end, ending.at)
            if is_overdue(history, binding.at, until, patience):
                return failed(
                    "partial-group-bound",
                    f"{binding.pod} of the group {group.name} stayed on {binding.node} for more than "
                    f"{timeout:g} s, with {len(bindings)} of its {size} members bound",
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


def bound_members(history: History, group: GroupCreated) -> list[Binding]:
    return [history.bindings[uid] for uid in group.pods if uid in history.bindings]


def is_whole(history: History, group: GroupCreated) -> bool:
    return len(bound_members(history, group)) == len(group.pods)


@gives("not-tried", "partial-group-bound", also=[judge_placement])
def judge_incomplete(history: History, case: str) -> Finding:
    """No member stayed bound before the last member of its group was created (role `last`); then all were bound."""
    last = next(iter(history.test_pods(case, "last")), None)
    first = next(history.of(GroupCreated, case), None)
    if history.claims.gang is None or first is None:
        return invalid("not-tried", "no group was created without its last member")
    end = history.span(case)[1] if last is None else last.at
    if stayed := _stayed(history, case, [first], history.claims.gang.timeout, end=end, missing=1):
        return stayed
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    return passed(f"{len(first.pods)} members waited for the last one of their group, and all were bound then")


@gives("member-ended", "not-tried", also=[judge_placement])
def judge_replaced(history: History, case: str) -> Finding:
    """The replacement of a member (role `replacement`) was bound, and the candidate ended no other member."""
    placed = judge_placement(history, case)
    members = {pod.uid: pod for pod in history.test_pods(case, "member")}
    if ended := next((members[removal.uid] for removal in removals(history) if removal.uid in members), None):
        return failed(
            "member-ended", f"{ended.name} was ended by the candidate, although only another member was to be replaced"
        )
    if placed.outcome != "passed":
        return placed
    if not history.test_pods(case, "replacement"):
        return invalid("not-tried", "no member of a running group was replaced")
    return passed(f"a replacement was bound, and the other {len(members) - 1} members stayed")


@gives("not-tried", also=[judge_placement])
def judge_requeue(history: History, case: str) -> Finding:
    """Of two groups of which one fits, each was bound as a whole: the second once the first had been deleted."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    groups = list(history.of(GroupCreated, case))
    if len(groups) < 2 or not all(is_whole(history, group) for group in groups):
        return invalid("not-tried", "no group waited for the room of another")
    return passed(f"{len(groups)} groups, of which one fits, were bound one after the other")


@gives("not-tried", "partial-group-bound", "room-held", "wrong-expectation", also=[judge_placement])
def judge_holds_nothing(history: History, case: str) -> Finding:
    """Other pods (role `other`) got the room that a group without enough room for all of its members cannot use."""
    group, others = next(history.of(GroupCreated, case), None), history.test_pods(case, "other")
    if history.claims.gang is None or group is None or not others:
        return invalid("not-tried", "no other pod was created beside a group that is too large")
    if stayed := _stayed(history, case, [group], history.claims.gang.timeout):
        return stayed
    expected = {expect.uid: expect for expect in history.of(Expect, case) if expect.outcome == "bound"}
    first = history.world.at(min((expect.rv for expect in expected.values()), default=0))
    if group_outcome(history, group, first) != "waits":
        return invalid("wrong-expectation", f"the oracle finds room for the whole group {group.name}")
    for pod in others:
        if pod.uid in history.bindings or pod.uid not in expected:
            continue
        state = _without(history.world.at(expected[pod.uid].rv), group)
        held = _held(history, group, expected[pod.uid].rv)
        if held and room_for(history, history.manifests[pod.uid], state):
            return failed(
                "room-held",
                f"{pod.name} was not bound within {expected[pod.uid].within:g} s, although it fits; {held} of "
                f"{len(group.pods)} members of the group {group.name}, for which there is no room, are nominated for "
                "nodes",
            )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    return passed(f"{len(others)} pods were bound while a group of {len(group.pods)} waited that does not fit")


@gives("lower-priority-first", "no-choice", "not-tried", also=[judge_placement])
def judge_priority(history: History, case: str) -> Finding:
    """Of groups that compete for the same room, the one of the highest priority was bound.

    A round in which another was bound is tried again, with groups that have waited, and that counts.
    """
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    phases = {pod.uid: pod.phase for pod in history.test_pods(case, "member")}
    rounds: dict[int, list[GroupCreated]] = {}
    for group in history.of(GroupCreated, case):
        rounds.setdefault(phases[group.pods[0]], []).append(group)
    if not rounds:
        return invalid("not-tried", "no groups competed")
    rivals = rounds[max(rounds)]
    priorities = {group.name: priority(history.manifests[group.pods[0]]) for group in rivals}
    first = next((group for group in rivals if is_whole(history, group)), None)
    if first is None or len(set(priorities.values())) < 2 or all(is_whole(history, group) for group in rivals):
        return invalid("no-choice", "there were no groups of different priorities of which exactly one was bound")
    highest = max(priorities, key=lambda name: priorities[name])
    if first.name != highest:
        return failed(
            "lower-priority-first",
            f"the group {first.name} (priority {priorities[first.name]}) was bound while {highest} (priority "
            f"{priorities[highest]}) waited for the same room",
        )
    return passed(f"the group of priority {priorities[highest]} was bound, in round {len(rounds)}")


def group_outcome(history: History, group: GroupCreated, state: State) -> Outcome:
    """Whether all members of a group have room together in a state, by the oracle, as if none of them were there."""
    alone = _without(state, group)

    def nodes_for(pod: Manifest, placed: Sequence[Manifest]) -> list[str]:
        found = check_configured(history, dict(pod), alone, [*alone.pods.values(), *placed])
        return [node for node, reasons in found.items() if not reasons]

    return outcome([history.manifests[uid] for uid in group.pods], len(group.pods), nodes_for)


def _without(state: State, group: GroupCreated) -> State:
    """A state without the members of a group."""
    pods = {name: pod for name, pod in state.pods.items() if pod["metadata"]["uid"] not in group.pods}
    return dataclasses.replace(state, pods=pods)


def _held(history: History, group: GroupCreated, rv: int) -> int:
    """How many members of a group are nominated for a node, as of a revision."""
    pods = history.world.at(rv).pods.values()
    return sum(
        bool((pod.get("status") or {}).get("nominatedNodeName")) for pod in pods if pod["metadata"]["uid"] in group.pods
    )


GANG = frozenset({"gang"})
WHOLE = STEERED | {"core/gang"}
"""For siblings of core/gang: a scheduler that binds no group as a whole fails them for the same reason."""
_DOCUMENTED = "Kubernetes: gang scheduling (concepts/scheduling-eviction/gang-scheduling); coscheduling plugin"

CLAUSES = (
    Clause(
        "core/gang",
        "All pods of a group are bound if there is room for it; otherwise none stays bound beyond the group's timeout.",
        "Kubernetes: gang scheduling (KEP-4671); coscheduling plugin", judge_gang, needs=CHANGE_NODES,
        features=GANG, stands_on=STEERED,
        hint=(
            "Place all members of a group in a copy of the world first, and bind them only if all of them fit."
        ),
    ),
    Clause(
        "core/gang-incomplete", "Members wait until as many as their group needs are there, and are bound then.",
        _DOCUMENTED, judge_incomplete, needs=CHANGE_NODES, features=GANG, stands_on=WHOLE,
        hint="Count the members that are there before the first is bound, and try all of them when another is created.",
    ),
    Clause(
        "core/gang-replaced", "A new member of a group whose other members run is bound, and the others stay.",
        "Kubernetes: PodGroup's minCount (pods that are schedulable or scheduled); coscheduling plugin", judge_replaced,
        needs=CHANGE_NODES, features=GANG, stands_on=WHOLE,
        hint="Count the members on nodes, too: as many fewer need room together.",
    ),
    Clause(
        "core/gang-requeue", "A group that waits for the room of another is bound once that is gone.",
        _DOCUMENTED, judge_requeue, needs=CHANGE_NODES, features=GANG, stands_on=WHOLE,
        hint="Try waiting groups again when pods end, and not only when they get a member.",
    ),
    Clause(
        "core/gang-holds-nothing", "A group without room for all of its members keeps no room from other pods.",
        _DOCUMENTED, judge_holds_nothing, needs=CHANGE_NODES, features=GANG, stands_on=WHOLE,
        hint="Release what was reserved for members of a group as soon as one of them does not fit.",
    ),
    Clause(
        "core/gang-priority", "If groups compete for the same room, the group of the highest priority gets it.",
        "Kubernetes: PodGroup's priority; PodSpec.priority; PrioritySort and coscheduling plugins", judge_priority,
        needs=CHANGE_NODES, features=GANG | {"priority"}, stands_on=WHOLE,
        hint="Order groups by their priority before their age.",
    ),
)  # fmt: skip
