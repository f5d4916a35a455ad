"""Words for outcomes, and their styles on a terminal."""

from __future__ import annotations

from schedproof.judge.verdict import ClauseOutcome

_SYMBOLS = {
    "passed": ("pass", "green"),
    "failed": ("FAIL", "bold red"),
    "excluded": ("excluded", "yellow"),
    "not-claimed": ("-", "dim"),
    "skipped": ("skip", "yellow"),
    "invalid": ("INVALID", "bold magenta"),
}


def symbol(verdict: ClauseOutcome) -> tuple[str, str]:
    """Return the word and the style of a verdict."""
    return ("STALE", "bold red") if verdict.stale else _SYMBOLS[verdict.outcome]
