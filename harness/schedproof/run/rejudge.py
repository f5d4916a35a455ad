"""Judges saved runs again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.foundation.errors import CandidateError, UsageError
from schedproof.history.acts import Selected
from schedproof.history.history import History
from schedproof.history.saved import FILE, load_records
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import judge_all
from schedproof.run.result import CandidateResult, RunResult


def rejudge(folder: Path, *, of_all_shards: bool = False) -> RunResult:
    """Judge the histories below a folder from their records alone.

    Args:
        folder: the report of a run, or one of its candidates/NAME.
        of_all_shards: whether what any shard was to try counts as selected, also of a shard that is missing.

    Raises:
        UsageError: there is no history, or it was changed after the run.
    """
    homes = (
        [folder]
        if instance_folders(folder)
        else sorted(path for path in folder.glob("candidates/*") if instance_folders(path))
    )
    if not homes:
        raise UsageError(
            f"no history in {folder}", remedy="give the report folder of a run, or one of its candidates/NAME"
        )
    result: RunResult | None = None
    for home in homes:
        histories = {number: History(load_records(path)) for number, path in instance_folders(home).items()}
        history = next(iter(histories.values()))
        _check_clauses(history, home)
        result = result or _run_of(history, folder)
        candidate_result = _candidate_of(histories, home, of_all_shards=of_all_shards)
        result.candidates[candidate_result.candidate.name] = candidate_result
        # Records of versions without --allow-skipped read as if it was given.
        result.allow_skipped = all(record.allow_skipped for record in history.of(Selected))
    assert result is not None
    return result


def _run_of(history: History, folder: Path) -> RunResult:
    return RunResult(
        history.run.seed, history.run.cluster.name, folder, versions=history.run.versions,
        started=datetime.datetime.fromtimestamp(history.run.epoch, datetime.UTC),
    )  # fmt: skip


def _candidate_of(histories: Mapping[int, History], home: Path, *, of_all_shards: bool) -> CandidateResult:
    history = next(iter(histories.values()))
    saved = history.run.candidate
    # Only the fields that identify it: its processes are not started again.
    candidate = Candidate(
        name=saved.name, scheduler_name=saved.scheduler_name, attached=AttachedSpec(), path=Path(saved.path),
        claims=history.claims, claimed_window=saved.claimed_window,
    )  # fmt: skip
    verdicts = judge_all(histories)
    selected = [record for each in histories.values() for record in each.of(Selected)]
    together = of_all_shards or len({record.shard for record in selected if record.shard}) > 1
    whole = selected[0].of_all_shards if selected and together else [verdict.clause for verdict in verdicts]
    result = CandidateResult(candidate, tuple(whole), verdicts)
    if not verdicts:
        result.error = CandidateError(
            f"the run of {candidate.name} ended before anything was tried", remedy=f"see the logs in {home}"
        )
    return result


def _check_clauses(history: History, home: Path) -> None:
    for record in history.of(Selected):
        for clause in record.clauses:
            if clause not in CATALOGUE:
                raise UsageError(
                    f"{home / FILE}: the run was to judge {clause!r}, a clause that this version does not have",
                    remedy="judge it with the version of schedproof that wrote it",
                )


def instance_folders(home: Path) -> dict[int, Path]:
    """Return number to folder of a candidate's instances that have a history; a single instance has number 0."""
    further = sorted(int(path.parent.name) for path in home.glob(f"*/{FILE}") if path.parent.name.isdecimal())
    first = {1 if further else 0: home} if (home / FILE).exists() else {}
    return {**first, **{number: home / str(number) for number in further}}
