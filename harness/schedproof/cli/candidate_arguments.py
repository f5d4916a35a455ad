"""Candidates that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedproof.candidate.descriptor.descriptor import Candidate


def found_candidates(texts: Sequence[str]) -> list[Candidate]:
    """In order; each a file, its folder, or the name of a shipped candidate.

    Raises:
        UsageError: there is none of that name, or it is wrong.
    """
    from schedproof.candidate.shipped import find_candidate
    from schedproof.judge.claimable import CLAIMABLE

    return [find_candidate(text, known=CLAIMABLE) for text in texts]
