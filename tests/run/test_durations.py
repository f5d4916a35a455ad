"""The expected duration of a run, and the claims that make it long."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.recording_rules import RecordingRule
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


def explained(candidate: Candidate, *clauses: str, effort: Effort = Effort()) -> str:  # noqa: B008 - immutable
    return expect([(candidate, clause) for clause in clauses], Durations(effort)).text(1)


def seconds(candidate: Candidate, clause: str, effort: Effort = Effort()) -> float:  # noqa: B008 - immutable
    return Durations(effort).expected(candidate, CATALOGUE[clause])


def test_a_claimed_refresh_makes_normalization_clauses_long_and_is_named() -> None:
    text = explained(claiming(refresh=5.0), *SCORES)
    assert "refresh of 5 s" in text
    assert "min" in text
    assert "window" not in text, "that waits for no window"


def test_without_a_claimed_refresh_no_time_is_added() -> None:
    assert "claimed" not in explained(claiming(refresh=0.0), *SCORES)
    assert seconds(claiming(refresh=0.0), "normalize/range") < 10


def test_recording_rules_add_time_and_are_named() -> None:
    candidate = claiming(refresh=0.0, rules=(RecordingRule("a", "b"),))
    assert "recording rules" in explained(candidate, *SCORES, effort=Effort("ci"))


def test_clauses_that_share_answers_add_the_refresh_once() -> None:
    candidate = claiming(refresh=1.0)
    assert seconds(candidate, "normalize/range") > 15
    assert seconds(candidate, "normalize/order") < 10, "judged by the same answers"
    assert seconds(candidate, "normalize/permutation") > seconds(candidate, "normalize/range"), "two questions a case"


def test_more_cases_take_longer() -> None:
    few, many = (seconds(claiming(refresh=1.0), "normalize/range", Effort(cases)) for cases in ("quick", "thorough"))
    assert many > 10 * few


def test_durations_are_kept_for_each_number_of_cases() -> None:
    candidate, thorough = claiming(), Effort("thorough")
    Durations(thorough).keep([(candidate, "normalize/range", 1000.0), (candidate, "network/flip", 50.0)])
    assert seconds(candidate, "normalize/range", thorough) == 1000.0
    assert seconds(candidate, "normalize/range") < 10
    assert seconds(candidate, "network/flip") == seconds(candidate, "network/flip", thorough) == 50.0


def test_a_long_window_is_named_with_its_refresh() -> None:
    assert "window of 30 s and refresh of 5 s" in explained(claiming(window=30.0, refresh=5.0), "network/flip")


def test_counted_placements_add_a_window_before_each_probe_and_are_named() -> None:
    counted, silent = claiming(window=30.0, own_placements="counted"), claiming(window=30.0)
    assert seconds(counted, "network/flip") > 10 * 30 + seconds(silent, "network/flip")
    assert seconds(counted, "network/zero-traffic") == seconds(silent, "network/zero-traffic")
    assert "before each probe: own-placements counted" in explained(counted, "network/flip")
    assert "own-placements" not in explained(silent, "network/flip")


def test_counted_placements_add_windows_to_clauses_on_scores_and_preferences() -> None:
    for clause in ("normalize/range", "core/prefer-spread"):
        counted, silent = (
            claiming("least-traffic-extender", window=30.0, own_placements=own) for own in ("counted", None)
        )
        assert seconds(counted, clause) >= 10 * 30 + seconds(silent, clause)
        assert "own-placements counted" in explained(counted, clause)
    plugin = claiming(own_placements="counted")
    assert seconds(plugin, "normalize/range") < 10, "it reads where its pods go, and no question counts as a placement"


def test_durations_are_kept_for_each_claim_of_own_placements() -> None:
    counted, silent = claiming(own_placements="counted"), claiming()
    Durations().keep([(silent, "network/flip", 1000.0)])
    assert seconds(silent, "network/flip") == 1000.0
    assert seconds(counted, "network/flip") < 1000.0


@pytest.mark.parametrize(
    ("jobs", "seconds", "idle", "memory", "hint"),
    [
        (2, 600.0, 0.9, 8, "--jobs 4"),
        (2, 600.0, 0.9, 1, "--jobs 3"),
        (2, 600.0, 0.9, 0, ""),
        (2, 600.0, 0.3, 8, ""),
        (2, 60.0, 0.9, 8, ""),
        (2, 600.0, None, 8, ""),
    ],
)
def test_a_long_run_on_an_idle_machine_suggests_more_jobs(
    monkeypatch: pytest.MonkeyPatch, jobs: int, seconds: float, idle: float | None, memory: int, hint: str
) -> None:
    monkeypatch.setattr(plan, "available_memory", lambda: memory * INSTANCE_MEMORY)
    text = more_jobs(jobs, seconds, idle)
    assert hint in text
    assert bool(text) is bool(hint)


def test_the_idle_share_of_the_machine_is_between_0_and_1_if_known() -> None:
    idleness = Idleness()
    assert idleness.share() is None or 0 <= idleness.share() <= 1  # type: ignore[operator]


def test_more_random_worlds_take_longer() -> None:
    few, usual, many = (seconds(claiming(), "core/random-worlds", Effort(worlds=worlds)) for worlds in (1, None, 1000))
    assert few < usual < many
    kept = Durations(Effort(worlds=1000))
    kept.keep([(claiming(), "core/random-worlds", 900.0)])
    assert seconds(claiming(), "core/random-worlds", Effort(worlds=1000)) == 900
    assert seconds(claiming(), "core/random-worlds") == usual


def test_more_clusters_are_not_suggested_for_a_run_that_waited_in_one_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedproof.run.plan.available_memory", lambda: 64 * INSTANCE_MEMORY)
    assert more_jobs(2, 300.0, 0.9, longest=50.0)
    assert not more_jobs(2, 200.0, 0.9, longest=190.0)
