"""Tests of what is done to a compiled scheduler, on a fake apiserver."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.scheduler_config import NO_LEADER_ELECTION
from schedproof.daemons.certificates import Authority
from schedproof.foundation.errors import CandidateError
from schedproof.history.acts import Expect, PodCreated, Tried
from schedproof.history.observations import EndpointAnswer
from schedproof.stimulus.changes.candidate import LEASE, CandidateChanges
from schedproof.stimulus.kinds import plugin as module
from schedproof.stimulus.kinds.endpoints import EndpointResponse, ask
from schedproof.stimulus.kinds.plugin import HEALTH, METRICS, PluginStimulus
from schedproof.stimulus.trial import CONTROL

from .serving import Serving, serving
from .world import CLAUSE, NODES, SCHEDULER, World


class BodyError(Exception):
    """Raised by the body of a context."""


def of(world: World) -> PluginStimulus:
    world.trial.start_control = lambda: world.attachment.acts.append("start control")
    candidate = CandidateChanges(world.context, world.expect)
    return PluginStimulus(world.context, world.pods, world.expect, candidate)


@pytest.fixture
def plugin(world: World) -> PluginStimulus:
    return of(world)


# -- starts with other configurations

CONFIGURATION = {
    "profiles": [
        {
            "schedulerName": SCHEDULER,
            "plugins": {"multiPoint": {"enabled": [{"name": "Quiet"}]}},
            "pluginConfig": [{"name": "Quiet", "args": {"url": "http://it", "window": "30s"}}],
        }
    ]
}


class Starts:
    """Starts of a compiled scheduler; those without the arg `url` fail."""

    def __init__(self, world: World) -> None:
        self.documents: list[Mapping[str, Any]] = []
        attachment: Any = world.attachment
        attachment.configuration, attachment.start_error = CONFIGURATION, None
        attachment.try_configurations = self._try

    def _try(self, documents: Sequence[Mapping[str, Any]]) -> list[tuple[int | None, Sequence[str]]]:
        self.documents += documents
        return [(None if "url" in self._args(document) else 1, ["its log"]) for document in documents]

    @staticmethod
    def _args(document: Mapping[str, Any]) -> Mapping[str, Any]:
        configured = document["profiles"][0]["pluginConfig"]
        return configured[0]["args"] if configured else {}


@pytest.fixture
def starts(world: World) -> Starts:
    return Starts(world)


def test_each_start_with_an_arg_left_out_is_recorded_with_its_end(
    world: World, plugin: PluginStimulus, starts: Starts
) -> None:
    plugin.try_left_out_args()
    records = world.of(Tried)
    assert [(record.arg, record.code) for record in records] == [("", 1), ("url", 1), ("window", None)]
    assert {(record.case, *record.log) for record in records} == {(CLAUSE, "its log")}
    assert len(starts.documents) == 3


def test_ill_typed_and_unknown_args_are_recorded_with_their_values(
    world: World, plugin: PluginStimulus, starts: Starts
) -> None:
    plugin.try_ill_typed_args()
    plugin.try_unknown_args()
    *ill_typed, unknown = world.of(Tried)
    assert [record.arg for record in ill_typed] == ["url", "window"]
    for record, document in zip((*ill_typed, unknown), starts.documents, strict=True):
        assert starts._args(document)[record.arg] == record.value
    assert unknown.arg not in starts._args(CONFIGURATION)


@pytest.mark.parametrize("lacking", ["a configuration", "a start"])
def test_a_candidate_that_was_not_started_is_not_tried_again(
    world: World, plugin: PluginStimulus, starts: Starts, lacking: str
) -> None:
    attachment: Any = world.attachment
    attachment.scheduler_names = [SCHEDULER, "another"]
    if lacking == "a start":
        attachment.start_error = CandidateError("it ended", remedy="see its log")
        plugin.try_profiles()
    else:
        attachment.configuration = None
    plugin.try_left_out_args()
    assert (starts.documents, world.of(Tried), world.of(PodCreated)) == ([], [], [])


@pytest.mark.parametrize("names", [[SCHEDULER], [SCHEDULER, "another"]])
def test_each_of_several_profiles_has_to_bind_a_pod(world: World, plugin: PluginStimulus, names: list[str]) -> None:
    attachment: Any = world.attachment
    attachment.scheduler_names, attachment.start_error = names, None
    asked: list[str] = []

    def bind(what: str, pod: dict[str, Any]) -> None:
        if what == "ADDED":
            asked.append(pod["spec"]["schedulerName"])
            world.server.bind(pod["metadata"]["namespace"], pod["metadata"]["name"], NODES[0])

    world.server.controllers["pods"] = [bind]
    plugin.try_profiles()
    assert asked == (names if len(names) > 1 else [])
    assert [record.outcome for record in world.of(Expect)] == ["bound"] * len(asked)
    assert plugin.has_several_profiles is (len(names) > 1)


# -- endpoints


def metrics(*counts: int) -> str:
    """As a scheduler with this many profiles counts what it has scheduled; the first has also refused pods."""
    name = "scheduler_schedule_attempts_total"
    lines = [f'{name}{{profile="{number}",result="scheduled"}} {count}' for number, count in enumerate(counts)]
    return "\n".join([f'{name}{{profile="0",result="unschedulable"}} 99', *lines, ""])


@pytest.fixture
def endpoints(world: World, tmp_path: Path) -> Iterator[Serving]:
    attachment: Any = world.attachment
    with serving(Authority(tmp_path / "authority").server("scheduler")) as server:
        attachment.components = [
            SimpleNamespace(scheduler_port=None), SimpleNamespace(scheduler_port=server.server_port),
        ]  # fmt: skip
        yield server


def answers(world: World) -> list[tuple[str, int]]:
    assert {record.case for record in world.of(EndpointAnswer)} <= {CLAUSE}
    return [(record.path, record.status) for record in world.of(EndpointAnswer)]


def test_its_health_is_requested_anonymously_at_each_path(
    world: World, plugin: PluginStimulus, endpoints: Serving
) -> None:
    endpoints.responses = {path: [(200, "ok")] for path in HEALTH}
    plugin.ask_health()
    assert answers(world) == [(path, 200) for path in HEALTH]
    assert all("authorization" not in request.headers for request in endpoints.requests)


def test_one_unhealthy_response_is_none(world: World, plugin: PluginStimulus, endpoints: Serving) -> None:
    endpoints.responses = {path: [(500, "starting"), (200, "ok")] for path in HEALTH}
    plugin.ask_health()
    assert answers(world) == [(path, 200) for path in HEALTH]


def test_an_unhealthy_scheduler_is_not_asked_at_further_paths(
    world: World, plugin: PluginStimulus, endpoints: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNHEALTHY", dataclasses.replace(module.UNHEALTHY, seconds=0.0))
    endpoints.responses = {HEALTH[0]: [(500, "x" * 10_000)], HEALTH[1]: [(200, "ok")]}
    plugin.ask_health()
    (record,) = world.of(EndpointAnswer)
    assert (record.path, record.status) == (HEALTH[0], 500)
    assert 0 < len(record.answer) < 1000


def test_a_scheduler_that_this_machine_cannot_reach_is_not_asked(
    world: World, plugin: PluginStimulus, endpoints: Serving
) -> None:
    attachment: Any = world.attachment
    attachment.components = attachment.components[:1]
    plugin.ask_health()
    assert (endpoints.requests, answers(world)) == ([], [])


def test_its_metrics_are_read_as_a_scraper_until_they_count_its_pods(
    world: World, plugin: PluginStimulus, endpoints: Serving
) -> None:
    granted: list[tuple[str, Any]] = []
    world.cluster.identity = lambda name, rbac: granted.append((name, rbac.rules))
    pods: Any = [None, None]
    endpoints.responses[METRICS] = [(200, metrics(4, 1))]
    plugin.ask_metrics()
    endpoints.responses[METRICS] = [(200, metrics(5, 1)), (200, metrics(5, 2)), (200, metrics(9, 9))]
    plugin.ask_metrics(after=pods)
    assert [record.counted for record in world.of(EndpointAnswer)] == [5, 7]
    assert {rules[0]["verbs"][0] for _, rules in granted} == {"get"}
    tokens = [request.headers["authorization"].removeprefix("Bearer ") for request in endpoints.requests]
    assert all(map(world.cluster.api.accepts, tokens))


def test_metrics_that_count_nothing_are_recorded_as_such(
    world: World, plugin: PluginStimulus, endpoints: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OWN_METRICS", dataclasses.replace(module.OWN_METRICS, seconds=0.0))
    world.cluster.identity = lambda *_: None
    pods: Any = [None]
    endpoints.responses[METRICS] = [(403, "forbidden")]
    plugin.ask_metrics(after=pods)
    (record,) = world.of(EndpointAnswer)
    assert (record.status, record.counted) == (403, None)


@pytest.mark.parametrize(("text", "scheduled"), [(metrics(3), 3), (metrics(3, 4), 7), (metrics(), None), ("", None)])
def test_pods_of_all_profiles_count_and_those_that_it_refused_do_not(text: str, scheduled: float | None) -> None:
    assert EndpointResponse(200, text).scheduled == scheduled


@pytest.mark.parametrize(("status", "positive"), [(0, False), (199, False), (200, True), (299, True), (300, False)])
def test_a_response_is_positive_as_for_a_kubelet(status: int, positive: bool) -> None:
    assert EndpointResponse(status, "").positive is positive


def test_a_port_at_which_nothing_listens_gives_no_status_but_a_reason() -> None:
    with serving() as server:
        port = server.server_port
    answer = ask(port, "/healthz")
    assert (answer.status, bool(answer.text)) == (0, True)


# -- other schedulers


@pytest.mark.parametrize("broken", [False, True])
def test_beside_the_stock_scheduler_the_lease_of_the_clusters_own_scheduler_is_held(
    world: World, plugin: PluginStimulus, broken: bool
) -> None:
    world.add_namespace("kube-system")
    before = world.server.snapshot()
    with contextlib.suppress(BodyError), plugin.beside_the_stock_scheduler():
        assert world.attachment.acts == ["start control"]
        assert world.server.read("leases", LEASE, "kube-system")["spec"]["holderIdentity"]
        if broken:
            raise BodyError
    assert world.server.snapshot() == before


def test_the_lease_of_a_scheduler_that_runs_is_left_to_it(make_world: Callable[..., World]) -> None:
    world = make_world(capabilities=("default-scheduler",))
    before = world.server.snapshot()
    with of(world).beside_the_stock_scheduler():
        assert world.server.snapshot() == before


@pytest.mark.parametrize(("written", "elects"), [({"resourceName": "its"}, True), ({"leaderElect": False}, False)])
def test_beside_the_stock_scheduler_a_candidate_elects_a_leader_as_its_configuration_says(
    world: World, plugin: PluginStimulus, written: dict[str, Any], elects: bool
) -> None:
    world.add_namespace("kube-system")
    configuration = {"leaderElection": written}
    world.trial.candidate = dataclasses.replace(world.candidate, scheduler_config=configuration)
    with contextlib.suppress(BodyError), plugin.beside_the_stock_scheduler():
        assert world.attachment.leader_election == (written if elects else NO_LEADER_ELECTION)
        raise BodyError
    assert world.attachment.leader_election == NO_LEADER_ELECTION
    assert world.attachment.acts[1:] == ["halt", "resume"] * (2 if elects else 0)


def test_pods_of_the_stock_scheduler_are_not_the_candidates(world: World, plugin: PluginStimulus) -> None:
    world.schedule()
    others = plugin.others(2)
    assert {world.pod(pod)["spec"]["schedulerName"] for pod in others} == {CONTROL}
    for pod in others:
        world.server.bind(pod.namespace, pod.name, NODES[1])
    plugin.await_others(others)
    assert [world.pods.node_of(pod) for pod in others] == [NODES[1]] * 2
    assert world.of(Expect) == []


def test_a_pod_of_a_daemon_set_names_no_scheduler_and_its_node_by_affinity(
    world: World, plugin: PluginStimulus
) -> None:
    spec = world.pod(plugin.daemon(NODES[1]))["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchFields"][0]["values"] == [NODES[1]]
    assert (spec.get("schedulerName"), spec["priorityClassName"]) == (None, "system-node-critical")


@pytest.mark.parametrize(("name", "replaces"), [("default-scheduler", True), (SCHEDULER, False)])
def test_a_candidate_replaces_the_default_by_its_name(
    world: World, plugin: PluginStimulus, name: str, replaces: bool
) -> None:
    attachment: Any = world.attachment
    attachment.scheduler_names = [name]
    assert plugin.replaces_default is replaces
