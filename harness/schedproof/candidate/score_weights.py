"""The weight of a candidate's scores in a kube-scheduler, relative to the other score plugins.

kube-scheduler adds up, for each node, the scores of all plugins at the extension point score (0 to 100) times their
weights, and those of each extender (0 to 10) times 10 and its weight (prioritizeNodes in pkg/scheduler/schedule_one.go,
MaxNodeScore, MaxExtenderPriority). The plugins of a profile: mergePlugins in
pkg/scheduler/apis/config/v1/default_plugins.go, and expandMultiPointPlugins in
pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.candidate.scheduler_config import DEFAULT_PLUGINS, own_plugin, profile_of

_DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "TaintToleration": 3, "NodeAffinity": 2, "PodTopologySpread": 2, "InterPodAffinity": 2, "DynamicResources": 2,
        "NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1, "VolumeBinding": 1,
    }
)  # fmt: skip
"""The default plugins that score, and their weights (Kubernetes 1.36)."""
_HIGHEST, _OF_EXTENDERS = 100, 10
"""MaxNodeScore, and MaxExtenderPriority."""


@dataclasses.dataclass(frozen=True)
class Share:
    """The points that a candidate's scores add to a node's total, and those that the other plugins can add."""

    field: str
    """The field that sets the weight."""
    weight: int
    step: int
    """Points of the smallest difference between two scores of the candidate."""
    most: int
    """Points of the largest difference."""
    others: Mapping[str, int]
    """The maximum points of each other plugin."""

    @property
    def against(self) -> int:
        """The maximum that all other plugins can add together."""
        return sum(self.others.values())

    @property
    def decisive(self) -> int:
        """The smallest difference between two scores that outweighs all other plugins together."""
        return self.against // self.step + 1

    @property
    def enough(self) -> int:
        """The smallest weight with which the smallest difference outweighs all other plugins together."""
        return self.against * self.weight // self.step + 1


def score_weights(profile: Mapping[str, Any]) -> dict[str, int]:
    """The score plugins of a profile, and their weights. Of Kubernetes' own plugins, only those with Score."""
    weights = _merged(dict(_DEFAULTS), profile, "multiPoint")
    scoring = _merged(weights, profile, "score")
    return {name: weight for name, weight in scoring.items() if name in _DEFAULTS or name not in DEFAULT_PLUGINS}


def _merged(weights: Mapping[str, int], profile: Mapping[str, Any], point: str) -> dict[str, int]:
    """The weights after a profile's changes at an extension point. A missing weight counts as 1."""
    plugins = (profile.get("plugins") or {}).get(point) or {}
    disabled = {str(plugin.get("name")) for plugin in plugins.get("disabled") or ()}
    kept = {name: weight for name, weight in weights.items() if not disabled & {name, "*"}}
    return kept | {str(plugin.get("name")): plugin.get("weight") or 1 for plugin in plugins.get("enabled") or ()}


def own_share(candidate: Candidate) -> Share | None:
    """The share of an extender's or plugin's scores; None if the configuration does not determine it.

    A plugin without a configuration of its own gets a weight that outweighs all others.
    """
    profile = profile_of(candidate.scheduler_config or {}, candidate.scheduler_name)
    weights, own, spec = score_weights(profile), own_plugin(profile), candidate.spec
    if isinstance(spec, ExtenderSpec) and spec.config.prioritize_verb:
        field, weight, step = "extender.config.weight", spec.config.weight, _HIGHEST // _OF_EXTENDERS
    elif own in weights:
        field, weight, step = f"the weight of {own} in schedulerConfig", weights.pop(own), 1
    else:
        return None
    others = {name: _HIGHEST * other_weight for name, other_weight in weights.items()}
    return Share(field, weight, weight * step, weight * _HIGHEST, others)
