"""What a judge says."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

__all__ = ["Finding", "Outcome", "Verdict", "failed", "invalid", "not_claimed", "passed"]

Outcome = Literal["passed", "failed", "excluded", "not-claimed", "skipped", "invalid"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the record shows of one guarantee, before claims and exclusions are considered.

    `evidence` is JSON: `decisions` (each with the table of all nodes), `timeline`, `logs`, `measured`.
    """

    outcome: Literal["passed", "failed", "invalid", "not-claimed"]
    summary: str
    evidence: dict[str, Any] = dataclasses.field(default_factory=dict)


def passed(summary: str, **evidence: Any) -> Finding:
    return Finding("passed", summary, evidence)


def failed(summary: str, **evidence: Any) -> Finding:
    return Finding("failed", summary, evidence)


def invalid(summary: str, **evidence: Any) -> Finding:
    """The environment could not prove it either way."""
    return Finding("invalid", summary, evidence)


def not_claimed(summary: str) -> Finding:
    """What the guarantee is about is not there, as the trial has shown."""
    return Finding("not-claimed", summary)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The judgement of one clause.

    `stale` marks an exclusion whose clause holds after all: the run fails until it is removed.
    """

    clause: str
    level: Literal["required", "recommended"]
    outcome: Outcome
    summary: str
    evidence: dict[str, Any] = dataclasses.field(default_factory=dict)
    stale: bool = False

    @property
    def fails_run(self) -> bool:
        return self.stale or (self.outcome == "failed" and self.level == "required")

    @property
    def unproved(self) -> bool:
        return self.outcome == "invalid" and self.level == "required"

    def as_dict(self) -> dict[str, Any]:
        result = {
            "id": self.clause, "level": self.level, "outcome": self.outcome, "summary": self.summary,
            "evidence": self.evidence,
        }  # fmt: skip
        return {**result, "stale": True} if self.stale else result
