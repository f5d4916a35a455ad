"""What the harness reads from a KubeSchedulerConfiguration, and the ill-typed variants that it makes to try a start."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schedproof.candidate.scheduler_config import enabled_names, ill_typed

PROFILE: dict[str, Any] = {
    "schedulerName": "tested",
    "plugins": {"multiPoint": {"enabled": [{"name": "LeastTraffic", "weight": 2000}]}},
    "pluginConfig": [
        {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/a"]}},
        {
            "name": "LeastTraffic",
            "args": {
                "apiVersion": "v1", "kind": "LeastTrafficArgs", "timeRange": "30s", "percent": 10, "factor": 0.5,
                "strict": True, "devices": ["eth0"], "weights": {"receive": 1}, "fallback": None,
            },
        },
    ],
}  # fmt: skip
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "profiles": [PROFILE]}
NO_TEXT = {"not": "of this type"}


# -- enabled_names


@pytest.mark.parametrize(
    ("plugins", "names"),
    [
        ({"multiPoint": {"enabled": [{"name": "A"}]}}, {"A"}),
        ({"score": {"enabled": [{"name": "A", "weight": 2}]}, "filter": {"enabled": [{"name": "B"}]}}, {"A", "B"}),
        ({"score": {"enabled": [{"name": "A"}, {"name": "B"}], "disabled": [{"name": "*"}]}}, {"A", "B"}),
        ({"score": {"disabled": [{"name": "A"}]}}, set()),
        ({"score": {"enabled": None}, "filter": None}, set()),
        (None, set()),
    ],
)
def test_plugins_are_enabled_by_name_at_any_extension_point(plugins: Any, names: set[str]) -> None:
    assert enabled_names({"schedulerName": "x", "plugins": plugins}) == names


def test_a_profile_without_plugins_enables_none_by_name() -> None:
    assert enabled_names({}) == frozenset()


# -- ill_typed


@pytest.mark.parametrize(
    ("arg", "wrong"),
    [
        ("timeRange", NO_TEXT), ("percent", NO_TEXT), ("factor", NO_TEXT), ("strict", NO_TEXT), ("devices", NO_TEXT),
        ("fallback", NO_TEXT), ("weights", "not a mapping"),
    ],
)  # fmt: skip
def test_each_ill_typed_configuration_changes_the_type_of_one_arg_and_nothing_else(arg: str, wrong: Any) -> None:
    ((value, document),) = [(value, document) for name, value, document in ill_typed(CONFIGURATION) if name == arg]
    assert value == wrong
    expected = copy.deepcopy(CONFIGURATION)
    expected["profiles"][0]["pluginConfig"][1]["args"][arg] = wrong  # type: ignore[index]
    expected["profiles"][0]["schedulerName"] = "schedproof-tried-0"  # type: ignore[index]
    assert document == expected


def test_every_arg_of_the_candidates_plugins_is_ill_typed_once_and_no_other() -> None:
    assert [arg for arg, _, _ in ill_typed(CONFIGURATION)] == [
        "timeRange", "percent", "factor", "strict", "devices", "weights", "fallback",
    ]  # fmt: skip


def test_ill_typed_leaves_the_configuration_unchanged() -> None:
    before = copy.deepcopy(CONFIGURATION)
    ill_typed(CONFIGURATION)
    assert before == CONFIGURATION


def test_profiles_of_ill_typed_configurations_have_scheduler_names_that_no_pod_uses() -> None:
    second = {"schedulerName": "other", "pluginConfig": [{"name": "Quiet", "args": {"window": 1}}]}
    tried = ill_typed({"profiles": [PROFILE, second]})
    for _, _, document in tried:
        assert [profile["schedulerName"] for profile in document["profiles"]] == [
            "schedproof-tried-0", "schedproof-tried-1",
        ]  # fmt: skip
    arg, value, document = tried[-1]
    assert (arg, value) == ("window", NO_TEXT)
    assert document["profiles"][1]["pluginConfig"][0]["args"] == {"window": NO_TEXT}


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"profiles": None},
        {"profiles": [{}]},
        {"profiles": [{"pluginConfig": None}]},
        {"profiles": [{"pluginConfig": [{"name": "Quiet"}, {"name": "Still", "args": None}]}]},
        {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": []}}]}]},
    ],
)
def test_a_configuration_without_plugin_args_has_no_ill_typed_variant(configuration: dict[str, Any]) -> None:
    assert ill_typed(configuration) == []
