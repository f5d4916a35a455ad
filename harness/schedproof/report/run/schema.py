"""The JSON Schema of report.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from schedproof.candidates.kinds import KINDS
from schedproof.documents.schema import DRAFT
from schedproof.judge.verdict import Outcome
from schedproof.report.run.result import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from schedproof.documents.schema import Schema

__all__ = ["report_schema"]

_TEXT: Schema = {"type": "string"}
_SECONDS: Schema = {"type": "number", "description": "seconds"}


def report_schema() -> Schema:
    """What every report has. Later versions may add fields."""
    run = {
        "seed": {"type": "integer", "description": "what the cases drew from"},
        "cluster": _TEXT,
        "jobs": {"type": "integer", "description": "how many clusters there were side by side"},
        "versions": {"type": "object", "additionalProperties": _TEXT},
        "started": {"type": "string", "format": "date-time"},
        "seconds": _SECONDS,
        "timings": {"type": "object", "additionalProperties": _SECONDS},
        "exit_code": {"enum": [0, 1, 2, 3], "description": "as that of `schedproof run`"},
        "error": _TEXT,
    }
    return {
        "$schema": DRAFT, "title": f"report.json ({SCHEMA})",
        **_object({
            "schema": {"const": SCHEMA},
            "run": _object(run, optional={"started", "seconds", "error"}),
            "candidates": {"type": "array", "items": _candidate()},
        }),
    }  # fmt: skip


def _candidate() -> Schema:
    profile = _object(
        {
            "result": {
                "enum": ["success", "partial", "failure"],
                "description": "success: every required clause passed; failure: one failed",
            },
            "statistics": {
                "type": "object",
                "properties": {outcome: {"type": "integer"} for outcome in get_args(Outcome)},
                "additionalProperties": False,
            },
        }
    )
    window = _object({"claimed": _SECONDS, "tried": _SECONDS})
    fields = {
        "name": _TEXT,
        "kind": {"enum": list(KINDS)},
        "window": {**window, "description": "where another window was tried than is claimed"},
        "profiles": {"type": "object", "additionalProperties": profile},
        "clauses": {"type": "array", "items": _clause()},
        "error": {"type": "string", "description": "why it could not be brought up"},
    }
    return _object(fields, optional={"window", "error"})


def _clause() -> Schema:
    fields = {
        "id": _TEXT,
        "level": {"enum": ["required", "recommended"]},
        "outcome": {"enum": list(get_args(Outcome))},
        "summary": {"type": "string", "description": "for people: its wording may change"},
        "code": {"type": "string", "description": "what was found, in a word that does not change; none if it passed"},
        "evidence": {"type": "object", "description": "`decisions`, `timeline`, `logs`, `measured`, `scorings`"},
        "stale": {"const": True, "description": "an exclusion whose clause holds after all"},
        "instance": {"type": "integer", "minimum": 1, "description": "of the candidate, where there are several"},
        "depends_on": {"type": "string", "description": "the clause that failed, without which this one is not tried"},
    }
    return _object(fields, optional={"code", "stale", "instance", "depends_on"})


def _object(properties: Mapping[str, Any], *, optional: Collection[str] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}
