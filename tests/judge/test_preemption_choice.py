"""core/preemption-choice: which of several nodes loses pods to preemption."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from schedproof.candidate.claims import PreemptionClaims
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
"""For each criterion, the pods on the node with preferable victims, and those on the other node."""


class Rounds:
    """Rounds of preemption on two nodes of four CPUs; the pods of a round are deleted before the next."""

    def __init__(self) -> None:
        self.history = HistoryBuilder(CHOICE, nodes=(), claims=CLAIMED)
        for name in ("node-1", "node-2"):
            self.history.node(name, cpu="4")
        self.history.seen()
        self._count = 0

    def play(self, *on_nodes: Sequence[Held], evicted_from: int = 0, stays: str = "", cpus: int = 4) -> None:
        """Evict the pods of one node, except the pod whose name ends with `stays`, and bind the preemptor there."""
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


def test_preemption_on_the_preferred_node_passes_for_each_criterion() -> None:
    rounds = Rounds()
    for preferred, other in ROUNDS:
        rounds.play(preferred, other)
    told(rounds.history.verdict(), "passed", "", 5)


@pytest.mark.parametrize("wrong", range(len(ROUNDS)))
def test_preemption_on_the_other_node_fails(wrong: int) -> None:
    rounds = Rounds()
    for number, (preferred, other) in enumerate(ROUNDS):
        rounds.play(preferred, other, evicted_from=int(number == wrong))
    told(rounds.history.verdict(), "failed", "worse-victims", f"p{wrong}", "node-2", "node-1")


def test_pods_that_need_not_be_evicted_do_not_count() -> None:
    on_nodes = [held(10, 3), held(90, 1)], [held(20, 3), held(5, 1)]
    for place, outcome in ((0, "passed"), (1, "failed")):
        rounds = Rounds()
        for preferred, other in ROUNDS:
            rounds.play(preferred, other)
        rounds.play(*on_nodes, evicted_from=place, stays="-1", cpus=3)
        assert rounds.history.verdict().outcome == outcome


def test_nodes_with_equal_victims_are_invalid() -> None:
    rounds = Rounds()
    rounds.play([held(10)], [held(10)])
    told(rounds.history.verdict(), "invalid", "no-choice")


def test_history_without_a_decision_by_each_criterion_is_invalid() -> None:
    rounds = Rounds()
    for preferred, other in ROUNDS[1:]:
        rounds.play(preferred, other)
    told(rounds.history.verdict(), "invalid", "no-choice", "budget")


def test_eviction_of_a_pod_of_equal_priority_fails() -> None:
    rounds = Rounds()
    rounds.play([held(1000)], [held(10)])
    told(rounds.history.verdict(), "failed", "evicted-without-priority")


def test_candidate_that_claims_any_choice_is_not_judged() -> None:
    clause = CATALOGUE[CHOICE]
    assert not why_unclaimed(clause, CLAIMED)
    assert "choice: any" in why_unclaimed(clause, dataclasses.replace(CLAIMED, preemption=PreemptionClaims("any")))


def test_other_victims_than_the_preferred_ones_of_the_node_fail() -> None:
    for stays, outcome in (("-0", "passed"), ("-1", "failed")):
        rounds = Rounds()
        for preferred, other in ROUNDS:
            rounds.play(preferred, other)
        rounds.play([held(90, 2), held(10, 2)], [held(90, 2), held(20, 2)], stays=stays, cpus=2)
        assert rounds.history.verdict().outcome == outcome
