"""The controller of `schedproof init`: its state over time, with a simulated apiserver and clock."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client

from schedproof.foundation.content import content

from .loading import load
from .reference_controller.worlds import Manifest, node, pod

template = load(content("fixtures", "templates", "controller"))


class Rig:
    """The apiserver, as the controller sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *nodes: Manifest, pods: list[Manifest] | None = None) -> None:
        self.now = 1000.0
        self.outcomes: list[Exception] = []
        """Of the next Bindings; later ones succeed."""
        self.bound: list[tuple[str, str]] = []
        """Attempts: uid and node."""
        self.readable: Manifest | Exception = client.ApiException(status=404)
        self.said: list[tuple[str, str]] = []
        self.list_pod_for_all_namespaces = self.list_node = None
        monkeypatch.setattr(template.world.Watch, "start", lambda _: None)
        monkeypatch.setattr(template.controller, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.scheduler = template.controller.Scheduler("own", self, SimpleNamespace(read=dict))
        self.see("nodes", "LISTED", *nodes)
        self.see("pods", "LISTED", *(pods or []))

    def create_namespaced_pod_binding(self, _name: str, _namespace: str, binding: Any, **_: Any) -> Any:
        self.bound.append((binding.metadata.uid, binding.target.name))
        if self.outcomes:
            raise self.outcomes.pop(0)
        return SimpleNamespace(data=b"")

    def read_namespaced_pod(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.readable, Exception):
            raise self.readable
        return SimpleNamespace(data=json.dumps(self.readable).encode())

    def patch_namespaced_pod_status(self, _name: str, _namespace: str, body: Manifest, **_: Any) -> Any:
        self.said.append((body["metadata"]["uid"], body["status"]["conditions"][0]["reason"]))
        return SimpleNamespace(data=b"")

    def see(self, kind: str, event: str, *manifests: Manifest) -> None:
        dated = [{**one, "metadata": {"creationTimestamp": "", **one["metadata"]}} for one in manifests]
        self.scheduler._world._inbox.put((kind, event, dated))

    def run(self, *, after: float = 0.0) -> list[tuple[str, str]]:
        """Let `after` seconds pass and the controller do all that is due, as its loop does."""
        self.now += after
        before = len(self.bound)
        while True:
            self.scheduler._world.take_in(0)
            waiting, _ = self.scheduler._next()
            if waiting is None:
                return self.bound[before:]
            self.scheduler._schedule(waiting, self.scheduler._attempts[waiting.uid])


def on(manifest: Manifest, name: str) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "nodeName": name}}


def test_a_list_after_a_gap_replaces_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    full = {"cpu": "4"}
    rig = Rig(monkeypatch, node("a"), node("b"), pods=[pod(node="a", requests=full), pod(node="b", requests=full)])
    rig.see("pods", "ADDED", pod(uid="1", requests=full))
    assert rig.run() == []
    waiting = rig.scheduler._world.pods["1"].manifest
    rig.see("nodes", "LISTED", node("b"), node("c", unschedulable=True))
    rig.see("pods", "LISTED", waiting)
    assert rig.run(after=1) == [("1", "b")]


def test_the_pods_of_a_node_count_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, node("a"), pods=[pod(node="a", requests={"cpu": "3"})])
    rig.see("nodes", "DELETED", node("a"))
    rig.see("pods", "ADDED", pod(uid="1", requests={"cpu": "2"}))
    rig.see("nodes", "ADDED", node("a"))
    assert rig.run() == []
    rig.see("pods", "ADDED", pod(uid="2", requests={"cpu": "1"}))
    assert rig.run() == [("2", "a")]


def test_a_burst_does_not_overcommit_before_the_watch_shows_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, node("a"))
    manifests = [pod(uid=str(number), requests={"cpu": "2"}) for number in range(3)]
    for manifest in manifests:
        rig.see("pods", "ADDED", manifest)
    assert rig.run() == [("0", "a"), ("1", "a")]
    rig.see("pods", "LISTED", *manifests)  # an older list
    assert rig.run(after=10) == []
    rig.see("pods", "DELETED", manifests[0])
    assert rig.run(after=1) == [("2", "a")]


