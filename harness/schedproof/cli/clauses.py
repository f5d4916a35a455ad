"""`schedproof clauses`: the clauses of the catalogue, and those that a candidate claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.profiles import profile_of
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.judge import why_unclaimed


def clause_lines(candidate: Candidate | None = None) -> Iterator[str]:
    """A line for each clause; with a candidate, the claimed clauses, then the others with the reason."""
    if candidate is None:
        yield from (_line(clause) for clause in CATALOGUE.values())
        return
    reasons = {clause.id: why_unclaimed(clause, candidate.claims) for clause in CATALOGUE.values()}
    claimed = [CATALOGUE[clause] for clause, why in reasons.items() if not why]
    yield f"{candidate.name} claims {len(claimed)} of {len(CATALOGUE)} clauses:"
    yield from (f"  {_line(clause)}" for clause in claimed)
    if len(claimed) < len(CATALOGUE):
        yield f"and not the other {len(CATALOGUE) - len(claimed)}:"
        yield from (f"  {clause}: {why}" for clause, why in reasons.items() if why)


def clauses_document(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The clauses as JSON. `candidates` maps a name to why it does not claim the clause: empty if it does."""
    return [
        {
            "id": clause.id, "guarantee": clause.guarantee, "level": clause.level, "profile": profile_of(clause.id),
            "features": sorted(clause.features), "needs": sorted(clause.needs), "source": clause.source,
            "always": clause.always,
            "candidates": {candidate.name: {"claimed": not (why := why_unclaimed(clause, candidate.claims)), "why": why}
                           for candidate in candidates},
        }
        for clause in CATALOGUE.values()
    ]  # fmt: skip


def _line(clause: Clause) -> str:
    return f"{clause.id}: {clause.guarantee}" + (" (recommended)" if clause.level == "recommended" else "")
