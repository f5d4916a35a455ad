"""Finds a candidate by what the user typed."""

from __future__ import annotations

from pathlib import Path

from schedproof.candidate.claims import Claimable
from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.documents.suggestions import did_you_mean_one_of
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError


def shipped_names() -> list[str]:
    """The candidates in fixtures/candidates: `stock`, `least-traffic-extender`, `defects/...`."""
    root = content("fixtures", "candidates")
    return sorted(str(file.parent.relative_to(root)) for file in root.rglob("candidate.yaml"))


def find_candidate(text: str, *, known: Claimable | None = None) -> Candidate:
    """A candidate.yaml, the folder that holds it, or the name of a shipped candidate, in this order.

    Raises:
        UsageError: none of these; or the file is not right.
    """
    path = Path(text)
    if path.exists():
        return load_candidate(path, known=known)
    if text in shipped_names():
        return load_candidate(content("fixtures", "candidates", text), known=known)
    raise UsageError(
        f"no candidate {text!r}: there is no such file or folder, and no candidate of that name is shipped",
        remedy=did_you_mean_one_of(text, shipped_names(), listed_by="schedproof candidates"),
    )
