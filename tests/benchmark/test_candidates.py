"""The candidates in fixtures/candidates/benchmark match their README."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedproof.candidate.kinds import CommandSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.scheduler_config import (
    nodes_to_score,
    own_configuration,
    scheduler_configuration,
    scoring_all_nodes,
)
from schedproof.candidate.shipped import find_candidate, shipped_names
from schedproof.foundation.content import content
from schedproof.judge.claimable import CLAIMABLE

NAMES = [name for name in shipped_names() if name.startswith("benchmark/")]


@pytest.mark.parametrize("name", NAMES)
def test_each_candidate_has_its_own_scheduler_name_and_is_in_the_readme(name: str) -> None:
    candidate = find_candidate(name, known=CLAIMABLE)
    assert candidate.name == candidate.scheduler_name == name.partition("/")[2]
    assert isinstance(candidate.spec, CommandSpec if name.endswith("-go") else PluginSpec)
    assert (
        f"[{candidate.name}]({candidate.name})"
        in content("fixtures", "candidates", "benchmark", "README.md").read_text()
    )


def test_all_candidates_to_measure_are_shipped() -> None:
    assert NAMES == [
        "benchmark/adaptive",
        "benchmark/annotated",
        "benchmark/delayed",
        "benchmark/least-traffic-controller-go",
        "benchmark/least-traffic-extender-go",
        "benchmark/planner",
        "benchmark/throttled",
    ]


@pytest.mark.parametrize("name", ["least-traffic-controller", "least-traffic-extender"])
def test_go_candidate_has_the_configuration_claims_and_rights_of_the_python_one(name: str) -> None:
    """It differs from the Python candidate only in its program."""
    python, go = find_candidate(name), find_candidate(f"benchmark/{name}-go")
    assert isinstance(python.spec, CommandSpec)
    assert isinstance(go.spec, CommandSpec)
    assert (go.claims, go.rbac, go.spec.ready) == (python.claims, python.rbac, python.spec.ready)
    assert go.spec.command[:2] == ("sh", "{here}/start.sh")
    assert go.spec.command[2:] == python.spec.command[2:]
    if isinstance(python.spec, ExtenderSpec):
        assert isinstance(go.spec, ExtenderSpec)
        assert go.spec.config == python.spec.config


def test_go_candidates_are_started_in_the_same_way() -> None:
    folder = content("fixtures", "candidates", "benchmark")
    extender, controller = (
        (folder / name / "start.sh").read_text()
        for name in ("least-traffic-extender-go", "least-traffic-controller-go")
    )
    assert controller == extender.replace("least-traffic-extender-go", "least-traffic-controller-go")


def test_delayed_has_its_delay_as_a_plugin_arg() -> None:
    spec = find_candidate("benchmark/delayed").spec
    assert isinstance(spec, PluginSpec)
    assert spec.args == {"delay": "2ms"}


def test_planner_has_its_plan_as_a_plugin_arg() -> None:
    spec = find_candidate("benchmark/planner").spec
    assert isinstance(spec, PluginSpec)
    assert spec.args == {"plan": "5s"}


def test_adaptive_differs_from_stock_only_in_the_nodes_that_it_scores() -> None:
    kubeconfig = Path("kubeconfig")
    own = own_configuration(find_candidate("benchmark/adaptive"), kubeconfig, {})
    stock = scheduler_configuration(["adaptive"], kubeconfig)
    assert stock.pop("percentageOfNodesToScore") == 100
    assert own == stock
    assert nodes_to_score(own, "adaptive") == 0


def test_nodes_to_score_are_those_of_the_profile_that_serves_the_candidate() -> None:
    own = {"schedulerName": "mine", "percentageOfNodesToScore": 0}
    configuration = {"percentageOfNodesToScore": 40, "profiles": [{"schedulerName": "other"}, own]}
    assert [nodes_to_score(configuration, name) for name in ("other", "mine")] == [40, 0]


def test_configuration_of_its_own_can_be_made_to_score_all_nodes() -> None:
    adaptive, stock = find_candidate("benchmark/adaptive"), find_candidate("stock")
    own = own_configuration(scoring_all_nodes(adaptive), Path("kubeconfig"), {})
    assert own == scheduler_configuration(["adaptive"], Path("kubeconfig"))
    assert scoring_all_nodes(stock) is stock
    profile = {"schedulerName": "adaptive", "percentageOfNodesToScore": 10}
    narrow = dataclasses.replace(adaptive, scheduler_config={"profiles": [profile]})
    made = scoring_all_nodes(narrow).scheduler_config
    assert made is not None
    assert nodes_to_score(made, "adaptive") == 100
    assert profile["percentageOfNodesToScore"] == 10


def test_throttled_keeps_the_client_limits_of_its_configuration() -> None:
    """Otherwise it equals the configuration that the harness writes for the stock scheduler."""
    document = own_configuration(find_candidate("benchmark/throttled"), Path("kubeconfig"), {})
    assert document["clientConnection"] == {"qps": 10, "burst": 10, "kubeconfig": "kubeconfig"}
    assert document["percentageOfNodesToScore"] == 100
    assert document["profiles"] == [{"schedulerName": "throttled"}]
