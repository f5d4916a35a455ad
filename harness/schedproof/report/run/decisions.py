"""Selects and orders the scores of a decision."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from schedproof.judge.evidence import Decision

TOTAL = "total"
_STOCK = frozenset({
    "DynamicResources", "ImageLocality", "InterPodAffinity", "NodeAffinity", "NodeResourcesBalancedAllocation",
    "NodeResourcesFit", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "PodTopologySpread",
    "TaintToleration", "VolumeBinding",
})  # fmt: skip
"""Kubernetes' own score plugins; all other scorers are the candidate's."""


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """The names in the `scores` of a decision's nodes.

    Attributes:
        shown: scorers with a column: the candidate's, Kubernetes' with different scores for nodes, the total.
        alike: Kubernetes' scorers that gave every node the same score, and so decided nothing; with that score.
    """

    shown: tuple[str, ...]
    alike: Mapping[str, float]


def scorers(decision: Decision) -> ScoreColumns:
    """Return the scorers of a decision."""
    scored = [row.scores for row in decision.nodes if row.scores]
    names = sorted({name for scores in scored for name in scores} - {TOTAL})
    alike = {name: scored[0][name] for name in names if name in _STOCK and len({row.get(name) for row in scored}) == 1}
    own = [name for name in names if name not in _STOCK]
    telling = [name for name in names if name in _STOCK and name not in alike]
    total = [TOTAL] if any(TOTAL in scores for scores in scored) else []
    return ScoreColumns((*own, *telling, *total), alike)
