"""Stimuli for extenders: what an extender is asked, over which line, and how the line is broken and mended."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.kinds import ExtenderConfig, ExtenderSpec
from schedproof.candidate.timing import Timing
from schedproof.daemons.certificates import Authority
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect
from schedproof.foundation.processes.ports import Ports
from schedproof.history.acts import LineFault, Missed, NodesLoad, TransportTried
from schedproof.history.faults import Fault
from schedproof.history.observations import ExtenderCall
from schedproof.judge.rulings.extender_calls import DEFAULT_TIMEOUT
from schedproof.proxies.exchange import HARNESS
from schedproof.proxies.exchanges import describe_extender_call
from schedproof.proxies.taps import Tap
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.kinds import extender as module
from schedproof.stimulus.kinds.extender import ExtenderStimulus
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.traffic import own_placements

from .played_traffic import CLAIMS, CLUSTERS, Traffic
from .serving import Serving, serving
from .world import CLAUSE, NAMESPACE, NODES, TOO_LATE, World

CONFIG = ExtenderConfig(
    filter_verb="filter", prioritize_verb="prioritize", preempt_verb="preempt", bind_verb="bind", path_prefix="/v1"
)
COMMAND = ("extender",)


class Extender:
    """An extender behind its tap, and the stimulus for it."""

    def __init__(self, world: World, server: Serving, config: ExtenderConfig, *, ready: str | None = None) -> None:
        self.world, self.server = world, server
        self._ports = Ports()
        described = config.recorded()

        def record(call: Any) -> None:
            world.recorder.note("extender", **describe_extender_call(call, described))

        self.tap = Tap(server.url, record, self._ports.reserve())
        world.attachment.extender = self.tap  # type: ignore[attr-defined]
        spec = ExtenderSpec(COMMAND, Path(), config=config, ready=ready)
        self.stimulus = ExtenderStimulus(
            world.context, spec, NodeChanges(world.context, world.view), world.status
        )  # fmt: skip

    def pod(self, **spec: Any) -> Pod:
        """A pod that the watch has shown."""
        return self.world.pods.create(cpu="100m", plain=True, **spec)

    def close(self) -> None:
        self.tap.close()
        self._ports.close()


Maker = Callable[..., Extender]


@pytest.fixture
def make(world: World) -> Iterator[Maker]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving())

        def made(config: ExtenderConfig = CONFIG, *, within: World = world, **options: Any) -> Extender:
            return stack.enter_context(contextlib.closing(Extender(within, server, config, **options)))

        yield made


@pytest.fixture
def extender(make: Maker) -> Extender:
    return make()


def body(request: Any) -> Any:
    return json.loads(request.body)


# -- requests


def test_a_call_is_recorded_as_the_harness_own_and_the_extender_does_not_see_whose_it_is(extender: Extender) -> None:
    extender.server.responses["/v1/filter"] = [(200, '{"NodeNames": []}')]
    extender.stimulus.call("filter", b"not JSON", what="a malformed body")
    (request,) = extender.server.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/filter", b"not JSON")
    assert HARNESS.lower() not in request.headers
    (call,) = extender.world.of(ExtenderCall)
    assert (call.by, call.case, call.verb, call.what, call.status) == (
        "harness", CLAUSE, "filter", "a malformed body", 200,
    )  # fmt: skip


@pytest.mark.parametrize(("ready", "path"), [(None, "/healthz"), ("/ready", "/ready")])
def test_its_health_is_requested_as_a_kubelet_does(make: Maker, ready: str | None, path: str) -> None:
    extender = make(ready=ready)
    extender.stimulus.ask_health()
    assert [(request.method, request.path) for request in extender.server.requests] == [("GET", path)]


@pytest.mark.parametrize("by_names", [False, True])
def test_a_question_gives_nodes_as_configured_unless_asked_otherwise(make: Maker, by_names: bool) -> None:
    extender = make(dataclasses.replace(CONFIG, node_cache_capable=by_names))
    pod = extender.pod()
    usual = json.loads(extender.stimulus.question(pod, NODES))
    other = json.loads(extender.stimulus.question(pod, NODES, by_names=not by_names, More=1))
    names, nodes = (usual, other) if by_names else (other, usual)
    assert (names["NodeNames"], names["Nodes"]) == (list(NODES), None)
    assert nodes["NodeNames"] is None
    assert [item["metadata"]["name"] for item in nodes["Nodes"]["items"]] == list(NODES)
    assert (usual["Pod"]["metadata"]["uid"], other["More"]) == (pod.uid, 1)


def test_a_node_that_does_not_exist_looks_like_the_others(extender: Extender) -> None:
    existing, invented = json.loads(extender.stimulus.question(extender.pod(), [NODES[0], "nowhere"]))["Nodes"]["items"]
    assert invented["metadata"]["labels"]["kubernetes.io/hostname"] == invented["metadata"]["name"] == "nowhere"
    assert existing["metadata"]["labels"].keys() == invented["metadata"]["labels"].keys()
    assert existing["status"] == invented["status"]
    assert existing["status"]["allocatable"]["cpu"]


def test_pods_that_are_asked_about_at_once_have_other_nodes_each(extender: Extender) -> None:
    pods = [extender.pod() for _ in range(2)]
    extender.stimulus.ask_at_once(pods)
    asked = {
        (request.path, body(request)["Pod"]["metadata"]["uid"]): [
            item["metadata"]["name"] for item in body(request)["Nodes"]["items"]
        ]
        for request in extender.server.requests
    }
    assert asked.keys() == {(f"/v1/{verb}", pod.uid) for verb in ("filter", "prioritize") for pod in pods}
    first, second = (asked["/v1/filter", pod.uid] for pod in pods)
    assert {*first, *second} == {*NODES}
    assert (len(first), len(second)) == (1, 1)
    assert all(asked["/v1/prioritize", uid] == nodes for (verb, uid), nodes in asked.items())


@pytest.mark.parametrize("by_names", [False, True])
def test_a_preemption_is_for_a_pod_that_is_not_bound_and_has_the_victim_on_its_node(
    make: Maker, by_names: bool
) -> None:
    extender = make(dataclasses.replace(CONFIG, node_cache_capable=by_names))
    extender.world.schedule()
    victim = extender.pod()
    extender.world.expect.bound([victim])
    extender.stimulus.call_preempt(victim=victim)
    (request,) = extender.server.requests
    asked = body(request)
    assert request.path == "/v1/preempt"
    assert "nodeName" not in asked["Pod"]["spec"]
    assert asked["Pod"]["metadata"]["uid"] != victim.uid
    (call,) = extender.world.of(ExtenderCall)
    assert call.victims_asked == {NODES[0]: [victim.uid]}
    given, left_out = ("NodeNameToMetaVictims", "NodeNameToVictims")[:: 1 if by_names else -1]
    assert asked[given]
    assert asked[left_out] is None


def test_a_bind_names_the_pod_and_the_node(extender: Extender) -> None:
    pod = extender.pod()
    extender.stimulus.call_bind(pod, NODES[1])
    assert extender.stimulus.binds
    (request,) = extender.server.requests
    assert (request.path, body(request)) == (
        "/v1/bind", {"PodName": pod.name, "PodNamespace": NAMESPACE, "PodUID": pod.uid, "Node": NODES[1]},
    )  # fmt: skip


def test_an_extender_is_not_asked_by_verbs_that_it_does_not_have(make: Maker) -> None:
    extender = make(ExtenderConfig(bind_verb="bind"))
    pod = extender.pod()
    extender.stimulus.call_preempt(victim=pod)
    extender.stimulus.ask_at_once([pod])
    extender.stimulus.ask_by_other_transports(pod)
    assert (extender.server.requests, extender.world.of(TransportTried)) == ([], [])
    assert (extender.stimulus.verbs, extender.stimulus.asking_verbs) == (("bind",), ())


def tried(world: World) -> dict[str, tuple[int, bool]]:
    """By transport: the status, and whether there was an error."""
    return {record.how: (record.status, bool(record.error)) for record in world.of(TransportTried)}


def test_an_extender_without_tls_has_no_tls(extender: Extender) -> None:
    extender.server.responses["/v1/filter"] = [(200, "{}")]
    extender.stimulus.ask_by_other_transports(extender.pod())
    assert tried(extender.world) == {
        "as configured": (200, False), "over plain HTTP": (200, False), "without a certificate": (0, True),
    }  # fmt: skip
    assert extender.world.of(ExtenderCall) == [], "they do not pass the tap"


def test_an_extender_with_tls_serves_no_plain_http_and_is_verified_as_configured(
    world: World, make: Maker, tmp_path: Path
) -> None:
    with serving(Authority(tmp_path / "authority").server("extender")) as server:
        server.responses["/v1/filter"] = [(200, "{}")]
        extender = make()
        extender.tap.upstream = server.url
        extender.stimulus.ask_by_other_transports(extender.pod())
    assert tried(world) == {
        "as configured": (0, True), "over plain HTTP": (0, True), "without a certificate": (200, False),
    }  # fmt: skip


def test_an_extender_without_a_tap_is_an_error_of_the_host(extender: Extender) -> None:
    extender.world.attachment.extender = None  # type: ignore[attr-defined]
    with pytest.raises(HostError):
        extender.stimulus.ask_health()
    with pytest.raises(HostError), extender.stimulus.broken(Fault.DOWN):
        pytest.fail("there is nothing to break")


def test_an_extender_that_does_not_respond_is_asked_no_more(
    extender: Extender, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = iter([0, 200, 0])
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.setattr(module, "exchange", lambda *_: (next(statuses), ""))
    with extender.stimulus.broken(Fault.HANG):
        for _ in range(2):
            extender.stimulus.ask_health()
    for _ in range(4):  # it did not respond because the line was broken
        extender.stimulus.ask_health()
    assert list(statuses) == []


# -- faults


def faults(world: World) -> list[tuple[str, str, bool]]:
    return [(record.line, record.fault, record.on) for record in world.of(LineFault)]


def test_a_broken_line_is_mended_at_the_end(extender: Extender) -> None:
    with extender.stimulus.broken(Fault.DOWN):
        extender.stimulus.ask_health()
        assert (extender.server.requests, extender.tap.fault) == ([], Fault.DOWN)
        assert faults(extender.world) == [("extender", "down", True)]
    extender.stimulus.ask_health()
    assert len(extender.server.requests) == 1
    assert faults(extender.world) == [("extender", "down", True), ("extender", "", False)]


def test_a_line_is_mended_also_if_the_case_ends_early(extender: Extender) -> None:
    with contextlib.suppress(ZeroDivisionError), extender.stimulus.broken(Fault.UNAVAILABLE):
        raise ZeroDivisionError
    extender.stimulus.ask_health()
    assert len(extender.server.requests) == 1


def test_a_request_that_hangs_is_released_at_the_end(extender: Extender) -> None:
    with extender.stimulus.broken(Fault.HANG):
        connection = connect(extender.tap.url, 60.0)
        connection.request("POST", "/v1/filter", b"{}")
        extender.world.await_shown(
            lambda: any(relay.hangs for relay in list(extender.tap._relays)), "a request that hangs"
        )
    with contextlib.closing(connection), pytest.raises(ConnectionError):
        connection.getresponse()


@pytest.mark.parametrize(
    ("config", "needed", "seconds"),
    [
        (CONFIG, True, 7.0 + 4 * DEFAULT_TIMEOUT),
        (ExtenderConfig(filter_verb="filter", ignorable=True, http_timeout=2.0), False, 9.0),
    ],
)
def test_pods_may_take_as_long_as_each_verb_times_out(
    make_world: Callable[..., World], make: Maker, config: ExtenderConfig, needed: bool, seconds: float
) -> None:
    stimulus = make(config, within=make_world(timing=Timing(bind=7.0))).stimulus
    assert (stimulus.needed, stimulus.beyond_timeout.seconds) == (needed, seconds)


def test_a_pod_that_is_left_waiting_is_reported_or_missed(make_world: Callable[..., World], make: Maker) -> None:
    world = make_world(timing=TOO_LATE)
    config = ExtenderConfig(filter_verb="filter", http_timeout=1e-9)
    extender = make(config, within=world)
    silent = extender.pod()
    world.refuse("SchedulerError")
    reported = extender.pod()
    world.await_shown(lambda: world.pods.is_reported(reported), "the condition")
    extender.stimulus.await_left_waiting([reported])
    assert world.of(Missed) == []
    extender.stimulus.await_left_waiting([silent])
    assert len(world.of(Missed)) == 1


# -- readings of many nodes


@pytest.fixture
def traffic(make_world: Callable[..., World]) -> Traffic:
    return Traffic(make_world(network=CLAIMS))


def test_nodes_that_are_added_have_readings_like_all_others(traffic: Traffic, make: Maker) -> None:
    extender = make(within=traffic.world)
    names = extender.stimulus.add_idle_nodes(3)
    assert len(names) == 3
    assert {*names, *NODES} <= {*traffic.world.server.names("nodes")}
    assert traffic.rates() == dict.fromkeys((*NODES, *names, "reserved"), 0.0)
    assert traffic.script.targets.keys() == {*names}
    (record,) = traffic.world.of(NodesLoad)
    assert (record.case, record.source, record.traffic) == (CLAUSE, "scripted", traffic.rates())
    assert traffic.acts[-1] == ("lead to", "http://scripted-0")
    extender.stimulus.undo()
    assert traffic.acts[-2:] == [("lead to", CLUSTERS), ("close", "http://scripted-0")]


def test_nodes_that_are_not_alike_differ_by_more_than_twice_the_resolution_and_are_turned_round(
    traffic: Traffic, make: Maker
) -> None:
    extender = make(within=traffic.world)
    extender.stimulus.add_idle_nodes(3, alike=False)
    before = traffic.rates()
    rates = sorted(before.values())
    assert len(rates) == 6
    assert all(more > (1 + 2 * CLAIMS.resolution) * less for less, more in itertools.pairwise(rates))
    extender.stimulus.reverse_load()
    assert sorted(before, key=before.__getitem__) == sorted(before, key=traffic.rates().__getitem__, reverse=True)
    assert sorted(traffic.rates().values()) == rates
    assert traffic.acts[-2:] == [("lead to", "http://scripted-1"), ("close", "http://scripted-0")]
    extender.stimulus.undo()
    assert traffic.acts[-2:] == [("lead to", CLUSTERS), ("close", "http://scripted-1")]


@pytest.mark.parametrize(("alike", "apart", "waits"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_earlier_placements_are_waited_for_where_they_would_tell_nodes_apart(
    traffic: Traffic, make: Maker, monkeypatch: pytest.MonkeyPatch, alike: bool, apart: bool, waits: int
) -> None:
    moments: list[float] = []
    monkeypatch.setattr(own_placements, "until", moments.append)
    traffic.world.trial.probes_apart = apart
    make(within=traffic.world).stimulus.add_idle_nodes(1, alike=alike)
    assert len(moments) == waits


def test_a_candidate_that_reads_nothing_gets_nodes_without_readings(extender: Extender) -> None:
    assert len(extender.stimulus.add_idle_nodes(2)) == 2
    extender.stimulus.reverse_load()
    assert extender.world.of(NodesLoad) == []
