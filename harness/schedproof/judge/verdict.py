"""Findings and verdicts: the results of judging."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

JUDGE_RAISED = "judge-raised"
"""The code of a clause that a bug of its judge leaves unproved."""

Outcome = Literal["passed", "failed", "excluded", "not-claimed", "skipped", "invalid"]


@dataclasses.dataclass(frozen=True)
class Later:
    """Evidence that is computed when it is shown; evidence of passed findings is not shown."""

    make: Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Finding:
    """What the record shows about one guarantee, before claims and exclusions are considered.

    `evidence` is JSON, after `Later` parts are computed: `decisions` (each with the table of all nodes), `timeline`,
    `logs`, `measured`.
    """

    outcome: Literal["passed", "failed", "invalid", "not-claimed"]
    summary: str
    evidence: dict[str, Any] = dataclasses.field(default_factory=dict)
    code: str = ""
    """The code of what was wrong, from `judge.codes.CODES`; empty if it passed."""

    def shown(self) -> dict[str, Any]:
        """The evidence, with `Later` parts computed if it did not pass."""
        return {
            name: value.make() if isinstance(value, Later) else value
            for name, value in self.evidence.items()
            if self.outcome != "passed" or not isinstance(value, Later)
        }


def passed(summary: str, **evidence: Any) -> Finding:
    return Finding("passed", summary, evidence)


def failed(code: str, summary: str, **evidence: Any) -> Finding:
    return Finding("failed", summary, evidence, code)


def invalid(code: str, summary: str, **evidence: Any) -> Finding:
    """The environment could not prove it either way."""
    return Finding("invalid", summary, evidence, code)


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


@dataclasses.dataclass(frozen=True)
class Symptom:
    """A fault that was seen while a clause was tried."""

    kind: str
    """One of `judge.symptoms.KINDS`."""
    about: str
    """Its subject, in the same words wherever it is seen: a process, a request, a rule."""
    text: str
    """The fault as a sentence, with what was seen in this case."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The judgement of one clause.

    Attributes:
        code: what was wrong, from `judge.codes.CODES`; empty if it passed.
        stale: marks an exclusion whose clause holds after all: the run fails until it is removed.
        instance: of the candidate, from 1; 0 if there is only one, or if the verdict is about all of them.
        depends_on: the failed clause without which this clause could not be tried (`skipped`); otherwise empty.
    """

    clause: str
    level: Literal["required", "recommended"]
    outcome: Outcome
    summary: str
    evidence: dict[str, Any] = dataclasses.field(default_factory=dict)
    code: str = ""
    stale: bool = False
    instance: int = 0
    depends_on: str = ""

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

    @property
    def symptoms(self) -> list[Symptom]:
        """Faults beside the finding that may be its cause; none in reports of earlier versions."""
        return [Symptom(**symptom) for symptom in self.evidence.get("symptoms", ())]

    def as_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "id": self.clause, "level": self.level, "outcome": self.outcome, "summary": self.summary,
            "evidence": self.evidence,
        }  # fmt: skip
        if self.code:
            result["code"] = self.code
        if self.stale:
            result["stale"] = True
        if self.instance:
            result["instance"] = self.instance
        if self.depends_on:
            result["depends_on"] = self.depends_on
        return result

    def as_json(self) -> str:
        """The form in which the process that judged sends it to the process that reports."""
        return json.dumps(self.as_dict(), default=str)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """The inverse of `as_json`."""
        document = json.loads(text)
        return cls(
            document["id"], document["level"], document["outcome"], document["summary"], document["evidence"],
            document.get("code", ""), document.get("stale", False), document.get("instance", 0),
            document.get("depends_on", ""),
        )  # fmt: skip
