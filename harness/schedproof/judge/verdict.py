"""Findings and verdicts: the results of judging."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import pydantic

from schedproof.candidate.profiles import profile_of
from schedproof.documents.part import Part, optional
from schedproof.judge.evidence import Evidence

JUDGE_RAISED = "judge-raised"
"""The code of a clause that a bug of its judge leaves unproved."""

OUTDATED = "outdated-exclusion"
"""The code of a clause that passes, and that candidate.yaml excludes."""

Level = Literal["required", "recommended"]
Outcome = Literal["passed", "failed", "excluded", "not-claimed", "skipped", "invalid"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the record shows about one guarantee, before claims and exclusions are considered."""

    outcome: Literal["passed", "failed", "invalid", "not-claimed"]
    summary: str
    evidence: Evidence = dataclasses.field(default_factory=Evidence)
    code: str = ""
    """The code of what was wrong, from `judge.codes.CODES`; empty if it passed."""


def passed(summary: str, evidence: Evidence | None = None) -> Finding:
    return Finding("passed", summary, evidence or Evidence())


def failed(code: str, summary: str, evidence: Evidence | None = None) -> Finding:
    return Finding("failed", summary, evidence or Evidence(), code)


def invalid(code: str, summary: str, evidence: Evidence | None = None) -> Finding:
    """The environment could not prove it either way."""
    return Finding("invalid", summary, evidence or Evidence(), code)


def not_claimed(summary: str) -> Finding:
    """The trial has shown that the candidate lacks what the guarantee is about."""
    return Finding("not-claimed", summary, code="not-applicable")


_Judge = TypeVar("_Judge", bound=Callable[..., Finding])
_GIVEN: dict[Callable[..., object], frozenset[str]] = {}
"""By judge, the codes that it declares."""


def gives(*codes: str, also: Sequence[Callable[..., Finding]] = ()) -> Callable[[_Judge], _Judge]:
    """Declare the codes of the findings that a judge can return; `also`: the judges whose findings it returns."""

    def declared(judge: _Judge) -> _Judge:
        _GIVEN[judge] = frozenset(codes).union(*(_GIVEN[other] for other in also))
        return judge

    return declared


def codes_of(judge: Callable[..., object]) -> tuple[str, ...]:
    """The codes that a judge declares, sorted."""
    function = judge.func if isinstance(judge, functools.partial) else judge
    return tuple(sorted(_GIVEN.get(function, ())))


class ClauseOutcome(Part):
    """The outcome of a clause."""

    model_config = pydantic.ConfigDict(validate_by_name=True)

    clause: str = pydantic.Field(validation_alias="id", serialization_alias="id")
    level: Level
    outcome: Outcome
    summary: str
    """For people: its wording may change."""
    stale: bool = False
    """An exclusion whose clause holds after all: the run fails until it is removed."""

    @property
    def profile(self) -> str:
        return profile_of(self.clause)


class Verdict(ClauseOutcome):
    """The judgement of one clause."""

    evidence: Evidence
    code: str = optional("")
    """The code of the finding, which does not change; none if it passed."""
    instance: int = optional(0, minimum=1)
    """The instance of the candidate, if there are several; none if it is about all of them."""
    depends_on: str = optional("")
    """The failed clause without which this clause is not tried."""

    @property
    def fails_run(self) -> bool:
        return self.stale or (self.outcome == "failed" and self.level == "required")

    @property
    def unproved(self) -> bool:
        return self.outcome == "invalid" and (self.level == "required" or self.code == JUDGE_RAISED)

    @property
    def did_not_pass(self) -> bool:
        """Whether it keeps a run from passing."""
        return self.fails_run or self.unproved
