"""What the candidate's queries read, and what is recorded of it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.daemons.readings_server import Selector
from schedproof.foundation.errors import HostError
from schedproof.history.observations import MetricsServed, PrometheusQuery, QueryReads
from schedproof.stimulus.traffic.queries import Queries

CLAIMS = NetworkClaims("m", "receive", window=6, resolution=0.1, refresh=0.5)
PARSED = {
    "m": [Selector("m", 0)],
    "m[2s]": [Selector("m", 2)],
    "m[6s]": [Selector("m", 6)],
    "m[9s]": [Selector("m", 9)],
    "m @ 3": [Selector("m", None)],
    "m offset 1s + n": [Selector("m", 1), Selector("n", 0)],
    "n": [Selector("n", 0)],
    "{__name__=~'a.*'}": [Selector("", 0)],
    "recorded": [Selector("recorded", 0)],
    "recorded[1s]": [Selector("recorded", 1)],
    "loop": [Selector("loop", 0)],
}
RULES = ({"record": "recorded", "expr": "m[2s]"}, {"record": "loop", "expr": "loop"})


class Play:
    """A record that is played, and the expressions that were parsed."""

    def __init__(self) -> None:
        self.parsed: list[str] = []
        self.now = 100.0
        self.records: list[Any] = []
        recorder: Any = SimpleNamespace(
            changed=threading.Condition(), records=self.records, add=self.records.append, now=lambda: self.now
        )
        server: Any = SimpleNamespace(selectors=self._parse)
        self.queries = Queries(recorder, lambda: server, RULES)

    def _parse(self, request: str) -> list[Selector]:
        self.parsed.append(request)
        if request == "gone":
            raise HostError("cannot be built", remedy="")
        return PARSED.get(request, [])

    def ask(self, request: str, at: float = 100.0, *, path: str = "/api/v1/query", span: float = 0.0) -> None:
        self.records.append(
            PrometheusQuery(at=at, seconds=0.0, request=request, path=path, span=span, status=200, answer="")
        )

    def of(self, kind: type) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]


def test_each_query_is_parsed_and_recorded_once() -> None:
    play = Play()
    for _ in range(2):
        play.ask("m offset 1s + n")
        play.ask("m @ 3")
        play.queries.note([lambda: {"m", "n"}], set)
    assert [(r.request, r.metrics, r.look_back) for r in play.of(QueryReads)] == [
        ("m offset 1s + n", ["m", "n"], 1), ("m @ 3", ["m"], None),
    ]  # fmt: skip
    assert play.parsed == ["m offset 1s + n", "m @ 3"]


def test_servers_are_asked_until_they_are_known_to_have_what_is_queried() -> None:
    play, asked = Play(), []

    def server() -> set[str]:
        asked.append(1)
        return {"m", "up"} if len(asked) < 3 else {"n", "m"}

    for request in ("m", "m", "n", "n", "m"):
        play.ask(request)
        play.queries.note([server], set)
    # Once for m; twice for n, which was not there at first.
    assert len(asked) == 3
    assert [record.names for record in play.of(MetricsServed)] == [["m", "up"], ["n"]]


def test_of_the_clusters_own_server_only_what_is_queried_is_recorded() -> None:
    play = Play()
    play.ask("m")
    play.queries.note([lambda: {"up"}], lambda: {"m", "thousands", "of", "others"})
    assert [record.names for record in play.of(MetricsServed)] == [["m", "up"]]


@pytest.mark.parametrize(
    ("requests", "seconds"),
    [
        ([], None),
        (["m"], 0),
        (["m[2s]"], 2),
        (["m[6s]"], 6),
        (["m[9s]"], 6),  # no more than the claimed window
        (["m @ 3"], 6),
        (["m[6s]", "m[2s]"], 2),
        (["m[6s]", "n"], 6),  # the other one does not read the claimed metric
        (["n"], 0),
        (["recorded", "n"], 2),
        (["recorded"], 2),
        (["recorded[1s]"], 3),
        (["loop"], 0),
        (["/federate"], 0),
        (["sum("], 0),
        (["gone"], 0),
    ],
)
def test_queries_look_back_by_their_ranges_and_those_of_rules(requests: list[str], seconds: float | None) -> None:
    play = Play()
    for request in requests:
        play.ask(request)
    assert play.queries.look_back(CLAIMS) == seconds


def test_a_range_of_time_counts_as_looking_back() -> None:
    play = Play()
    play.ask("m[2s]", path="/api/v1/query_range", span=3.0)
    assert play.queries.look_back(CLAIMS) == 5


def test_what_is_no_longer_asked_does_not_count() -> None:
    play = Play()
    play.ask("m", 50.0)
    assert play.queries.look_back(CLAIMS) == 0
    play.ask("m[6s]", 99.0)
    assert play.queries.look_back(CLAIMS) == 6


def test_a_parser_that_is_not_there_is_not_asked_again() -> None:
    play = Play()
    for request in ("gone", "m[2s]", "gone"):
        play.ask(request)
    play.queries.note([], set)
    assert play.parsed == ["gone"]
    assert play.of(QueryReads) == []


def test_texts_that_differ_each_time_are_not_all_parsed() -> None:
    play = Play()
    for number in range(1000):
        play.ask(f"m @ {number}")
    play.queries.note([], set)
    assert len(play.parsed) < 1000
