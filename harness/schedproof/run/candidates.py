"""The candidates of a command line or of pytest's options, held to claims that the catalogue can judge."""

from __future__ import annotations

from collections.abc import Iterable

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.shipped import find_candidate
from schedproof.judge.claimable import CLAIMABLE


def find_candidates(texts: Iterable[str]) -> list[Candidate]:
    """Read candidates, in order; each text is a file, its folder, or the name of a shipped candidate.

    Raises:
        UsageError: there is none of that name, its file is wrong, or it claims what no clause judges.
    """
    return [find_candidate(text, known=CLAIMABLE) for text in texts]
