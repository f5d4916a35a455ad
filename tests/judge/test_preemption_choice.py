"""core/preemption-choice: on which of several nodes pods are evicted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed

from .histories import CLAIMS, HistoryBuilder, told

CHOICE = "core/preemption-choice"
CLAIMED = dataclasses.replace(CLAIMS, features=("preemption",))
OLD, YOUNG = 1, 5
Held = tuple[int, int, str, int]
"""Priority, CPUs, role, and second of the start."""


def held(priority: int, cpus: int = 4, role: str = "holder", second: int = OLD) -> Held:
    return (priority, cpus, role, second)


ROUNDS: Sequence[tuple[list[Held], list[Held]]] = (
    ([held(90)], [held(10, role="budgeted", second=YOUNG)]),
    ([held(50, 2), held(50, 2)], [held(60, second=YOUNG)]),
    ([held(50, 2), held(10, 2)], [held(50, 2, second=YOUNG), held(20, 2, second=YOUNG)]),
    ([held(50)], [held(50, 2, second=YOUNG), held(-(2**31), 2, second=YOUNG)]),
    ([held(50, 2, second=YOUNG), held(10, 2)], [held(50, 2), held(10, 2, second=YOUNG)]),
)
"""By criterion, what is on the node whose victims are preferred, and on the other one."""


class Rounds:
    """On two nodes of four CPUs; each round's pods are gone before the next."""

    def __init__(self) -> None:
        self.history = HistoryBuilder(CHOICE, nodes=(), claims=CLAIMED)
        for name in ("node-1", "node-2"):
            self.history.node(name, cpu="4")
        self.history.seen()
        self._count = 0

    def play(self, *on_nodes: Sequence[Held], evicted_from: int = 0, stays: str = "", cpus: int = 4) -> None:
        """A pod has those evicted that are on a node, but for one that `stays`, and is bound there."""
        h, number = self.history, self._count
        names: list[list[str]] = []
        for place, pods in enumerate(on_nodes, 1):
            names.append([])
            for index, (priority, cpu, role, second) in enumerate(pods):
                names[-1].append(name := f"r{number}-{place}-{index}")
                here = {"kubernetes.io/hostname": f"node-{place}"}
                h.pod(name, role=role, cpu=str(cpu), priority=priority, nodeSelector=here)
                h.bind(name, f"node-{place}")
                h.start(name, second)
                h.expect(name, "bound")
        h.seen()
        self._count += 1
        h.pod(preemptor := f"p{number}", role="preemptor", cpu=str(cpus), priority=1000)
        for name in names[evicted_from]:
            if not name.endswith(stays or "none"):
                h.request("delete", "pods", name)
                h.delete(name)
        h.bind(preemptor, f"node-{evicted_from + 1}")
        h.expect(preemptor, "bound")
        for name in (
            preemptor,
            *names[1 - evicted_from],
            *(n for n in names[evicted_from] if n.endswith(stays or "none")),
        ):
            h.delete(name)


def test_what_each_criterion_prefers_passes() -> None:
    rounds = Rounds()
    for preferred, other in ROUNDS:
        rounds.play(preferred, other)
    told(rounds.history.verdict(), "passed", "", 5)


@pytest.mark.parametrize("wrong", range(len(ROUNDS)))
def test_the_other_node_of_a_round_fails(wrong: int) -> None:
    rounds = Rounds()
    for number, (preferred, other) in enumerate(ROUNDS):
        rounds.play(preferred, other, evicted_from=int(number == wrong))
    told(rounds.history.verdict(), "failed", "worse-victims", f"p{wrong}", "node-2", "node-1")


def test_what_can_stay_on_a_node_does_not_count() -> None:
    on_nodes = [held(10, 3), held(90, 1)], [held(20, 3), held(5, 1)]
    for place, outcome in ((0, "passed"), (1, "failed")):
        rounds = Rounds()
        for preferred, other in ROUNDS:
            rounds.play(preferred, other)
        rounds.play(*on_nodes, evicted_from=place, stays="-1", cpus=3)
        assert rounds.history.verdict().outcome == outcome


def test_of_nodes_whose_victims_are_alike_none_is_preferred_and_nothing_is_shown() -> None:
    rounds = Rounds()
    rounds.play([held(10)], [held(10)])
    told(rounds.history.verdict(), "invalid", "no-choice")


def test_a_criterion_that_never_decided_was_not_tried() -> None:
    rounds = Rounds()
    for preferred, other in ROUNDS[1:]:
        rounds.play(preferred, other)
    told(rounds.history.verdict(), "invalid", "no-choice", "budget")


def test_a_preemption_that_is_wrong_by_itself_fails_as_such() -> None:
    rounds = Rounds()
    rounds.play([held(1000)], [held(10)])
    told(rounds.history.verdict(), "failed", "evicted-without-priority")


def test_an_order_of_its_own_is_not_judged() -> None:
    clause = CATALOGUE[CHOICE]
    assert not why_unclaimed(clause, CLAIMED)
    assert "choice: any" in why_unclaimed(clause, dataclasses.replace(CLAIMED, preemption_choice="any"))
