"""Judges saved runs again."""

from __future__ import annotations

from pathlib import Path

from schedproof.candidates.descriptor import Candidate
from schedproof.candidates.kinds import AttachedSpec
from schedproof.foundation.errors import CandidateError, UsageError
from schedproof.history.history import History
from schedproof.history.record import FILE, load_records
from schedproof.judge.judge import judge_all
from schedproof.report.result import CandidateResult, RunResult

__all__ = ["rejudge"]


def rejudge(folder: Path) -> RunResult:
    """Verdicts on the histories below a folder, from their records alone.

    Raises:
        UsageError: there is no history.
    """
    homes = (
        [folder] if (folder / FILE).exists() else sorted(path.parent for path in folder.glob(f"candidates/*/{FILE}"))
    )
    if not homes:
        raise UsageError(
            f"no history in {folder}", remedy="give the report folder of a run, or one of its candidates/NAME"
        )
    result: RunResult | None = None
    for home in homes:
        history = History(load_records(home))
        result = result or RunResult(
            history.run["seed"], history.run["cluster"]["name"], folder, versions=history.run["versions"]
        )
        saved = history.run["candidate"]
        # Only what names it: its processes are not to be started again.
        candidate = Candidate(
            saved["name"], saved["schedulerName"], AttachedSpec(), Path(saved["path"]), claims=history.claims
        )
        verdicts = judge_all(history)
        one = CandidateResult(candidate, tuple(v.clause for v in verdicts), verdicts)
        if not verdicts:
            one.error = CandidateError(
                f"the run of {candidate.name} ended before anything was tried", remedy=f"see the logs in {home}"
            )
        result.candidates[candidate.name] = one
    assert result is not None
    return result
