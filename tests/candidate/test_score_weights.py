"""The weights of score plugins in a KubeSchedulerConfiguration, as kube-scheduler merges it with its defaults."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.scheduler_config import DEFAULT_PLUGINS, PREFERENCE_WEIGHT
from schedproof.candidate.score_weights import score_weights

ALL = score_weights({})


def test_the_preference_weight_exceeds_the_largest_sum_of_default_scores() -> None:
    assert ALL.keys() <= DEFAULT_PLUGINS
    assert sum(ALL.values()) * 100 == 1500 < PREFERENCE_WEIGHT


def named(**weights: int) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


EVERYTHING, TAINTS, AFFINITY = [{"name": "*"}], [{"name": "TaintToleration"}], [{"name": "NodeAffinity"}]


@pytest.mark.parametrize(
    ("plugins", "weights"),
    [
        ({"score": {"disabled": EVERYTHING, "enabled": [{"name": "Quiet"}]}}, {"Quiet": 1}),
        ({"score": {"disabled": EVERYTHING, "enabled": named(ImageLocality=4)}}, {"ImageLocality": 4}),
        ({"multiPoint": {"disabled": EVERYTHING, "enabled": named(Quiet=7)}}, {"Quiet": 7}),
        ({"multiPoint": {"enabled": named(Quiet=7)}}, {**ALL, "Quiet": 7}),
        ({"multiPoint": {"enabled": [{"name": "NodePorts"}]}}, ALL),
        ({"multiPoint": {"enabled": named(Quiet=7)}, "score": {"enabled": named(Quiet=9)}}, {**ALL, "Quiet": 9}),
        (
            {"multiPoint": {"disabled": TAINTS}, "score": {"disabled": AFFINITY}},
            {name: weight for name, weight in ALL.items() if name not in ("TaintToleration", "NodeAffinity")},
        ),
        ({"multiPoint": {"enabled": named(TaintToleration=5)}}, {**ALL, "TaintToleration": 5}),
        ({"score": None, "multiPoint": {"enabled": None}}, ALL),
    ],
)
def test_plugins_that_a_profile_enables_and_disables_are_merged_with_the_defaults(
    plugins: dict[str, Any], weights: dict[str, int]
) -> None:
    assert score_weights({"plugins": plugins}) == weights
