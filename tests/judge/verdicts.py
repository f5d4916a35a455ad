"""Verdicts of tests."""

from __future__ import annotations

from typing import Any

from schedproof.judge.verdict import Verdict


def verdict_of(
    clause: str, level: str, outcome: str, summary: str, evidence: Any = None, code: str = "", **more: Any
) -> Verdict:
    """A verdict as a judge gives it; `evidence` may be a mapping, as in report.json."""
    return Verdict(
        clause=clause, level=level, outcome=outcome, summary=summary, evidence=evidence or {}, code=code, **more
    )
