"""Scripted readings: those that are NaN, those of two replicas of Prometheus, and those that no clause changes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from schedproof.daemons.scrape import WHOLE
from schedproof.daemons.scrape_defaults import Machine
from schedproof.traffic.script import LOUD, OTHER_HOSTS, QUIET, UNLABELLED, Script
from schedproof.traffic.series import Counter, Series

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


SCRIPT = Script({COUNTER: {"one": Counter(5.0, ((0.0, 10.0),)), "other": Counter(0.0, ((0.0, 30.0),))}}, 1.0)


def named(series: list[Series], name: str, **labels: str) -> list[Series]:
    return [one for one in series if {"__name__": name, **labels}.items() <= one.labels.items()]


def grown(series: Series) -> float:
    (begin, first), *_, (end, last) = series.samples
    return (last - first) / (end - begin)


def test_series_of_default_collectors_agree_with_the_machine() -> None:
    series = SCRIPT.series(TARGETS, 1.8e9, after=1.8e9 - 10, machine=Machine(cpus=2, memory=4e9, storage=5e9))
    idle = named(series, "node_cpu_seconds_total", node="one", mode="idle")
    assert [one.labels["cpu"] for one in idle] == ["0", "1"]
    assert [grown(one) for one in idle] == pytest.approx([1.0, 1.0])
    assert all(value > 0 for one in idle for _, value in one.samples)
    values = {one.labels["__name__"]: one.samples[-1] for one in series if one.labels.get("node") == "one"}
    assert values["node_memory_MemTotal_bytes"][1] == 4e9
    assert values["node_filesystem_size_bytes"][1] == 5e9
    moment, clock = values["node_time_seconds"]
    assert clock == pytest.approx(moment)
    assert values["node_boot_time_seconds"][1] < moment
    assert "" not in {value for one in series for value in one.labels.values()}, "Prometheus knows no such labels"


@pytest.mark.parametrize("nodes", [2, WHOLE + 1])
def test_a_device_has_its_speed_and_state_however_many_nodes_there_are(nodes: int) -> None:
    targets = {f"n{number}": {"instance": f"n{number}:9100", "node": f"n{number}"} for number in range(nodes)}
    script = Script({COUNTER: {name: Counter(0.0, ((0.0, 1.0),)) for name in targets}}, 1.0)
    series = script.series(targets, 10.0)
    for name in ("node_network_speed_bytes", "node_network_up"):
        found = named(series, name, device="eth0")
        assert {one.labels["node"] for one in found} == set(targets)
        assert all(value > 0 for one in found for _, value in one.samples)


@pytest.mark.parametrize("others", [OTHER_HOSTS, UNLABELLED])
def test_other_hosts_carry_more_and_less_than_all_nodes(others: Mapping[str, Mapping[str, str]]) -> None:
    script = Script(SCRIPT.counters, 1.0, others=others)
    received = named(script.series(TARGETS, 10.0), COUNTER[0], device="eth0")
    rates = {one.labels["instance"]: grown(one) for one in received}
    instance = {name: labels["instance"] for name, labels in others.items()}
    assert rates[instance[QUIET]] < rates["one:9100"] < rates["other:9100"] < rates[instance[LOUD]]
    assert script.nodes == set(TARGETS), "they are no nodes"
    labels = {one.labels.get("node") for one in script.series(TARGETS, 10.0)}
    assert (None in labels) == (others is UNLABELLED)
    hosts = {one.labels["nodename"] for one in named(script.series(TARGETS, 10.0), "node_uname_info")}
    assert hosts == {*TARGETS, LOUD, QUIET}


def test_beside_idle_nodes_one_of_the_other_hosts_is_busy() -> None:
    idle = {COUNTER: {name: Counter(0.0, ((0.0, 0.0),)) for name in TARGETS}}
    series = Script(idle, 1.0, others=OTHER_HOSTS).series(TARGETS, 10.0)
    assert {one.labels["node"] for one in named(series, COUNTER[0], device="eth0") if grown(one)} == {LOUD}


def test_a_counter_can_go_on_from_another_one() -> None:
    earlier = Counter(1e9, ((0.0, 10.0),))
    later = Counter(7.0, ((50.0, 20.0), (100.0, 40.0))).after(earlier, 100.0)
    assert later.samples(end=101.0, step=50.0)[-1] == (100.0, 1e9 + 1000.0)
    assert later.phases == ((50.0, 20.0), (100.0, 40.0))


@pytest.mark.parametrize(
    ("earlier", "counter"),
    [
        (None, Counter(7.0, ((50.0, 20.0),))),
        (Counter(1e9, ((0.0, 10.0),), gone=60.0), Counter(7.0, ((50.0, 20.0),))),
        (Counter(1e9, ((0.0, 10.0),)), Counter(7.0, ((50.0, 20.0),), reset=90.0)),
        (Counter(0.0, ((0.0, 1.0),)), Counter(7.0, ((50.0, 20.0),))),  # it would have to start below 0
        (Counter(1e9, ((0.0, 10.0),)), Counter(math.nan, ((50.0, 20.0),))),
    ],
)
def test_a_counter_stays_as_it_is_where_it_cannot_go_on(earlier: Counter | None, counter: Counter) -> None:
    assert counter.after(earlier, 100.0) is counter
