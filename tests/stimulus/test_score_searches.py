"""Searches for cases that break a rule about scores: on which surfaces, with which readings, and what is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.foundation.saved_cases import SavedCase
from schedproof.history.acts import ScoringSearch, Surfaces
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.effort import Effort
from schedproof.normalization.search import Searches
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.scoring.searches import ScoreSearches, saved_cases

from .played_traffic import CLAIMS, RECEIVED, Traffic
from .world import NODES, World

CLAIMED = dataclasses.replace(CLAIMS, own_placements="ignored")


class Ranking:
    """Gives quiet nodes more points; if `broken`, loud ones."""

    fewest, most, waited = 1, 30, 0.0

    def __init__(self, name: str = "extender", *, nodes: str = "node") -> None:
        self.name = name
        self.nodes = tuple(f"{nodes}-{number}" for number in range(1, 31))
        self.broken = self.closed = False
        self.asked: list[Readings] = []

    def ask(self, readings: Readings) -> Answer:
        self.asked.append(readings)
        known = {node: value for node, value in readings if value is not None and 0 <= value < float("inf")}
        places = sorted({*known.values()})
        scores = {node: max(0, 10 - places.index(known[node])) if node in known else 5 for node, _ in readings}
        return Answer(tuple((node, 10 - score if self.broken else score) for node, score in scores.items()))

    def close(self) -> None:
        self.closed = True


class Searching:
    """Searches with what a running candidate and its scorers would give them."""

    def __init__(self, traffic: Traffic, clause: str, surfaces: list[Ranking], effort: Effort, apart: Any = ()) -> None:
        self.world = traffic.world
        self.put: list[Any] = []
        self.settled = 0
        trial = self.world.trial
        server = SimpleNamespace(url="http://readings", put=lambda *what: self.put.append(what))
        trial.effort, trial.asked_apart = effort, set()
        trial.scorers = SimpleNamespace(surfaces=list(apart), searches=Searches(), answers={}, server=server)
        self.live: Any = SimpleNamespace(
            asked_nodes=tuple(trial.cluster.nodes), surfaces=surfaces, news_takes_time=False, script_readings=None,
            close=lambda: [surface.close() for surface in surfaces],
        )  # fmt: skip
        context = Context.of(trial, clause)
        nodes, view = NodeChanges(context, self.world.view), SimpleNamespace(settle=self._settle)
        made: Any = view
        self.searches = ScoreSearches(context, self.live, traffic.load, nodes, made)

    def _settle(self) -> None:
        self.settled += 1

    @property
    def last(self) -> ScoringSearch:
        return self.world.of(ScoringSearch)[-1]


Maker = Callable[..., Searching]


@pytest.fixture
def make(make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "cache"))

    def made(
        *surfaces: Ranking, clause: str = "normalize/order", effort: Effort = Effort("5"), apart: Any = (),  # noqa: B008
        capabilities: Any = (), network: Any = CLAIMED,
    ) -> Searching:  # fmt: skip
        world = make_world(network=network, capabilities=capabilities)
        return Searching(Traffic(world, CLAIMED), clause, list(surfaces), effort, apart)

    return made


# -- cases that are kept


def test_a_failing_case_is_kept_until_it_is_mended(make: Maker) -> None:
    surface = Ranking()
    surface.broken = True
    first = make(surface)
    first.searches.search()
    (saved,) = saved_cases().of("candidate.yaml", "normalize/order", "extender")
    assert saved.id == first.last.id
    surface.broken = False
    again = make(surface)
    again.searches.search()
    assert again.last.id == ""
    assert saved_cases().of("candidate.yaml", "normalize/order", "extender") == []


def test_a_case_is_replayed_by_its_id_and_stays_if_it_is_mended(make: Maker) -> None:
    surface = Ranking()
    surface.broken = True
    first = make(surface)
    first.searches.search()
    identifier = first.last.id
    del surface.asked[:]
    for broken, expected in ((True, identifier), (False, "")):
        surface.broken = broken
        replayed = make(surface, effort=Effort(replay=identifier[:4]))
        replayed.searches.search()
        assert (replayed.last.id, replayed.last.cases) == (expected, 1)
        assert replayed.last.questions == first.last.questions
    assert len(surface.asked) == 2 * len(first.last.questions)
    assert saved_cases().get(identifier)


def test_a_case_of_another_cluster_is_asked_first_with_the_nodes_of_this_one(make: Maker) -> None:
    there, here = Ranking(nodes="other"), Ranking()
    there.broken = True
    first = make(there)
    first.searches.search()
    make(here).searches.search()
    assert [reading for _, reading in here.asked[0]] == [reading for _, reading in first.last.questions[0]]
    assert {node for node, _ in here.asked[0]} <= {*here.nodes}


def test_a_case_of_worlds_cannot_be_replayed_as_scores(make: Maker) -> None:
    saved_cases().keep(SavedCase("candidate.yaml", "core/random-worlds", "", {}, "misplaced"))
    identifier = next(saved_cases()._all()).id
    with pytest.raises(UsageError):
        make(Ranking(), effort=Effort(replay=identifier)).searches.search()


# -- surfaces


def asked(searching: Searching) -> list[str]:
    return searching.world.of(Surfaces)[-1].names


def test_surfaces_are_asked_in_a_fixed_order_or_only_those_that_are_named(make: Maker) -> None:
    surfaces, python = [Ranking("scheduler"), Ranking("extender")], Ranking("python")
    searching = make(*surfaces, apart=[python])
    searching.searches.search()
    assert asked(searching) == ["python", "extender", "scheduler"]
    only = make(*surfaces, apart=[python], effort=Effort("5", surfaces=("extender",)))
    only.searches.search()
    assert asked(only) == ["extender"]


@pytest.mark.parametrize(
    ("effort", "polled", "names"),
    [
        (Effort(), True, ["extender"]),
        (Effort(), False, ["extender", "scheduler"]),
        (Effort("1"), True, ["extender", "scheduler"]),
        (Effort(surfaces=("scheduler",)), True, ["scheduler"]),
    ],
)
def test_a_quick_search_does_not_ask_for_scores_twice_if_each_takes_a_poll(
    make: Maker, effort: Effort, polled: bool, names: list[str]
) -> None:
    searching = make(Ranking("extender"), Ranking("scheduler"), effort=effort)
    searching.live.news_takes_time = polled
    searching.searches.search()
    assert asked(searching) == names


def test_questions_that_cost_a_pod_are_not_repeated_by_later_clauses(make: Maker) -> None:
    surface = Ranking("scheduler")
    searching = make(surface, effort=Effort("0"))
    searching.searches.search()
    count = len(surface.asked)
    searching.searches.search()
    assert count == len(surface.asked) > 0


def test_all_surfaces_are_closed_at_the_end(make: Maker) -> None:
    surface = Ranking()
    make(surface).searches.undo()
    assert surface.closed


@pytest.mark.parametrize(
    ("clause", "effort", "capabilities", "nodes"),
    [
        ("normalize/range", Effort(), ("change-nodes", "idle-nodes"), 12),
        ("normalize/order", Effort("1"), ("change-nodes", "idle-nodes"), 30),
        ("normalize/order", Effort(), ("change-nodes", "idle-nodes"), 2),
        ("normalize/range", Effort(), (), 2),
    ],
)
def test_as_many_nodes_are_added_as_the_clause_needs_and_the_effort_allows(
    make: Maker, clause: str, effort: Effort, capabilities: Any, nodes: int
) -> None:
    searching = make(Ranking(), clause=clause, effort=effort, capabilities=capabilities)
    searching.searches.search()
    assert len(set(searching.live.asked_nodes)) == nodes
    assert {*searching.live.asked_nodes} == {*searching.world.server.names("nodes")}
    assert searching.settled == (nodes > 2)


# -- readings


def test_readings_come_from_the_server_of_the_scorers(make: Maker) -> None:
    searching = make(Ranking())
    searching.world.server.patch("nodes", NODES[1], {"status": {"addresses": None}})
    searching.world.await_shown(
        lambda: not searching.world.recorder.nodes[NODES[1]]["status"].get("addresses"), "a node without addresses"
    )
    readings = ((NODES[0], 1.0), (NODES[1], None))
    searching.live.script_readings(readings)
    ((metric, device, window, labels, given),) = searching.put
    assert (metric, device, window, given) == (RECEIVED, "eth0", CLAIMED.window, readings)
    assert "203.0.113.1" in str(labels[NODES[0]])
    assert labels.keys() == {*NODES}
    assert searching.world.attachment.prometheus.upstream == "http://readings"  # type: ignore[attr-defined]


def test_surfaces_are_compared_by_a_real_prometheus(make: Maker) -> None:
    assert make(Ranking(), clause="normalize/surfaces-agree").live.script_readings is None


def test_a_candidate_that_reads_nothing_gets_no_readings(make: Maker) -> None:
    searching = make(Ranking(), network=None)
    searching.live.script_readings(((NODES[0], 1.0),))
    assert searching.put == []
