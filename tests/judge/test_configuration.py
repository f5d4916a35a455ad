"""The recorded configuration of kube-scheduler: the oracle's defaults do not always apply to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schedproof.history.observations import Configured
from schedproof.judge.rulings.ruling import rule_binding

from .histories import NODES, SCHEDULER, HistoryBuilder, told

IN_POOL = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ADDED = {"NodeAffinity": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": IN_POOL}}}


def configured(
    case: str = "core/fit-cpu",
    *,
    args: Mapping[str, Any] | None = None,
    disabled: Mapping[str, list[str]] | None = None,
    nodes: tuple[str, ...] = NODES,
    **more: Any,
) -> HistoryBuilder:
    h = HistoryBuilder(case, nodes=nodes)
    plugins = {point: {"disabled": [{"name": name} for name in names]} for point, names in (disabled or {}).items()}
    profile = {
        "schedulerName": SCHEDULER,
        "plugins": plugins,
        "pluginConfig": [{"name": name, "args": given} for name, given in (args or {}).items()],
    }
    h.add(Configured(document={"profiles": [profile], **more}))
    return h


@pytest.mark.parametrize(("node", "outcome"), [("node-1", "passed"), ("node-2", "failed")])
def test_added_affinity_of_the_configuration_applies_to_every_pod(node: str, outcome: str) -> None:
    h = configured(args=ADDED)
    h.node("node-1", labels={"pool": "a"})
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", node)
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == outcome


def test_preferred_terms_of_the_configuration_count_beside_those_of_a_pod() -> None:
    def prefers(value: str, weight: int) -> dict[str, Any]:
        expression = {"key": "pool", "operator": "In", "values": [value]}
        return {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [expression]}}]}

    h = configured(args={"NodeAffinity": {"addedAffinity": prefers("a", 10)}})
    for node, pool in (("node-1", "a"), ("node-2", "b")):
        h.node(node, labels={"pool": pool})
    h.seen()
    h.pod("bare")
    h.bind("bare", "node-1")
    h.pod("own", affinity={"nodeAffinity": prefers("b", 20)})
    h.bind("own", "node-1")
    history = h.history()
    wishes = [rule_binding(history, binding).wishes for binding in history.bindings.values()]
    assert [[its[node][1] for node in ("node-1", "node-2")] for its in wishes] == [[10, 0], [10, 20]]


def test_expecting_a_pod_that_the_added_affinity_keeps_pending_is_invalid() -> None:
    h = configured(args=ADDED)
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "invalid", "wrong-expectation")


def test_added_affinity_is_anded_with_each_term_of_the_pod() -> None:
    own = {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in ("node-1", "node-2")
    ]}  # fmt: skip
    h = configured(args=ADDED)
    h.node("node-2", labels={"pool": "a"})
    h.node("node-3", labels={"pool": "a"})
    h.seen()
    for node, outcome in (("node-2", "passed"), ("node-1", "failed"), ("node-3", "failed")):
        branch = configured(args=ADDED)
        branch.records = [*h.records]
        branch.rv, branch._at = h.rv, h.now
        branch.pod("probe-1", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": own}})
        branch.bind("probe-1", node)
        branch.expect("probe-1", "bound")
        assert branch.verdict().outcome == outcome, node


@pytest.mark.parametrize(
    ("args", "outcome"),
    [
        ({"ignoredResources": ["example.com/gpu"]}, "passed"),
        ({"ignoredResourceGroups": ["example.com"]}, "passed"),
        ({"ignoredResources": ["cpu"]}, "failed"),
        ({}, "failed"),
    ],
)
def test_ignored_resources_do_not_count(args: Mapping[str, Any], outcome: str) -> None:
    h = configured(args={"NodeResourcesFit": args})
    h.pod("probe-1", extended={"example.com/gpu": "1"})
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == outcome


@pytest.mark.parametrize("disabled", [{"filter": ["TaintToleration"]}, {"multiPoint": ["*"]}])
def test_node_that_a_disabled_plugin_would_reject_fails_and_names_the_plugin(disabled: Any) -> None:
    h = configured(disabled=disabled)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    told(h.verdict(), "failed", "infeasible-node", "TaintToleration")


@pytest.mark.parametrize("percentage", [None, 0, 50])
def test_preference_is_invalid_if_not_all_nodes_are_scored(percentage: int | None) -> None:
    many = tuple(f"node-{number}" for number in range(120))
    more = {} if percentage is None else {"percentageOfNodesToScore": percentage}
    h = configured("network/flip", nodes=many, **more)
    told(h.verdict(), "invalid", "not-all-nodes-scored", "percentageOfNodesToScore")


def test_few_nodes_are_all_scored() -> None:
    h = configured("network/flip", percentageOfNodesToScore=50)
    told(h.verdict(), "invalid", "not-tried")


@pytest.mark.parametrize(
    ("excluded", "key", "outcome"),
    [
        ("core/taint-noschedule", "node.kubernetes.io/not-ready", "passed"),
        ("core/taint-noschedule", "reserved", "failed"),
        ("core/host-port", "node.kubernetes.io/not-ready", "failed"),
    ],
)
def test_a_node_that_is_not_ready_takes_pods_if_taints_do_not_count(excluded: str, key: str, outcome: str) -> None:
    h = HistoryBuilder("core/fit-cpu", exclusions=[{"clause": excluded, "reason": "not supported"}])
    h.node("node-1", taints=[{"key": key, "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict("core/feasible").outcome == outcome
