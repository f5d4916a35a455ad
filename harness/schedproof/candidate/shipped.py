"""Finds a candidate by its path or name."""

from __future__ import annotations

from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.profiles import Claimable
from schedproof.documents.suggestions import did_you_mean_one_of
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError


def shipped_names() -> list[str]:
    """The candidates in fixtures/candidates: `stock`, `least-traffic-extender`, `defects/...`."""
    root = content("fixtures", "candidates")
    return sorted(str(file.parent.relative_to(root)) for file in root.rglob("candidate.yaml"))


def find_candidate(text: str, *, known: Claimable | None = None) -> Candidate:
    """The candidate that `text` names: a candidate.yaml, its folder, or a shipped candidate, in this order.

    Raises:
        UsageError: there is no such candidate, or its file is invalid.
    """
    path = Path(text)
    if path.exists():
        return load_candidate(path, known=known)
    if text in shipped_names():
        return load_candidate(content("fixtures", "candidates", text), known=known)
    raise UsageError(
        f"candidate {text!r} not found: it is neither a file or folder nor the name of a shipped candidate",
        remedy=did_you_mean_one_of(text, shipped_names(), listed_by="schedproof candidates"),
    )
