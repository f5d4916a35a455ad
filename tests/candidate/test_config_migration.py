"""Configurations of removed API versions, as v1."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.config_migration import REMOVED_VERSIONS, migrated
from schedproof.candidate.scheduler_config import SERVED_VERSION


def configuration(version: str = "v1beta1", *, fields: dict[str, Any] | None = None, **profile: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration", **(fields or {}),
        "profiles": [{"schedulerName": "mine", **profile}],
    }  # fmt: skip


def profile_of(found: dict[str, Any]) -> dict[str, Any]:
    profile: dict[str, Any] = found["profiles"][0]
    return profile


@pytest.mark.parametrize("version", REMOVED_VERSIONS)
def test_each_removed_version_becomes_v1_and_says_why(version: str) -> None:
    found, changes = migrated(configuration(version.rpartition("/")[2]))
    assert found["apiVersion"] == SERVED_VERSION
    assert version in changes[0]


def test_v1_is_unchanged() -> None:
    served = configuration("v1", plugins={"score": {"enabled": [{"name": "SelectorSpread"}]}})
    assert migrated(served) == (served, [])


def test_the_argument_is_not_changed() -> None:
    given = configuration(plugins={"score": {"enabled": [{"name": "NodeLabel"}]}})
    before = repr(given)
    migrated(given)
    assert repr(given) == before


def test_a_removed_plugin_is_left_out_wherever_it_is_named() -> None:
    plugins = {
        "filter": {"enabled": [{"name": "NodeLabel"}, {"name": "mine"}]},
        "score": {"disabled": [{"name": "SelectorSpread"}]},
    }
    found, changes = migrated(
        configuration("v1beta3", plugins=plugins, pluginConfig=[{"name": "NodeLabel", "args": {}}])
    )
    assert profile_of(found)["plugins"] == {"filter": {"enabled": [{"name": "mine"}]}, "score": {"disabled": []}}
    assert profile_of(found)["pluginConfig"] == []
    assert len(changes) == 4


def test_plugins_of_strategies_become_the_strategy_of_node_resources_fit() -> None:
    enabled = [{"name": "RequestedToCapacityRatio", "weight": 5}]
    plugins = {"score": {"disabled": [{"name": "NodeResourcesLeastAllocated"}], "enabled": enabled}}
    shape, resources = [{"utilization": 0, "score": 10}], [{"name": "cpu", "weight": 1}]
    args = {"shape": shape, "resources": resources}
    found, _ = migrated(
        configuration(plugins=plugins, pluginConfig=[{"name": "RequestedToCapacityRatio", "args": args}])
    )
    profile = profile_of(found)
    assert profile["plugins"]["score"] == {"disabled": [], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]}
    (entry,) = profile["pluginConfig"]
    assert entry["name"] == "NodeResourcesFit"
    assert entry["args"]["scoringStrategy"] == {
        "type": "RequestedToCapacityRatio", "resources": resources, "requestedToCapacityRatio": {"shape": shape},
    }  # fmt: skip


def test_args_get_the_served_version() -> None:
    args = {"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": "InterPodAffinityArgs"}
    found, _ = migrated(configuration("v1beta2", pluginConfig=[{"name": "InterPodAffinity", "args": args}]))
    assert profile_of(found)["pluginConfig"][0]["args"]["apiVersion"] == SERVED_VERSION


def test_addresses_of_servers_are_removed_and_other_defaults_of_weights_are_told() -> None:
    found, changes = migrated(configuration("v1beta2", fields={"healthzBindAddress": "0.0.0.0:10251"}))
    assert "healthzBindAddress" not in found
    assert any("healthzBindAddress" in change for change in changes)
    assert any("InterPodAffinity 2" in change for change in changes)
    assert not any("InterPodAffinity 2" in change for change in migrated(configuration("v1beta3"))[1])
