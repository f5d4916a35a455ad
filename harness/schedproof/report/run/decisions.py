"""The scores of a decision, in the order in which they explain it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

TOTAL = "total"
_STOCK = frozenset({
    "DynamicResources", "ImageLocality", "InterPodAffinity", "NodeAffinity", "NodeResourcesBalancedAllocation",
    "NodeResourcesFit", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "PodTopologySpread",
    "TaintToleration", "VolumeBinding",
})  # fmt: skip
"""Kubernetes' own score plugins: whatever else scores is the candidate's."""


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """The names in the `scores` of a decision's nodes.

    Attributes:
        shown: a column each: the candidate's own, others that told nodes apart, the total.
        alike: Kubernetes' own that scored every node alike, and so decided nothing; with that score.
    """

    shown: tuple[str, ...]
    alike: Mapping[str, Any]


def scorers(decision: Mapping[str, Any]) -> ScoreColumns:
    """Of one decision, as `judge.evidence.decision_table` has it."""
    scored = [row["scores"] for row in decision["nodes"] if row["scores"]]
    names = sorted({name for scores in scored for name in scores} - {TOTAL})
    alike = {name: scored[0][name] for name in names if name in _STOCK and len({one.get(name) for one in scored}) == 1}
    own = [name for name in names if name not in _STOCK]
    telling = [name for name in names if name in _STOCK and name not in alike]
    total = [TOTAL] if any(TOTAL in one for one in scored) else []
    return ScoreColumns((*own, *telling, *total), alike)
