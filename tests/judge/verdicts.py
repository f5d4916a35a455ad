"""Verdicts of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedproof.candidate.shipped import find_candidate
from schedproof.judge.verdict import Verdict
from schedproof.report.run.terminal import explain
from schedproof.run.result import CandidateResult, RunResult


def verdict_of(
    clause: str, level: str, outcome: str, summary: str, evidence: Any = None, code: str = "", **more: Any
) -> Verdict:
    """A verdict as a judge gives it; `evidence` may be a mapping, as in report.json."""
    return Verdict(
        clause=clause, level=level, outcome=outcome, summary=summary, evidence=evidence or {}, code=code, **more
    )


def explained(verdict: Verdict) -> str:
    """The explanation of a verdict on the stock scheduler, the only one of its run."""
    stock = find_candidate("stock")
    tested = CandidateResult(stock, (verdict.clause,), [verdict])
    return explain(RunResult(1, "embedded", Path("results"), {stock.name: tested}), stock, verdict)
