"""Runs that go on where they were interrupted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import UsageError
from schedproof.run.instances import add_part, interrupted, new_part

from ..judge.histories import HistoryBuilder

UNCLAIMED = "core/gang"
SELECTED = ["core/binds", "core/fit-cpu", "core/fit-memory", UNCLAIMED, "core/alive"]


@pytest.fixture
def stock() -> Candidate:
    return find_candidate("stock")


def save(folder: Path, candidate: Candidate, *tried: str, selected: list[str], during: str = "", seed: int = 7) -> None:
    """Save the evidence of a run that has tried these clauses; `during`: it was interrupted in the middle of this."""
    h = HistoryBuilder(tried[0])
    h.records[0] |= {"candidate": {**candidate.as_dict(), "path": "elsewhere"}, "seed": seed}
    for number, clause in enumerate(tried):
        if number:
            h.begin(clause)
        h.pod(f"probe-{number}")
        h.bind(f"probe-{number}", "node-1")
        h.expect(f"probe-{number}", "bound")
        if clause != during:
            h.end()
    next(record for record in h.records if record["kind"] == "selected")["clauses"] = selected
    if not during:
        h.over()
    h.save(folder / "candidates" / candidate.name)


def test_what_is_untried_is_tried_and_completes_the_report(tmp_path: Path, stock: Candidate) -> None:
    save(tmp_path, stock, "core/binds", "core/fit-cpu", selected=SELECTED, during="core/fit-cpu")
    left = interrupted(tmp_path, [stock])
    assert (left.seed, left.cluster) == (7, "embedded")
    assert left.untried == {("stock", clause) for clause in SELECTED[1:] if clause != UNCLAIMED}

    save(new_part(tmp_path), stock, "core/fit-cpu", "core/fit-memory", selected=SELECTED[1:])
    result = add_part(tmp_path)
    verdicts = {verdict.clause: verdict.outcome for verdict in result.candidates["stock"].verdicts}
    assert verdicts == {**dict.fromkeys(SELECTED, "passed"), UNCLAIMED: "not-claimed"}
    assert result.exit_code == 0
    assert not new_part(tmp_path).exists()
    with pytest.raises(UsageError, match="is complete"):
        interrupted(tmp_path, [stock])


def test_evidence_of_a_resumed_run_that_was_killed_counts(tmp_path: Path, stock: Candidate) -> None:
    save(tmp_path, stock, "core/binds", "core/fit-cpu", selected=SELECTED, during="core/fit-cpu")
    save(new_part(tmp_path), stock, "core/fit-cpu", "core/fit-memory", selected=SELECTED[1:], during="core/fit-memory")
    left = interrupted(tmp_path, [stock])
    assert left.untried == {("stock", "core/fit-memory"), ("stock", "core/alive")}


def test_a_candidate_that_had_no_turn_is_tried_on_what_was_asked_for(tmp_path: Path, stock: Candidate) -> None:
    save(tmp_path, stock, "core/binds", selected=SELECTED, during="core/binds")
    second = find_candidate("least-traffic-extender")
    assert {("least-traffic-extender", clause) for clause in SELECTED} < interrupted(tmp_path, [stock, second]).untried


def test_another_candidate_or_a_changed_one_is_refused(tmp_path: Path, stock: Candidate) -> None:
    save(tmp_path, stock, "core/binds", selected=SELECTED, during="core/binds")
    with pytest.raises(UsageError, match="is not given"):
        interrupted(tmp_path, [find_candidate("least-traffic-extender")])
    with pytest.raises(UsageError, match="has changed since"):
        interrupted(tmp_path, [dataclasses.replace(stock, scheduler_name="other")])
    with pytest.raises(UsageError, match="no history"):
        interrupted(tmp_path / "none", [stock])


def test_evidence_of_another_run_stays_where_it_is(tmp_path: Path, stock: Candidate) -> None:
    save(tmp_path, stock, "core/binds", selected=SELECTED, during="core/binds")
    save(new_part(tmp_path), stock, "core/binds", selected=SELECTED, seed=8)
    with pytest.raises(UsageError, match="the seeds"):
        add_part(tmp_path)
    assert new_part(tmp_path).exists()
