"""Verdicts of report.json as text for a failed test: a line for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def others(verdicts: Iterable[Mapping[str, Any]], *outcomes: str) -> str:
    """The verdicts without any of these outcomes, a line for each; "" if there are none."""
    return "\n".join(
        f"{verdict['id']}: {verdict['outcome']} {verdict.get('code', '')}: {verdict['summary']}"
        for verdict in verdicts
        if verdict["outcome"] not in outcomes
    )
