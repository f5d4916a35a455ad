"""Merges the results of several instances of a run, each in a process and a cluster of its own, into one result."""

from __future__ import annotations

import collections
import json
from collections.abc import Mapping
from typing import Any

from schedproof.foundation.errors import CandidateError, HostError, SchedproofError
from schedproof.history.history import History
from schedproof.history.saved import load_records
from schedproof.judge.judge import merge
from schedproof.judge.verdict import Verdict
from schedproof.run.events import Judged
from schedproof.run.rejudge import instance_folders
from schedproof.run.result import CandidateResult, RunResult


def dump_result(result: RunResult) -> str:
    """Return as JSON what a worker process found besides its verdicts: versions, timings and errors."""
    errors = {name: _error(found.error) for name, found in result.candidates.items() if found.error is not None}
    return json.dumps(
        {
            "versions": result.versions, "timings": result.timings, "candidates": errors,
            "error": _error(result.error) if result.error is not None else None,
        }
    )  # fmt: skip


def _error(error: SchedproofError) -> dict[str, str]:
    return {"message": error.message, "remedy": error.remedy}


class Instances:
    """Collects verdicts and results of instances, and completes the result of the run at its end."""

    def __init__(self, result: RunResult) -> None:
        self._result = result
        self._verdicts: dict[tuple[str, str], dict[int, Verdict]] = collections.defaultdict(dict)

    def add(self, judged: Judged) -> None:
        """Add the verdict of an instance."""
        self._verdicts[judged.candidate, judged.verdict.clause][judged.verdict.instance] = judged.verdict

    def add_result(self, text: str) -> None:
        """Add the output of `dump_result`. Instances start concurrently, so the longest timing counts."""
        dumped: Mapping[str, Any] = json.loads(text)
        self._result.versions |= dumped["versions"]
        for name, seconds in dumped["timings"].items():
            self._result.timings[name] = max(seconds, self._result.timings.get(name, 0.0))
        for name, error in dumped["candidates"].items():
            self._result.candidates[name].error = CandidateError(error["message"], remedy=error["remedy"])
        if (error := dumped["error"]) is not None:
            self._result.fail(HostError(error["message"], remedy=error["remedy"]))

    def finish(self) -> None:
        """Give each candidate its verdicts, in the order in which they were selected."""
        for candidate in self._result.candidates.values():
            tried = [self._verdicts[candidate.candidate.name, clause] for clause in candidate.selected]
            candidate.verdicts = [self._together(candidate, list(found.values())) for found in tried if found]

    def _together(self, candidate: CandidateResult, found: list[Verdict]) -> Verdict:
        def histories() -> list[History]:
            homes = instance_folders(self._result.folder / "candidates" / candidate.candidate.name)
            return [History(load_records(homes[verdict.instance])) for verdict in found]

        return merge(found, histories)
