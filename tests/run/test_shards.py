"""Shards of a run, and their reports as one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.run.durations import Durations
from schedproof.run.instances import merge_shards
from schedproof.run.options import Shard, shard
from schedproof.run.plan import part
from schedproof.run.rejudge import rejudge

from ..judge.histories import HistoryBuilder

ALL = ["core/fit-cpu", "core/binds", "core/fit-memory", "core/alive"]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "a/b", "1/2/3", "-1/2", "01/2", "1/20000"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="fix:"):
        shard(text)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_clause_is_in_a_shard_and_shards_are_of_like_length(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    durations = Durations()
    candidates = [find_candidate("stock"), find_candidate("least-traffic-extender")]
    trials = [(candidate, clause) for candidate in candidates for clause in CATALOGUE]
    parts = [part(Shard(number, count), trials, durations) for number in range(1, count + 1)]

    assert set().union(*parts) == {(candidate.name, clause) for candidate, clause in trials}
    everywhere = {clause for clause in CATALOGUE if CATALOGUE[clause].always} | {BINDS}
    for one in parts:
        assert everywhere <= {clause for _, clause in one}
        for name, clause in one:
            assert {(name, basic) for basic in CATALOGUE[clause].stands_on} <= {*one}
    seconds = {(c.name, clause): durations.estimated(c, CATALOGUE[clause]) for c, clause in trials}
    lengths = [sum(seconds[trial] for trial in one) for one in parts]
    assert max(lengths) < 1.5 * min(lengths)


def test_shards_do_not_depend_on_what_a_machine_has_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    candidate = find_candidate("stock")
    trials = [(candidate, clause) for clause in CATALOGUE]
    before = part(Shard(1, 3), trials, Durations())
    Durations().keep([(candidate, clause, 100.0) for clause in CATALOGUE])
    assert Durations().expected(candidate, CATALOGUE["core/fit-cpu"]) == 100.0
    assert part(Shard(1, 3), trials, Durations()) == before


# -- merged


def save(folder: Path, text: str, *clauses: str, wrong: str = "", seed: int = 7, instance: int = 1) -> Path:
    """Save the report of a shard that has tried these clauses on a candidate."""
    h = HistoryBuilder(clauses[0])
    for number, clause in enumerate(clauses):
        if number:
            h.begin(clause)
        h.pod(f"probe-{number}")
        h.bind(f"probe-{number}", "ghost" if clause == wrong else "node-1")
        h.expect(f"probe-{number}", "bound")
        h.end()
    h.records[0]["seed"] = seed
    selected = next(record for record in h.records if record["kind"] == "selected")
    selected |= {"clauses": [c for c in ALL if c in (*clauses, "core/alive")], "shard": text, "of_all_shards": ALL}
    h.over()
    home = folder / "candidates" / "tested"
    h.save(home if instance == 1 else home / str(instance))
    return folder


def outcomes(result: object) -> dict[str, str]:
    [tested] = result.candidates.values()  # type: ignore[attr-defined]
    return {verdict.clause: verdict.outcome for verdict in tested.verdicts}


def test_merged_shards_have_the_verdicts_of_one_run(tmp_path: Path) -> None:
    one = save(tmp_path / "1", "1/2", "core/binds", "core/fit-cpu", wrong="core/fit-cpu")
    save(one, "1/2", "core/binds", instance=2)  # of --jobs 2
    two = save(tmp_path / "2", "2/2", "core/binds", "core/fit-memory")
    (two / "cluster").mkdir()
    (two / "cluster" / "etcd.log").write_text("ready")
    result, missing = merge_shards([two, one], tmp_path / "merged")

    expected = {
        "core/fit-cpu": "failed", "core/binds": "passed", "core/fit-memory": "passed", "core/alive": "passed",
    }  # fmt: skip
    assert (list(outcomes(result)), outcomes(result), missing) == (ALL, expected, [])
    assert result.exit_code == 1
    assert (tmp_path / "merged" / "cluster" / "shard-2" / "etcd.log").read_text() == "ready"
    again = rejudge(tmp_path / "merged")
    assert outcomes(again) == expected


def test_what_a_missing_shard_was_to_try_is_untried(tmp_path: Path) -> None:
    one = save(tmp_path / "1", "1/2", "core/binds", "core/fit-cpu")
    assert rejudge(one).exit_code == 0, "by itself it has tried all that it was to try"
    result, missing = merge_shards([one], tmp_path / "merged")
    assert (missing, result.exit_code) == ([Shard(2, 2)], 3)
    assert result.candidates["tested"].untried == ["core/fit-memory"]


def test_what_is_not_of_one_run_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    one = save(tmp_path / "1", "1/2", "core/binds", "core/fit-cpu")
    again = save(tmp_path / "again", "1/2", "core/binds", "core/fit-cpu")
    seed = save(tmp_path / "seed", "2/2", "core/binds", "core/fit-memory", seed=8)
    thirds = save(tmp_path / "thirds", "2/3", "core/binds", "core/fit-memory")
    whole = save(tmp_path / "whole", "", "core/binds")
    for folders, message in (
        ([one, again], "both shard 1/2"), ([one, seed], "the seeds"), ([one, thirds], "different numbers"),
        ([one, whole], "not the report of a shard"), ([tmp_path / "none"], "not the report"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            merge_shards(folders, tmp_path / "merged")
        assert not (tmp_path / "merged").exists()


def test_a_folder_with_evidence_is_not_added_to(tmp_path: Path) -> None:
    one = save(tmp_path / "1", "1/1", "core/binds", "core/fit-cpu", "core/fit-memory")
    merge_shards([one], tmp_path / "merged")
    with pytest.raises(UsageError, match="holds the evidence"):
        merge_shards([one], tmp_path / "merged")
