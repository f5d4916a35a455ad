"""The promises of a scorer, by its kind and its claims: they decide which rules apply."""

from __future__ import annotations

import dataclasses
from typing import Literal

from schedproof.candidate.claims import Claims, OnMissing, OnOutage

NORMALIZE_SCORE = "normalize-score"
"""The surface on which NormalizeScore is called alone, with raw scores instead of readings."""


@dataclasses.dataclass(frozen=True)
class Promises:
    """The promises of a scorer: which rules apply to it.

    Attributes:
        highest: the best score of its scale: 100 (framework.MaxNodeScore) or 10 (extender/v1.MaxExtenderPriority).
        resolution: the smallest relative difference of two readings that it promises to see.
        features: of those that rules judge.
        on_missing: what becomes of a node without a sample; None: nothing is promised.
        on_outage: what becomes of pods where no node has a sample; None: nothing is promised.
        about: what its scores are about. `traffic`: less of it is better. `values`: of something whose direction is
            unknown (NormalizeScore alone). `nothing`: of no readings at all.
    """

    highest: int = 100
    resolution: float = 0.1
    features: frozenset[str] = frozenset()
    on_missing: OnMissing | None = None
    about: Literal["traffic", "values", "nothing"] = "traffic"
    on_outage: OnOutage | None = None

    @classmethod
    def of(cls, kind: str, claims: Claims, surface: str = "") -> Promises:
        """What a candidate of this kind promises of its scores on a surface, by its claims."""
        highest, features = 10 if kind == "extender" else 100, frozenset(claims.features)
        if claims.network is None:
            return cls(highest, features=features, about="nothing")
        about: Literal["traffic", "values"] = "values" if surface == NORMALIZE_SCORE else "traffic"
        network = claims.network
        return cls(highest, network.resolution, features, network.on_missing, about, network.on_outage)
