"""core: pods of several nodes could be evicted for a pod of higher priority."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

NODES = 6
"""With ten rounds, a random choice passes with a probability below one in a million."""
ROOM = 4
"""Slots of each node, in each round."""
LEAST = -(2**31)
"""The lowest priority. kube-scheduler adds 2^31 to each priority before it sums them, so a pod with this priority adds
0: only then can sums be equal although the numbers of victims differ, and the number decides."""


class Held(NamedTuple):
    """A pod that holds slots.

    `budgeted`, `allowed`: a PodDisruptionBudget forbids its disruption, or allows it. `old`: it starts seconds before
    the other pods.
    """

    priority: int
    slots: int = 1
    budgeted: bool = False
    allowed: bool = False
    old: bool = False

    @property
    def app(self) -> str:
        """The label by which a budget selects it; "" if none does."""
        return "budgeted" if self.budgeted else "allowed" if self.allowed else ""


class Round(NamedTuple):
    """Pods on the node whose victims are preferred, and on the others, in turn; slots that the preemptor requests."""

    preferred: Sequence[Held]
    others: Sequence[Sequence[Held]]
    wanted: int = ROOM


def rounds(source: random.Random) -> list[Round]:
    """Return one or two rounds for each criterion of the order; all later criteria favour another node.

    The last criterion is the start time: the preferred victims are the oldest.
    """
    low, middle, high = sorted(source.sample(range(1, 900), 3))
    negative = source.randint(-900, -1)
    by_order = [
        # PDB violations: none is preferred to any, and one to two.
        Round([Held(high)] * 4, [[Held(low, 4, budgeted=True)], [Held(low, 2, budgeted=True), Held(low, 2)]]),
        Round(
            [Held(high, 2, budgeted=True), Held(high), Held(high)],
            [[Held(low, 2, budgeted=True), Held(low, 2, budgeted=True)]],
        ),
        # The highest priority among the victims, also if their budget allows it; then also if a pod of higher priority
        # is on the node, and can stay; then one of which either could stay.
        Round([Held(low, 4, allowed=True)], [[Held(middle, 4)]]),
        Round([Held(middle)] * 4, [[Held(high, 4)], [Held(high, 2), Held(low, 2)]]),
        Round([Held(low, 3), Held(high)], [[Held(middle, 3), Held(low)], [Held(middle, 4)]], wanted=3),
        Round([Held(high, 2), Held(low, 2)], [[Held(high, 2), Held(middle, 2)]], wanted=2),
        # The sum of priorities; of negative ones, where more pods have the smaller plain sum.
        Round([Held(high, 2), Held(low, 2)], [[Held(high, 2), Held(middle, 2)], [Held(high, 2), Held(high, 2)]]),
        Round([Held(negative, 4)], [[Held(negative, 2)] * 2, [Held(negative)] * 4]),
        # The number of victims.
        Round([Held(high, 4)], [[Held(high, 2), Held(LEAST, 2)], [Held(high), *[Held(LEAST)] * 3]]),
    ]
    # The earliest start among victims of the highest priority: not that of other victims, nor the latest.
    old_high, old_low = Held(high, old=True), Held(low, 2, old=True)
    by_start = Round(
        [Held(high), Held(high), old_low], [[old_high, Held(high), Held(low, 2)], [old_high, old_high, Held(low, 2)]]
    )
    return [
        *(one._replace(preferred=[held._replace(old=True) for held in one.preferred]) for one in by_order),
        by_start,
    ]


@pytest.mark.clause("core/preemption-choice")
def test_preemption_choice(case: Case) -> None:
    """Each round has slots of its own on the same nodes, so that the holders of all rounds are bound first."""
    names = [f"node-choice-{number}" for number in range(NODES)]
    tried = rounds(case.random)
    slots = [f"schedproof.dev/slot-{number}" for number in range(len(tried))]
    for name in names:
        case.nodes.add(name, **dict.fromkeys(slots, str(ROOM)))
    case.settle()
    held = [
        (phase, node, one)
        for phase, contest in enumerate(tried)
        for number, node in enumerate(case.random.sample(names, NODES))
        for one in (contest.others[number % len(contest.others)] if number else contest.preferred)
    ]
    values = sorted({one.priority for *_, one in held})
    classes = {value: case.objects.priority_class(value) for value in values}
    budgeted: dict[str, list[Pod]] = {"budgeted": [], "allowed": []}
    for old in (True, False):
        pods = []
        for phase, node, one in held:
            if one.old == old:
                pods.append(case.pod(
                    "holder", role="budgeted" if one.budgeted else "holder", phase=phase, cpu="10m",
                    extended={slots[phase]: str(one.slots)}, priorityClassName=classes[one.priority],
                    labels={"app": one.app} if one.app else {}, nodeSelector={"kubernetes.io/hostname": node},
                ))  # fmt: skip
                budgeted.get(one.app, []).append(pods[-1])
        case.expect_bound(pods)
        case.pods.await_started(pods)
    for app, protected in budgeted.items():
        case.objects.disruption_budget(app, pods=len(protected), allows=len(protected) if app == "allowed" else 0)
    case.view.await_freshness()
    high = case.objects.priority_class(1000, preempts=True)
    for phase, contest in enumerate(tried):
        preemptor = case.pod(
            "preemptor", role="preemptor", phase=phase, cpu="10m", extended={slots[phase]: str(contest.wanted)},
            priorityClassName=high,
        )  # fmt: skip
        case.expect_bound_after_evictions(preemptor)
