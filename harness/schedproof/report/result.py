"""The result of a run, and what it means for the exit code."""

from __future__ import annotations

import collections
import dataclasses
import shlex
from typing import TYPE_CHECKING, Any, Literal

from schedproof.candidates.claims import CLAUSE_PROFILES
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_PASSED, EXIT_UNPROVED

if TYPE_CHECKING:
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.foundation.errors import SchedproofError
    from schedproof.judge.verdict import Verdict

__all__ = ["SCHEMA", "CandidateResult", "RunResult", "profile_results"]

SCHEMA = "schedproof.report/v1"


@dataclasses.dataclass
class CandidateResult:
    """What became of one candidate. `error` is set where it could not be brought up."""

    candidate: Candidate
    selected: tuple[str, ...]
    verdicts: list[Verdict] = dataclasses.field(default_factory=list)
    error: SchedproofError | None = None

    def as_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "name": self.candidate.name,
            "kind": self.candidate.kind,
            "profiles": profile_results(self.verdicts),
            "clauses": [verdict.as_dict() for verdict in self.verdicts],
        }
        return {**result, "error": str(self.error)} if self.error is not None else result


@dataclasses.dataclass
class RunResult:
    """`timings` are seconds."""

    seed: int
    cluster: str
    folder: Path
    candidates: dict[str, CandidateResult] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    timings: dict[str, float] = dataclasses.field(default_factory=dict)
    error: SchedproofError | None = None
    options: tuple[str, ...] = ()
    """See `session.Settings`."""

    def reproduce(self, candidate: Candidate, clause: str) -> str:
        """The command that tries a clause again."""
        return shlex.join(
            ["schedproof", "run", str(candidate.path), "--clause", clause, "--seed", str(self.seed), *self.options]
        )

    @property
    def exit_code(self) -> int:
        """0: all required clauses that are claimed passed. 1: one failed, or an exclusion is stale. 2: a candidate
        could not be brought up, or the environment failed. 3: nothing failed, but something stayed unproved.
        """
        results = self.candidates.values()
        verdicts = [verdict for result in results for verdict in result.verdicts]
        if self.error is not None or any(result.error is not None for result in results):
            return EXIT_ERROR
        if any(verdict.fails_run for verdict in verdicts):
            return EXIT_FAILED
        tried = {(r.candidate.name, v.clause) for r in results for v in r.verdicts}
        missing = any((r.candidate.name, clause) not in tried for r in results for clause in r.selected)
        return EXIT_UNPROVED if missing or any(verdict.unproved for verdict in verdicts) else EXIT_PASSED

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": {
                "seed": self.seed, "cluster": self.cluster, "versions": self.versions,
                "timings": {name: round(seconds, 3) for name, seconds in self.timings.items()},
                "exit_code": self.exit_code, **({"error": str(self.error)} if self.error else {}),
            },
            "candidates": [result.as_dict() for result in self.candidates.values()],
        }  # fmt: skip


def profile_results(verdicts: list[Verdict]) -> dict[str, dict[str, Any]]:
    """By profile: `success` (every required clause passed), `failure` (one failed), else `partial`; and counts."""
    grouped: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault(CLAUSE_PROFILES[verdict.clause.partition("/")[0]], []).append(verdict)
    results = {}
    for profile, members in grouped.items():
        claimed = [verdict for verdict in members if verdict.outcome != "not-claimed"]
        if not claimed:
            continue
        result: Literal["success", "partial", "failure"] = "partial"
        if any(verdict.fails_run for verdict in claimed):
            result = "failure"
        elif all(verdict.outcome == "passed" for verdict in claimed if verdict.level == "required"):
            result = "success"
        results[profile] = {
            "result": result,
            "statistics": dict(collections.Counter(verdict.outcome for verdict in members)),
        }
    return results
