"""How long a run is expected to take, and because of which claims."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.processes.machine import Idleness
from schedproof.judge.catalogue import CATALOGUE
from schedproof.normalization.effort import Effort
from schedproof.run import plan
from schedproof.run.durations import Durations
from schedproof.run.plan import INSTANCE_MEMORY, expect, more_jobs

SCORES = ["normalize/range", "normalize/order", "normalize/permutation"]


@pytest.fixture(autouse=True)
def nothing_seen_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))


def claiming(name: str = "least-traffic-plugin", **claims: Any) -> Candidate:
    candidate = find_candidate(name)
    network = dataclasses.replace(candidate.claims.network, **claims)  # type: ignore[type-var]
    return dataclasses.replace(candidate, claims=dataclasses.replace(candidate.claims, network=network))


def told(candidate: Candidate, *clauses: str, effort: Effort = Effort()) -> str:  # noqa: B008 - immutable
    return expect([(candidate, clause) for clause in clauses], Durations(effort)).text(1)


def seconds(candidate: Candidate, clause: str, effort: Effort = Effort()) -> float:  # noqa: B008 - immutable
    return Durations(effort).expected(candidate, CATALOGUE[clause])


def test_a_claimed_refresh_makes_property_tests_of_scores_long_and_is_named() -> None:
    text = told(claiming(refresh=5.0), *SCORES)
    assert "refresh of 5 s" in text
    assert "min" in text
    assert "window" not in text, "that waits for no window"


def test_without_a_refresh_there_is_nothing_to_wait_for() -> None:
    assert "claimed" not in told(claiming(refresh=0.0), *SCORES)
    assert seconds(claiming(refresh=0.0), "normalize/range") < 10


def test_recording_rules_are_waited_for_as_well() -> None:
    candidate = claiming(refresh=0.0, rules=({"record": "a", "expr": "b"},))
    assert "recording rules" in told(candidate, *SCORES, effort=Effort("ci"))


def test_what_is_asked_once_is_waited_for_once() -> None:
    candidate = claiming(refresh=1.0)
    assert seconds(candidate, "normalize/range") > 15
    assert seconds(candidate, "normalize/order") < 10, "judged by the same answers"
    assert seconds(candidate, "normalize/permutation") > seconds(candidate, "normalize/range"), "two questions a case"


def test_more_cases_take_longer() -> None:
    few, many = (seconds(claiming(refresh=1.0), "normalize/range", Effort(cases)) for cases in ("quick", "thorough"))
    assert many > 10 * few


def test_how_long_other_numbers_of_cases_took_says_nothing() -> None:
    candidate, thorough = claiming(), Effort("thorough")
    Durations(thorough).keep([(candidate, "normalize/range", 1000.0), (candidate, "network/flip", 50.0)])
    assert seconds(candidate, "normalize/range", thorough) == 1000.0
    assert seconds(candidate, "normalize/range") < 10
    assert seconds(candidate, "network/flip") == seconds(candidate, "network/flip", thorough) == 50.0


def test_a_long_window_is_named_with_its_refresh() -> None:
    assert "window of 30 s and refresh of 5 s" in told(claiming(window=30.0, refresh=5.0), "network/flip")


def test_counted_placements_are_waited_for_before_each_probe_and_named() -> None:
    counted, silent = claiming(window=30.0, own_placements="counted"), claiming(window=30.0)
    assert seconds(counted, "network/flip") > 10 * 30 + seconds(silent, "network/flip")
    assert seconds(counted, "network/zero-traffic") == seconds(silent, "network/zero-traffic")
    assert "before each probe: own-placements counted" in told(counted, "network/flip")
    assert "own-placements" not in told(silent, "network/flip")


def test_counted_placements_are_waited_for_where_scores_and_wishes_are_asked_about() -> None:
    for clause in ("normalize/range", "core/prefer-spread"):
        counted, silent = (
            claiming("least-traffic-extender", window=30.0, own_placements=own) for own in ("counted", None)
        )
        assert seconds(counted, clause) >= 10 * 30 + seconds(silent, clause)
        assert "own-placements counted" in told(counted, clause)
    plugin = claiming(own_placements="counted")
    assert seconds(plugin, "normalize/range") < 10, "it is told where its pods go, and no question is taken for one"


def test_how_long_a_clause_took_without_counted_placements_says_nothing_of_one_with_them() -> None:
    counted, silent = claiming(own_placements="counted"), claiming()
    Durations().keep([(silent, "network/flip", 1000.0)])
    assert seconds(silent, "network/flip") == 1000.0
    assert seconds(counted, "network/flip") < 1000.0


@pytest.mark.parametrize(
    ("jobs", "seconds", "idle", "memory", "told"),
    [
        (2, 600.0, 0.9, 8, "--jobs 4"),
        (2, 600.0, 0.9, 1, "--jobs 3"),
        (2, 600.0, 0.9, 0, ""),
        (2, 600.0, 0.3, 8, ""),
        (2, 60.0, 0.9, 8, ""),
        (2, 600.0, None, 8, ""),
    ],
)
def test_a_long_run_on_an_idle_machine_says_that_more_clusters_would_help(
    monkeypatch: pytest.MonkeyPatch, jobs: int, seconds: float, idle: float | None, memory: int, told: str
) -> None:
    monkeypatch.setattr(plan, "available_memory", lambda: memory * INSTANCE_MEMORY)
    text = more_jobs(jobs, seconds, idle)
    assert told in text
    assert bool(text) is bool(told)


def test_how_idle_the_machine_was() -> None:
    idleness = Idleness()
    assert idleness.share() is None or 0 <= idleness.share() <= 1  # type: ignore[operator]


def test_more_random_worlds_take_longer() -> None:
    few, usual, many = (seconds(claiming(), "core/random-worlds", Effort(worlds=worlds)) for worlds in (1, None, 1000))
    assert few < usual < many
    kept = Durations(Effort(worlds=1000))
    kept.keep([(claiming(), "core/random-worlds", 900.0)])
    assert seconds(claiming(), "core/random-worlds", Effort(worlds=1000)) == 900
    assert seconds(claiming(), "core/random-worlds") == usual
