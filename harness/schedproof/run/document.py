"""What report.json holds (`schedproof.report/v1`), as models. Later versions may add fields. Durations: seconds."""

from __future__ import annotations

from typing import Any, Final, Literal

import pydantic

from schedproof.candidate.kinds import CandidateKind
from schedproof.documents.json_schema import DRAFT, Schema
from schedproof.judge.verdict import Outcome

SCHEMA: Final = "schedproof.report/v1"


class _Part(pydantic.BaseModel):
    """What of it is not given is not written."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class ClauseReport(_Part):
    id: str
    level: Literal["required", "recommended"]
    outcome: Outcome
    summary: str
    """For people: its wording may change."""
    evidence: dict[str, Any]
    """`decisions`, `timeline` (not of what passed), `logs`, `measured`, `scorings`, `world`, `symptoms`."""
    code: str = ""
    """What was found, in a word that does not change; none if it passed."""
    stale: bool = False
    """An exclusion whose clause holds after all."""
    instance: int = pydantic.Field(0, ge=1)
    """Of the candidate, where there are several."""
    depends_on: str = ""
    """The clause that failed, without which this one is not tried."""


class CauseReport(_Part):
    kind: str
    """What was seen, in a word that does not change: `process-ended`, `rule-ignored`, ..., or a finding's code."""
    about: str = ""
    """Which of that kind, such as the rule that is ignored."""
    title: str
    """For people, as `text` and `remedy`: their wording may change."""
    text: str
    remedy: str
    clauses: list[str]
    """Those that follow from it. A clause can follow from several causes."""
    shown_by: str
    """The clause that shows it best."""
    reproduce: str
    """The command that tries that clause again."""


class ProfileReport(_Part):
    result: Literal["success", "partial", "failure"]
    """`success`: every required clause passed; `failure`: one failed."""
    statistics: dict[Outcome, int]
    """How many clauses have an outcome."""


class Window(_Part):
    claimed: float
    tried: float


class CandidateReport(_Part):
    name: str
    kind: CandidateKind
    window: Window | None = None
    """Where another window was tried than is claimed."""
    profiles: dict[str, ProfileReport]
    causes: list[CauseReport] = pydantic.Field(default_factory=list)
    """Of what did not pass, in the order in which to fix them."""
    clauses: list[ClauseReport]
    error: str = ""
    """Why it could not be brought up."""


class RunReport(_Part):
    seed: int
    """What the cases drew from."""
    cluster: str
    jobs: int
    """How many clusters there were side by side."""
    versions: dict[str, str]
    started: str = pydantic.Field("", json_schema_extra={"format": "date-time"})
    seconds: float | None = None
    timings: dict[str, float]
    """By `CANDIDATE CLAUSE`."""
    exit_code: int = pydantic.Field(ge=0, le=3)
    """As that of `schedproof run`."""
    error: str = ""


class Report(_Part):
    version: Literal["schedproof.report/v1"] = pydantic.Field(SCHEMA, alias="schema")
    run: RunReport
    candidates: list[CandidateReport]

    def as_dict(self) -> dict[str, Any]:
        """The document as it is written: the fields that were given."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def report_schema() -> Schema:
    """The JSON Schema of report.json."""
    return {"$schema": DRAFT, **Report.model_json_schema(), "title": f"report.json ({SCHEMA})"}
