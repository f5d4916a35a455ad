"""The webhook that holds and refuses Bindings: how clients of the apiserver see it, and what is recorded."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.clusters.api import Api, ApiError, Conflict
from schedproof.foundation.deadlines import BIND, OBJECT_SHOWN, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.observations import Admission
from schedproof.stimulus.changes import binding_webhook
from schedproof.stimulus.changes.binding_webhook import BindingWebhook
from schedproof.stimulus.changes.candidate import CandidateChanges

from ..fake_apiserver.storing import RefusalError
from .world import CLAUSE, NAMESPACE, NODES, SCHEDULER, World

CONFIGURATIONS = "validatingwebhookconfigurations"
Call = concurrent.futures.Future[int]


class Clients:
    """The candidate, as a client of the apiserver that can wait for several responses at once."""

    def __init__(self, world: World, pool: concurrent.futures.Executor) -> None:
        self._world, self._pool = world, pool
        self._api = Api(world.server.url, None, token=SCHEDULER)
        self.uids: dict[tuple[str, str], str] = {}

    def pod(self, name: str, namespace: str = NAMESPACE) -> str:
        manifest = {"metadata": {"name": name}, "spec": {}, "status": {}}
        self.uids[namespace, name] = self._world.server.store("pods", manifest, namespace)["metadata"]["uid"]
        return name

    def bind(self, pod: str, node: str = NODES[0], namespace: str = NAMESPACE) -> int:
        """The status of the response."""
        return self._status(lambda: self._api.bind(namespace, pod, node, uid=self.uids[namespace, pod]))

    def begin(self, pod: str, node: str = NODES[0]) -> Call:
        return self._pool.submit(self.bind, pod, node)

    def report(self, pod: str) -> int:
        """The status of the response to a write of the pod's status."""
        patch = {"status": {"message": "reported"}}
        return self._status(lambda: self._api.merge("pods", pod, patch, NAMESPACE, "status"))

    def try_to_bind(self, pod: str) -> int:
        """The status of the response to a dry run, by the other resource for Bindings."""
        binding = {"metadata": {"name": pod}, "target": {"name": NODES[0]}}
        path, query = f"/api/v1/namespaces/{NAMESPACE}/bindings", {"dryRun": "All"}
        return self._status(lambda: self._api._json("POST", path, binding, query=query))

    def node_of(self, pod: str) -> str:
        return str(self._world.server.read("pods", pod, NAMESPACE)["spec"].get("nodeName", ""))

    @staticmethod
    def _status(request: Any) -> int:
        try:
            request()
        except ApiError as refused:
            return refused.status
        return 200


