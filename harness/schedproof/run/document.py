"""report.json (`schedproof.report/v1`), as models. Later versions may add fields. Durations: seconds."""

from __future__ import annotations

from typing import Any, Final, Literal

import pydantic

from schedproof.candidate.reading import CandidateKind
from schedproof.documents.part import Part, optional
from schedproof.judge.verdict import Outcome, Verdict
from schedproof.run.leaks import SoakReport

SCHEMA: Final = "schedproof.report/v1"


class CauseReport(Part):
    kind: str
    """The kind of fault, which does not change: `process-ended`, `rule-ignored`, ..., or a finding's code."""
    about: str = ""
    """What distinguishes it among causes of its kind, such as the ignored rule."""
    title: str
    """For people, as `text` and `remedy`: their wording may change."""
    text: str
    remedy: str
    clauses: list[str]
    """The clauses that follow from it. A clause can follow from several causes."""
    shown_by: str
    """The most informative clause."""
    reproduce: str
    """The command that tries that clause again."""


class ProfileReport(Part):
    result: Literal["success", "partial", "failure"]
    """`success`: every required clause passed; `failure`: one failed."""
    statistics: dict[Outcome, int]
    """The number of clauses by outcome."""


class Window(Part):
    claimed: float
    tried: float


class CandidateReport(Part):
    name: str
    kind: CandidateKind
    window: Window | None = optional(None)
    """The window that was tried, if it is not the claimed window."""
    profiles: dict[str, ProfileReport]
    causes: list[CauseReport] = optional([])
    """The causes of what did not pass, in the order in which to fix them."""
    clauses: list[Verdict]
    error: str = optional("")
    """Why it could not be started."""
    soak: SoakReport | None = optional(None)
    """What its processes held over time, after `schedproof soak`; soak.json has the samples."""


class RunReport(Part):
    seed: int
    """The seed of all random choices."""
    cluster: str
    jobs: int
    """The number of clusters side by side."""
    versions: dict[str, str]
    started: str = optional("", format="date-time")
    seconds: float | None = optional(None)
    timings: dict[str, float]
    """By `CANDIDATE CLAUSE`."""
    exit_code: int = pydantic.Field(ge=0, le=3)
    """The exit code, as of `schedproof run`."""
    error: str = optional("")


class Report(Part):
    version: Literal["schedproof.report/v1"] = pydantic.Field(SCHEMA, alias="schema")
    run: RunReport
    candidates: list[CandidateReport]

    def as_dict(self) -> dict[str, Any]:
        """The document as it is written: the fields that have a value, and of the evidence what is no picture."""
        pictures = {"candidates": {"__all__": {"clauses": {"__all__": {"evidence": {"lanes"}}}}}}
        return self.model_dump(by_alias=True, exclude_unset=True, exclude=pictures)
