"""What a clause's verdict costs, by how much was recorded before it; and what judging a whole saved run costs.

Run with `pytest benchmarks/test_judging.py --benchmark-group-by=func`. The cost of one verdict is to be independent of
the clauses that were tried before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.judge.histories import HistoryBuilder, as_read

from schedproof.history.history import History
from schedproof.history.index import Index
from schedproof.history.record import Record
from schedproof.judge.judge import judge, judge_all

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

EARLIER, LAST = "core/fit-memory", "core/fit-cpu"
CLAUSES = (10, 100, 1_000)
PODS = 10
"""In each case."""


def recorded(count: int) -> list[Record]:
    """A run of so many cases."""
    h = HistoryBuilder(EARLIER)
    for number in range(count):
        if number:
            h.begin(LAST if number == count - 1 else EARLIER)
        h.seen()
        names = [f"pod-{number}-{one}" for one in range(PODS)]
        for name in names:
            h.pod(name, cpu="10m")
            h.bind(name, "node-1")
            h.expect(name, "bound")
        h.end()
        for name in names:
            h.delete(name)
    h.over()
    return as_read(h.records)


@pytest.mark.parametrize("clauses", CLAUSES)
def test_a_verdict_in_a_run(benchmark: BenchmarkFixture, clauses: int) -> None:
    """As a run asks for it: what was recorded earlier has been read for the clauses before."""
    records = recorded(clauses)
    benchmark.extra_info["records"] = len(records)
    before = next(place for place, record in enumerate(records) if getattr(record, "case", "") == LAST)

    def fresh() -> tuple[tuple[History, str], dict[str, object]]:
        index = Index(records)
        judge(History(index, before), EARLIER)
        return (History(index), LAST), {}

    verdict = benchmark.pedantic(judge, setup=fresh, rounds=5)
    assert verdict.outcome == "passed"


@pytest.mark.parametrize("clauses", CLAUSES)
def test_a_saved_run(benchmark: BenchmarkFixture, clauses: int) -> None:
    records = recorded(clauses)
    benchmark.extra_info["records"] = len(records)
    verdicts = benchmark.pedantic(lambda: judge_all({0: History(records)}), rounds=3)
    assert verdicts