@pytest.mark.parametrize("status", [403, 409, 422, 429])
def test_the_room_of_a_refused_binding_is_free_and_the_pod_is_retried(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(monkeypatch, node("a"))
    rig.outcomes = [client.ApiException(status=status)]
    rig.see("pods", "ADDED", pod(uid="1", requests={"cpu": "4"}, priority=1))
    rig.see("pods", "ADDED", pod(uid="2", requests={"cpu": "4"}))
    assert rig.run() == [("1", "a"), ("2", "a")]
    rig.see("pods", "DELETED", pod(uid="2"))
    assert rig.run(after=1) == [("1", "a")]


@pytest.mark.parametrize("error", [client.ApiException(status=500), client.ApiException(status=504), TimeoutError()])
def test_a_binding_with_an_unknown_outcome_counts_until_the_pod_was_read(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(monkeypatch, node("a"))
    rig.outcomes, rig.readable = [error], error
    first = pod(uid="1", requests={"cpu": "4"}, priority=1)
    rig.see("pods", "ADDED", first)
    rig.see("pods", "ADDED", pod(uid="2", requests={"cpu": "4"}))
    assert rig.run() == [("1", "a")]
    assert rig.run(after=10) == []  # it cannot be read
    rig.readable = on(first, "a")
    assert rig.run(after=10) == []  # it was bound; a watch event follows
    rig.readable = error
    rig.see("pods", "DELETED", on(first, "a"))
    assert rig.run(after=10) == [("2", "a")]


def test_a_binding_that_had_no_effect_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, node("a"))
    rig.outcomes, rig.readable = [TimeoutError()], pod(uid="1")
    rig.see("pods", "ADDED", rig.readable)
    assert [rig.run(), rig.run(after=1)] == [[("1", "a")]] * 2


def test_a_recreated_pod_is_another_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, node("a"))
    old, new = pod("same", uid="old", requests={"cpu": "4"}), pod("same", uid="new", requests={"cpu": "4"})
    rig.see("pods", "ADDED", old)
    assert rig.run() == [("old", "a")]
    rig.see("pods", "ADDED", new)
    rig.see("pods", "DELETED", on(old, "a"))
    assert rig.run() == [("new", "a")]


@pytest.mark.parametrize("end", [{"status": {"phase": "Succeeded"}}, {}], ids=["finished", "deleted"])
def test_a_pod_that_waits_for_a_host_port_is_bound_when_the_other_pod_ends(
    end: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [{"hostPort": 80}]
    holder = pod(uid="holder", node="a", schedulerName="other", ports=ports)
    rig = Rig(monkeypatch, node("a"), pods=[holder])
    rig.see("pods", "ADDED", pod(uid="1", ports=ports))
    assert rig.run() == []
    rig.see("pods", "MODIFIED", {**holder, "metadata": {**holder["metadata"], "deletionTimestamp": "now"}})
    assert (rig.run(after=5), rig.said) == ([], [("1", "Unschedulable")])
    rig.see("pods", "MODIFIED" if end else "DELETED", {**holder, **end})
    assert rig.run(after=1) == [("1", "a")]


@pytest.mark.parametrize(
    "change", [node("a", unschedulable=True), node("a", offers={"cpu": "1"})], ids=["cordon", "less room"]
)
def test_a_node_that_no_longer_suffices_gets_no_pod(change: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, node("a"))
    rig.see("nodes", "MODIFIED", change)
    rig.see("pods", "ADDED", pod(uid="1", requests={"cpu": "2"}))
    assert rig.run() == []
    rig.see("nodes", "MODIFIED", node("a"))
    assert rig.run(after=1) == [("1", "a")]


def test_pods_that_must_not_be_scheduled_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gated = pod(uid="gated", schedulingGates=[{"name": "wait"}])
    rig = Rig(monkeypatch, node("a"), pods=[gated, pod(deleted=True), pod(schedulerName="other")])
    assert (rig.run(), rig.said) == ([], [])
    rig.see("pods", "MODIFIED", {**gated, "spec": {**gated["spec"], "schedulingGates": []}})
    assert rig.run() == [("gated", "a")]
