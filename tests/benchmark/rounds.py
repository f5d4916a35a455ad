"""Made-up rounds for tests of arithmetic, without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedproof.benchmark.driver import PodTimes
from schedproof.benchmark.results import Mode
from schedproof.benchmark.round import Round


def row(number: int, *, intended: float = 0.0, late: float = 0.0, seen: float | None = None) -> PodTimes:
    sent = intended + late
    return PodTimes(f"pod-{number}", f"uid-{number}", intended, sent, sent + 0.001, seen, "node-1" if seen else "")


def drain(candidate: str, block: int, *, seconds: float, pods: int = 100, **more: Any) -> Round:
    """A round in which pods are bound at equal intervals, `seconds` in total from its start at 100."""
    rows = [row(n, seen=100 + (n + 1) * seconds / pods) for n in range(pods)]
    return a_round(candidate, "drain", rows, block=block, **more)


def singles(candidate: str, block: int, latencies: Sequence[float], **more: Any) -> Round:
    """A round in which one pod arrives each second."""
    rows = [row(n, intended=100 + n, seen=100 + n + latency) for n, latency in enumerate(latencies)]
    return a_round(candidate, more.pop("mode", "one-at-a-time"), rows, block=block, **more)


def a_round(candidate: str, mode: Mode, rows: Sequence[PodTimes], **more: Any) -> Round:
    fields: dict[str, Any] = {
        "workload": "basic", "rate": None, "block": 0, "order": 0, "began": 100.0, "counted_from": 100.0,
        "pods": len(rows),
    }  # fmt: skip
    return Round(candidate=candidate, mode=mode, rows=rows, **{**fields, **more})
