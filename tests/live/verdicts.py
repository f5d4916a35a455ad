"""Verdicts of report.json, as a test that fails tells them: what is wrong first, a line for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def others(verdicts: Iterable[Mapping[str, Any]], *outcomes: str) -> str:
    """Those that have none of these outcomes; "" where all have one."""
    return "\n".join(
        f"{one['id']}: {one['outcome']} {one.get('code', '')}: {one['summary']}"
        for one in verdicts
        if one["outcome"] not in outcomes
    )