@pytest.fixture(autouse=True)
def host(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(binding_webhook, "_EFFECT_SECONDS", 0.0)
    with contextlib.closing(Ports()) as ports:
        world.cluster.callback_address = "127.0.0.1"
        world.cluster.host = SimpleNamespace(ports=ports, sandbox=SimpleNamespace(scratch=tmp_path))
        yield


@pytest.fixture
def clients(world: World) -> Iterator[Clients]:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield Clients(world, pool)


def gate_of(world: World, **options: Any) -> BindingWebhook:
    return CandidateChanges(world.context, world.expect).hold_bindings(**options)


@pytest.fixture
def gate(world: World, clients: Clients) -> Iterator[BindingWebhook]:  # which end after it
    with gate_of(world, statuses=True) as gate:
        yield gate


SOON = Deadline("soon", 0.0, "of a test")


def soon(gate: BindingWebhook) -> None:
    """Do not wait for the candidate."""
    gate._patience = dataclasses.replace(gate._patience, seconds=0.0)


def admissions(world: World) -> list[tuple[str, int, bool, bool]]:
    return [(one.pod.partition("/")[2], one.code, one.held, one.effective) for one in world.of(Admission)]


@pytest.mark.parametrize("broken", [False, True])
def test_bindings_of_its_namespace_pass_through_it_until_the_end(world: World, clients: Clients, broken: bool) -> None:
    world.add_namespace("other")
    pod, beside, later = clients.pod("a"), clients.pod("a", "other"), clients.pod("later")
    before = world.server.snapshot()
    gate = gate_of(world)
    with contextlib.suppress(ZeroDivisionError), gate:
        assert world.server.names(CONFIGURATIONS) == [gate._name]
        assert (clients.bind(pod), clients.bind(beside, namespace="other")) == (200, 200)
        if broken:
            raise ZeroDivisionError
    assert clients.bind(later) == 200
    (record,) = world.of(Admission)
    assert (record.case, record.pod, record.node, record.user) == (CLAUSE, f"{NAMESPACE}/a", NODES[0], SCHEDULER)
    assert record.uid == clients.uids[NAMESPACE, "a"]
    assert record.call in {number for written in world.server.annotations for number in written.values()}
    assert world.server.snapshot().keys() == before.keys()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", gate._port))


def test_a_pod_is_refused_as_often_and_with_the_code_that_was_given(
    world: World, clients: Clients, gate: BindingWebhook
) -> None:
    pod, other = clients.pod("a"), clients.pod("b")
    gate.refuse(pod, 409, times=2)
    assert [clients.bind(name) for name in (pod, other, pod, pod)] == [409, 200, 409, 200]
    assert admissions(world) == [("a", 409, False, False), ("b", 0, False, False), ("a", 409, False, False),
                                 ("a", 0, False, False)]  # fmt: skip
    assert len({record.call for record in world.of(Admission)}) == 4


def test_refused_pods_are_accepted_one_by_one_or_all_together(clients: Clients, gate: BindingWebhook) -> None:
    pods = [clients.pod(name) for name in "abc"]
    for pod in pods:
        gate.refuse(pod)
    gate.accept(pods[0])
    assert [clients.bind(pod) for pod in pods] == [200, 500, 500]
    gate.accept()
    assert [clients.bind(pod) for pod in pods[1:]] == [200, 200]


def test_a_dry_run_is_neither_refused_nor_counted(world: World, clients: Clients, gate: BindingWebhook) -> None:
    pod = clients.pod("a")
    gate.refuse(pod, times=1)
    soon(gate)
    assert (clients.try_to_bind(pod), gate.await_call(pod), admissions(world)) == (200, False, [])
    assert clients.bind(pod) == 500


def test_a_held_binding_has_no_effect_until_it_is_released(
    world: World, clients: Clients, gate: BindingWebhook
) -> None:
    pod = clients.pod("a")
    gate.hold(pod)
    binding = clients.begin(pod, NODES[1])
    assert gate.await_held()
    assert (gate.held_node, clients.node_of(pod), binding.done()) == (NODES[1], "", False)
    gate.release()
    assert (binding.result(), clients.node_of(pod)) == (200, NODES[1])
    assert admissions(world) == [("a", 0, True, False)]


def test_of_a_held_pod_only_the_first_binding_is_held(world: World, clients: Clients, gate: BindingWebhook) -> None:
    pod = clients.pod("a")
    gate.hold(pod)
    binding = clients.begin(pod)
    assert gate.await_held()
    assert clients.bind(pod, NODES[1]) == 200
    gate.release()
    assert binding.result() == 409
    assert admissions(world) == [("a", 0, False, False), ("a", 0, True, False)]


def test_a_binding_that_is_held_to_the_end_passes_then(world: World, clients: Clients) -> None:
    pod = clients.pod("a")
    with contextlib.suppress(ZeroDivisionError), gate_of(world) as gate:
        gate.hold(pod)
        binding = clients.begin(pod)
        assert gate.await_held()
        raise ZeroDivisionError
    assert binding.result() == 200


def test_what_is_not_posted_in_time_is_reported(clients: Clients, gate: BindingWebhook) -> None:
    soon(gate)
    pod = clients.pod("a")
    gate.hold(pod)
    assert not gate.await_held()
    assert not gate.await_refused_status(pod, SOON)
    gate.await_lost(pod)
    gate.release()
    gate.refuse(pod)
    clients.bind(pod)
    assert [gate.await_calls(pod, times, gate._patience) for times in (1, 2)] == [True, False]


def test_a_lost_answer_looks_as_if_the_apiserver_had_been_too_slow(
    world: World, clients: Clients, gate: BindingWebhook
) -> None:
    pod = clients.pod("a")
    gate.lose_answer(pod)
    assert (clients.bind(pod, NODES[1]), clients.node_of(pod)) == (504, NODES[1])
    gate.await_lost(pod)
    assert clients.bind(pod) == 409, "the next answer is the apiserver's own"
    assert admissions(world) == [("a", 504, False, True), ("a", 0, False, False)]
    assert {record.user for record in world.of(Admission)} == {SCHEDULER}


@pytest.mark.parametrize("replaced", [False, True])
def test_an_answer_that_would_be_an_error_is_not_lost(
    world: World, clients: Clients, gate: BindingWebhook, replaced: bool
) -> None:
    pod = clients.pod("a")
    if replaced:
        world.server.delete("pods", pod, NAMESPACE)
        Clients(world, clients._pool).pod(pod)
    else:
        world.server.bind(NAMESPACE, pod, NODES[1])
    gate.lose_answer(pod)
    assert clients.bind(pod) == 409
    assert admissions(world) == [("a", 0, False, False)]


def test_a_binding_of_another_worker_waits_for_the_effect_of_one_whose_answer_is_lost(
    world: World, clients: Clients, gate: BindingWebhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = clients.pod("a")
    second: list[Call] = []
    bind = gate._api.bind

    def bind_behind_the_other(*arguments: Any, **options: Any) -> None:
        second.append(clients.begin(pod, NODES[1]))

        def posted() -> None:
            if gate._calls.count(pod) < 2:
                raise NotYet("the other worker has posted none")

        wait_for(posted, OBJECT_SHOWN, what="the Binding of the other worker", wake=gate._changed)
        assert not second[0].done()
        bind(*arguments, **options)

    monkeypatch.setattr(gate._api, "bind", bind_behind_the_other)
    gate.lose_answer(pod)
    assert clients.bind(pod, NODES[0]) == 504
    assert second[0].result() == 409
    assert clients.node_of(pod) == NODES[0]


def test_one_write_of_a_status_is_refused(clients: Clients, gate: BindingWebhook) -> None:
    pod, other = clients.pod("a"), clients.pod("b")
    gate.refuse_status(pod)
    assert [clients.report(name) for name in (other, pod, pod)] == [200, 500, 200]
    assert gate.await_refused_status(pod, BIND)
    assert not gate.await_refused_status(other, SOON)


def test_statuses_pass_by_a_gate_for_bindings_alone(world: World, clients: Clients) -> None:
    pod = clients.pod("a")
    with gate_of(world) as gate:
        gate.refuse_status(pod)
        assert clients.report(pod) == 200


@pytest.mark.parametrize("refused", [False, True])
def test_a_gate_that_the_apiserver_does_not_call_is_not_left_behind(
    world: World, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    never = dataclasses.replace(binding_webhook.WEBHOOK_CALLED, seconds=0.0)
    monkeypatch.setattr(binding_webhook, "WEBHOOK_CALLED", never)
    monkeypatch.setattr(world.server, "admit", lambda *_: None)
    if refused:
        world.server.refusals["POST", CONFIGURATIONS] = [RefusalError(409, "Conflict", "no")]
    gate = gate_of(world)
    with pytest.raises(Conflict if refused else DeadlineExceededError), gate:
        pytest.fail("it was not called")
    assert world.server.names(CONFIGURATIONS) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", gate._port))
