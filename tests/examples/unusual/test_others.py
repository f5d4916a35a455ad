"""Unusual candidates: machines that are no nodes, watches that expire, and Bindings that were refused."""

from __future__ import annotations

import json
import queue
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client

from schedproof.foundation.content import content

from ..loading import load
from ..reference_controller.worlds import Manifest, modules, pod, update

UNUSUAL = content("fixtures", "candidates", "unusual")
EXTENDER = content("fixtures", "candidates", "least-traffic-extender")


def test_a_target_that_is_no_node_costs_no_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = vars(load(EXTENDER))
    module = load(UNUSUAL, "unusual_extender", beside=beside).unusual_extender
    targets = [
        {"health": "up", "labels": {"instance": "10.0.0.1:9100", "node": "a"}},
        {"health": "up", "labels": {"instance": "10.0.0.9:9100"}},
        {"health": "down", "labels": {"instance": "10.0.0.2:9100", "node": "b"}},
    ]
    series = [{"metric": {"instance": f"10.0.0.{number}:9100"}, "value": [1, "7"]} for number in (1, 2, 9)]
    vector = {"status": "success", "data": {"resultType": "vector", "result": series}}
    prometheus = module.ReadingsOfTargets("http://prometheus", "up", "instance")
    monkeypatch.setattr(prometheus, "_get", lambda _: json.dumps(vector).encode())
    monkeypatch.setattr(prometheus._list, "_get", lambda _: json.dumps({"data": {"activeTargets": targets}}).encode())
    reading = prometheus.read()
    assert (reading.traffic, reading.outage) == ({"a": 7.0}, "")


def test_a_poll_does_not_bring_back_a_pod_that_a_later_list_lacks() -> None:
    polling = load(UNUSUAL, "polling_controller", beside=vars(modules)).polling_controller
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    polled = polling.AssignedOnceASecond(inbox)
    gone = update("pods", pod(node="a"))
    polled.put(gone)
    listing = modules.watching.Listing("pods", [])
    polled.put(listing)
    assert [inbox.get(timeout=30) for _ in range(2)] == [gone, listing]


def test_a_claim_is_reserved_once_though_the_pod_s_binding_was_refused() -> None:
    devices = load(UNUSUAL, "dra_controller", beside=vars(modules)).dra_controller.Devices
    written: list[Manifest] = []

    def write_status(claim: Manifest, status: Manifest) -> None:
        written.append(status)
        claim["status"] = {**claim["status"], **status}

    other = {"resource": "pods", "name": "other", "uid": "other"}
    claim: Manifest = {"metadata": {}, "status": {"reservedFor": [other]}}
    itself = SimpleNamespace(_write_status=write_status)
    for _ in range(2):
        devices.reserve(itself, claim, modules.pods.Pod(pod("probe", uid="probe")))
    assert written == [{"reservedFor": [other, {"resource": "pods", "name": "probe", "uid": "probe"}]}]


def test_every_request_about_a_lease_has_a_deadline_within_which_the_lease_can_be_renewed() -> None:
    module = load(UNUSUAL / "leader-elected", "elected_controller", beside=vars(modules)).elected_controller
    deadlines: list[float] = []
    leases: list[Any] = []

    def answer(*arguments: Any, _request_timeout: float = float("inf")) -> Any:
        deadlines.append(_request_timeout)
        if len(deadlines) == 1:
            raise client.ApiException(status=404)
        leases.extend(one for one in arguments if isinstance(one, client.V1Lease))
        return leases[-1]

    api = SimpleNamespace(read_namespaced_lease=answer, create_namespaced_lease=answer, replace_namespaced_lease=answer)
    election = module.Election(api)
    assert election._try()
    assert election._try()
    assert len(deadlines) == 4
    assert max(deadlines) <= module.RENEW_SECONDS
