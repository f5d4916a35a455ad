"""Scripted readings that are NaN, or that two replicas of Prometheus have written."""

from __future__ import annotations

import math

from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

COUNTER = ("node_network_receive_bytes_total", "eth0")
TARGETS = {name: {"instance": f"{name}:9100", "node": name} for name in ("one", "other")}


def test_only_series_of_a_replicated_node_exist_twice() -> None:
    counters = {name: Counter(0.0, ((0.0, 1.0),)) for name in TARGETS}
    script = Script({COUNTER: counters}, 1.0, replicated=frozenset({"one"}))
    series = script.series(TARGETS, 10.0)
    names = [frozenset(found.labels.items()) for found in series]
    assert len(set(names)) == len(names)
    of = {name: [found for found in series if found.labels.get("node") == name] for name in TARGETS}
    assert len(of["one"]) == 2 * len(of["other"])
    assert {found.labels.get("prometheus_replica") for found in of["one"]} == {"prometheus-a", "prometheus-b"}
    assert {found.labels.get("prometheus_replica") for found in of["other"]} == {None}
    assert {found.labels["__name__"] for found in of["one"]} == {found.labels["__name__"] for found in of["other"]}


def test_a_counter_that_begins_with_nan_stays_nan() -> None:
    samples = Counter(math.nan, ((0.0, 5.0), (3.0, 7.0))).samples(end=6.0, step=1.0)
    assert len(samples) == 7
    assert all(math.isnan(value) for _, value in samples)
