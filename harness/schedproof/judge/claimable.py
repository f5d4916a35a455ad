"""What a candidate can claim: only what some clause judges."""

from __future__ import annotations

from schedproof.candidate.profiles import Claimable
from schedproof.judge.catalogue import CATALOGUE

CLAIMABLE = Claimable(
    tuple(CATALOGUE),
    {
        feature: tuple(clause.id for clause in CATALOGUE.values() if feature in clause.features | clause.also)
        for feature in sorted({name for clause in CATALOGUE.values() for name in clause.features | clause.also})
    },
)
"""By the catalogue: a feature that is written into a clause can be claimed from then on."""
