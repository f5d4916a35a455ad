"""The oracle's view of groups beside what kube-scheduler does with them, counted by kind.

As a program: `python -m differential.group_comparison WORLDS [SEED]`, from the folder `tests`.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from schedproof.oracle.feasibility import check
from schedproof.oracle.groups import (
    Victim,
    group_of,
    group_priority,
    held_back,
    inconsistent,
    members_of,
    on_node,
    outcome,
    still_needed,
    victims,
)
from schedproof.oracle.manifest import full_name, priority

from .group_worlds import GroupWorlds, Manifest
from .programs import main

KUBERNETES = "1.37"
"""The first minor version with PodGroups that are more than an experiment, though off by default."""
_BATCH = 1_000


@dataclasses.dataclass
class GroupComparison:
    """`alike`: decisions by kind, each about one pod, or about the evictions of one turn; `different`: those on which
    the two do not agree, by kind, with their worlds.
    """

    alike: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    different: dict[str, list[Manifest]] = dataclasses.field(default_factory=dict)

    @property
    def decided(self) -> int:
        """Number of compared decisions."""
        return self.alike.total() + sum(map(len, self.different.values()))

    def add(self, world: Manifest, turns: Sequence[Manifest]) -> None:
        """Compare what happened to each waiting pod of a world."""
        for kind, right, count in _decisions(world, turns):
            if right:
                self.alike[kind] += count
            else:
                self.different.setdefault(kind, []).append({**world, "turns": turns})

    def lines(self) -> Iterable[str]:
        yield f"{self.decided:,} decisions compared, {sum(map(len, self.different.values())):,} different"
        yield from (f"  alike, {kind}: {count:,}" for kind, count in self.alike.most_common())
        yield from (f"  DIFFERENT, {len(found):,}: {kind}" for kind, found in self.different.items())


def _decisions(world: Manifest, turns: Sequence[Manifest]) -> Iterator[tuple[str, bool, int]]:
    """Each kind of decision, whether the oracle agrees, and the number of pods that it is about."""
    groups = {full_name(group): group for group in world["podGroups"]}
    waiting = {pod["metadata"]["name"]: pod for pod in world["pods"] if "nodeName" not in pod["spec"]}
    tried = {name for turn in turns for name in turn["pods"]}
    for name, pod in ((name, pod) for name, pod in waiting.items() if group_of(pod)):
        why = held_back(pod, world["pods"], groups)
        yield (f"held back: {_kind(why)}" if name not in tried else "tried"), bool(why) == (name not in tried), 1
    firsts = [next(turn for turn in turns if name in turn["pods"]) for name in sorted(tried)]
    order = [group_priority(waiting[turn["pods"][0]], groups) for turn in turns if turn in firsts]
    for before, after in itertools.pairwise(order):
        yield "order by priority", before >= after, 1
    there = {pod["metadata"]["name"]: pod for pod in world["pods"] if "nodeName" in pod["spec"]}
    for turn in turns:
        yield from _turn(world, groups, waiting, list(there.values()), turn)
        if turn["nominated"]:
            return  # what is placed later depends on the nodes that these leave
        there |= {name: on_node(waiting[name], node) for name, node in turn["placed"].items()}


def _turn(
    world: Manifest, groups: dict[str, Manifest], waiting: dict[str, Manifest], there: list[Manifest], turn: Manifest
) -> Iterator[tuple[str, bool, int]]:
    """The decisions of one turn: `there` are the pods on nodes."""
    members = [waiting[name] for name in turn["pods"]]

    def nodes_for(pod: Manifest, beside: Iterable[Manifest]) -> list[str]:
        found = check(pod, world["nodes"], beside, {"default": {}})
        return [node for node, reasons in found.items() if not reasons]

    group = groups.get(group_of(members[0]))
    if group is None or turn["placed"]:
        placed: list[Manifest] = []
        for member in members:
            node = turn["placed"].get(member["metadata"]["name"], "")
            possible, kind = nodes_for(member, [*there, *placed]), "placed" if node else "fits nowhere"
            yield (
                f"{kind}, {'by itself' if group is None else 'of a group'}",
                (node in possible if node else not possible),
                1,
            )
            placed += [on_node(member, node)] if node else []
        if group is None:
            return
    everyone = members_of(group_of(members[0]), [*there, *members])
    needed = still_needed(group, everyone)
    if turn["placed"]:
        yield "so many of a group", len(turn["placed"]) >= needed and not inconsistent(group, everyone), 1
        return

    def without(gone: Iterable[Manifest]) -> str:
        uids = {pod["metadata"]["uid"] for pod in gone}
        left = [pod for pod in there if pod["metadata"]["uid"] not in uids]
        return outcome(members, needed, lambda pod, placed: nodes_for(pod, [*left, *placed]))

    why = inconsistent(group, everyone)
    found = "inconsistent" if why else without(())
    yield f"not placed: {found}", found != "placed", len(members)
    if why:
        yield "evicts nothing: inconsistent", not turn["evicted"], 1
        return
    yield from _evictions(turn, members, victims(there, groups, priority(group)), without)


def _evictions(
    turn: Manifest,
    members: Sequence[Manifest],
    possible: Sequence[Victim],
    without: Callable[[Iterable[Manifest]], str],
) -> Iterator[tuple[str, bool, int]]:
    """What a turn evicts: only what it may, whole groups, and only if that helps. Who is terminating is not deleted.

    Nominated members show that a placement was found. It may need no victim: it is searched for anew without them.
    """
    evicted = set(turn["evicted"])
    if not turn["nominated"]:
        may = members[0]["spec"].get("preemptionPolicy") != "Never" and possible
        helps = without(_pods(possible)) if may else "may not"
        yield f"evicts nothing: {helps}", helps != "placed" and not evicted, 1
        return
    gone = [victim for victim in possible if all(_gone(pod, evicted) for pod in victim.pods)]
    yield "evicts whole groups, of lower priority", evicted <= {pod["metadata"]["name"] for pod in _pods(gone)}, 1
    yield "evicts enough", without(_pods(gone)) != "waits", 1
    spared = any(without(_pods(other for other in gone if other is not victim)) == "placed" for victim in gone)
    yield f"evicts {'one that could stay if nodes were chosen again' if spared else 'none that could stay'}", True, 1


def _gone(pod: Manifest, evicted: Collection[str]) -> bool:
    return pod["metadata"]["name"] in evicted or "deletionTimestamp" in pod["metadata"]


def _pods(found: Iterable[Victim]) -> list[Manifest]:
    return [pod for victim in found for pod in victim.pods]


def _kind(why: str) -> str:
    return "too few members" if "members are there" in why else "no PodGroup" if "no PodGroup" in why else why


def compare(program: Path, count: int, seed: int) -> GroupComparison:
    """Compare `count` worlds from a seed on."""
    comparison, worlds = GroupComparison(), GroupWorlds(seed)
    while count > 0:
        batch = [worlds.draw() for _ in range(min(count, _BATCH))]
        count -= len(batch)
        lines = "".join(json.dumps(world) + "\n" for world in batch)
        answered = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
        for world, line in zip(batch, answered.stdout.splitlines(), strict=True):
            comparison.add(world, json.loads(line)["turns"])
    return comparison


if __name__ == "__main__":
    sys.exit(main("groups", KUBERNETES, compare))
