"""Samples that are pushed to a real Prometheus, beside scrapes and instead of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from schedproof.traffic import pushed
from schedproof.traffic.pushed import IdleReadings
from schedproof.traffic.script import LOUD, QUIET
from schedproof.traffic.series import Series

LABELS = {"one": {"instance": "198.51.100.1:9100", "node": "one"}}
RECEIVED, LOAD = "node_network_receive_bytes_total", "node_load1"


@pytest.fixture
def pushes(monkeypatch: pytest.MonkeyPatch) -> list[list[Series]]:
    found: list[list[Series]] = []
    monkeypatch.setattr(pushed, "push", lambda _url, series: found.append(list(series)))
    return found


@pytest.fixture
def idle(pushes: list[list[Series]]) -> Iterator[IdleReadings]:
    with contextlib.closing(IdleReadings("http://unused", LABELS, "eth0", 1e6)) as readings:
        yield readings


def names(series: list[Series], host: str) -> set[str]:
    return {one.labels["__name__"] for one in series if one.labels["node"] == host}


def test_idle_nodes_and_other_hosts_have_all_series(idle: IdleReadings, pushes: list[list[Series]]) -> None:
    idle._push()
    for host in ("one", LOUD, QUIET):
        assert {RECEIVED, LOAD, "up"} <= names(pushes[0], host)
        assert {RECEIVED, "up"} <= names(pushes[1], host), "what changes is pushed each time"
    assert LOAD not in names(pushes[1], "one")


def test_only_the_louder_of_the_other_hosts_counts_beside_idle_nodes(
    idle: IdleReadings, pushes: list[list[Series]]
) -> None:
    idle._push()
    counted = [
        {one.labels["node"]: one.samples[0][1] for one in series if one.labels["__name__"] == RECEIVED
         and one.labels["device"] == "eth0"}
        for series in pushes
    ]  # fmt: skip
    assert {host for host in counted[0] if counted[1][host] > counted[0][host]} == {LOUD}


def test_scraped_nodes_have_only_series_that_no_exporter_reports(
    idle: IdleReadings, pushes: list[list[Series]]
) -> None:
    idle.leave_scraped()
    for _ in range(4):
        idle._push()
    last = [one for series in pushes[1:] for one in series]
    assert LOAD in names(last, "one")
    assert names(last, "one").isdisjoint({RECEIVED, "up", "node_uname_info"})
    assert RECEIVED in names(last, LOUD)
