"""Probes of the preference for quiet nodes: how many there are, when they are repeated, and what is recorded."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.timing import RECOVERY
from schedproof.clusters.api import Api, ApiError
from schedproof.foundation.deadlines import OBJECT_SHOWN, Deadline
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import Accepted, Expect, Missed, NodesLoad, PodCreated, Reading, Tolerates
from schedproof.history.observations import PrometheusQuery
from schedproof.judge.rulings.late import PATIENCE
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.traffic import own_placements, preference
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.traffic.preference import PreferenceProbes
from schedproof.stimulus.trial import CONTROL

from .played_traffic import CLAIMS, LOAD, Traffic
from .world import CLAUSE, NAMESPACE, NODES, SCHEDULER, TOO_LATE, World

QUIET, LOUD = NODES
TOLERATION = {"key": "is", "operator": "Exists"}
ENOUGH = 3
"""Right answers in a row that a random choice does not give."""


class Probes:
    """Probes of a candidate that binds the next pod to the next of `choices`, and from then on each to `usual`."""

    def __init__(self, world: World) -> None:
        assert world.candidate.claims.network is not None
        self.world, self.traffic = world, Traffic(world, world.candidate.claims.network)
        world.trial.usable_time = SimpleNamespace(let_pass=lambda _: None, begin=world.trial.usable_time.begin)
        self.choices: list[str] = []
        self.usual = QUIET
        self.control: list[str] = []
        """The choices of the control; then it is right."""
        self.beside: list[int] = []
        """How many pods there were when each was decided on."""
        self.readings: list[dict[str, float]] = []
        """The next results of queries; then the load itself."""
        world.trial.start_control = lambda: None
        world.trial.readers = SimpleNamespace(at=lambda _: SimpleNamespace(traffic=self._reading))
        self.probes = PreferenceProbes(
            world.context, self.traffic.load, world.pods, world.expect, world.status, Chance(nodes=1000)
        )
        self.traffic.load.script(LOAD)

    def schedule(self) -> None:
        self.world.schedule(self._choose)
        self.world.server.controllers["pods"].append(self._control)

    def _choose(self, _: Any) -> str:
        self.beside.append(len(self.world.server.names("pods")))
        return self.choices.pop(0) if self.choices else self.usual

    def _control(self, what: str, pod: dict[str, Any]) -> None:
        if what == "ADDED" and pod["spec"]["schedulerName"] == CONTROL:
            self.world.server.bind(NAMESPACE, pod["metadata"]["name"], self.control.pop(0) if self.control else QUIET)

    def _reading(self, _query: str, _moment: float) -> dict[str, float]:
        return self.readings.pop(0) if self.readings else self.traffic.load.phases[-1]

    def roles(self, *roles: str) -> list[str]:
        return [record.role for record in self.world.of(PodCreated) if record.role in roles]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The moments that were waited for, except for loads."""
    moments: list[float] = []
    monkeypatch.setattr(preference, "until", moments.append)
    monkeypatch.setattr(own_placements, "until", moments.append)
    return moments


@pytest.fixture
def make(make_world: Callable[..., World], waits: list[float]) -> Callable[..., Probes]:
    def made(timing: Any = None, **claims: Any) -> Probes:
        options = {} if timing is None else {"timing": timing}
        return Probes(make_world(network=dataclasses.replace(CLAIMS, **claims), **options))

    return made


@pytest.fixture
def probing(make: Callable[..., Probes]) -> Probes:
    made = make()
    made.schedule()
    return made


# -- one probe after the other


def test_probes_follow_each_other_and_the_control_until_it_is_wrong(probing: Probes, waits: list[float]) -> None:
    probing.control = [QUIET, LOUD]
    probing.probes.probe(0, 3)
    assert probing.roles("probe", "control") == ["probe"] * 3 + ["control"] * 2
    assert probing.beside == [1] * 3, "each was deleted before the next"
    probing.probes.probe(0, 2)
    assert probing.roles("probe", "control")[5:] == ["probe"] * 2, "the control has shown enough"
    assert (probing.world.server.names("pods"), waits) == ([], [])
    created = [record for record in probing.world.of(PodCreated) if record.role == "probe"]
    assert {(record.case, record.phase) for record in created} == {(CLAUSE, 0)}
    readings = probing.world.of(Reading)
    assert [(record.pod, record.traffic) for record in readings] == [(record.pod, LOAD) for record in created]


def test_the_control_is_asked_no_more_often_than_the_candidate(probing: Probes) -> None:
    probing.probes.probe(0, 2)
    assert probing.roles("control") == ["control"] * 2


def test_pods_of_other_namespaces_have_other_owners(probing: Probes) -> None:
    probing.world.add_namespace("other")
    here, there = probing.probes.ask("probe", 0), probing.probes.ask("probe", 0, namespace="other")
    (owner,) = probing.world.pod(here)["metadata"]["ownerReferences"]
    assert probing.world.server.read("configmaps", owner["name"], NAMESPACE)["metadata"]["uid"] == owner["uid"]
    owners = probing.world.pod(there)["metadata"].get("ownerReferences", ())
    assert owner["uid"] not in [other["uid"] for other in owners]
    probing.probes.undo()
    assert probing.world.server.names("configmaps") == []


# -- probes that go elsewhere


@pytest.mark.parametrize("own", [None, "counted"])
def test_probes_start_over_with_pauses_where_earlier_ones_may_explain_a_wrong_choice(
    make: Callable[..., Probes], waits: list[float], own: Any
) -> None:
    probing = make(own_placements=own)
    probing.schedule()
    probing.choices = [QUIET, LOUD]
    probing.probes.seek(0, 3, QUIET)
    assert len(probing.roles("probe")) == 2 + 3 + 2
    assert len(waits) == 3 + 2
    assert probing.world.trial.probes_apart


def test_a_single_probe_that_went_elsewhere_is_no_proof_that_placements_count(
    probing: Probes, waits: list[float]
) -> None:
    probing.choices = [QUIET, LOUD]
    probing.probes.seek(0, 3, QUIET)
    first = len(waits)
    assert first
    probing.probes.seek(0, 3, QUIET)
    assert len(waits) == first, "the next probes show that placements do not count"
    probing.probes.seek(0, 3, QUIET)
    probing.probes.keep_apart()
    assert (len(waits), probing.world.trial.probes_apart) == (first, False)


def test_a_second_probe_that_went_elsewhere_is_proof(probing: Probes, waits: list[float]) -> None:
    for _ in range(2):
        probing.choices = [QUIET, LOUD]
        probing.probes.seek(0, 3, QUIET)
    before = len(waits)
    probing.probes.seek(0, 3, QUIET)
    assert len(waits) == before + 3, "before every probe"
    assert probing.world.trial.placements_count


@pytest.mark.parametrize(("own", "apart"), [(None, False), ("counted", True)])
def test_probes_that_are_wrong_with_pauses_too_settle_the_case(
    make: Callable[..., Probes], waits: list[float], own: Any, apart: bool
) -> None:
    probing = make(own_placements=own)
    probing.schedule()
    probing.choices, probing.usual = [QUIET], LOUD
    probing.probes.seek(0, 3, QUIET)
    assert len(probing.roles("probe")) == 2 + 3 + 2
    assert len(waits) == 1
    assert probing.world.trial.probes_apart is apart, "the next case begins anew"


def test_placements_that_count_nothing_explain_nothing(make: Callable[..., Probes], waits: list[float]) -> None:
    probing = make(own_placements="ignored")
    probing.schedule()
    probing.usual = LOUD
    probing.probes.seek(0, 3, QUIET)
    assert (len(probing.roles("probe")), waits) == (3, [])


@pytest.mark.parametrize("spare", [None, 0, 1])
def test_probes_that_came_late_are_repeated_as_often_as_there_are_spares(
    probing: Probes, waits: list[float], spare: int | None
) -> None:
    recorder = probing.world.recorder

    def ask() -> Any:
        pod = probing.probes.ask("probe", 0)
        recorder.add(PrometheusQuery(
            at=recorder.now(), request="up", path="/", status=200, answer="", seconds=4 * PATIENCE,
        ))  # fmt: skip
        return pod

    probing.probes.seek(0, 2, QUIET, ask=ask, spare=spare)
    repeated = 2 if spare is None else spare
    assert len(probing.roles("probe")) == 2 + repeated
    assert len(waits) == repeated, "the candidate has had time to recover before each"


def test_probes_whose_packets_were_late_are_repeated(probing: Probes) -> None:
    probing.traffic.load.sends_packets = True
    probing.world.cluster.scrape_interval = 60.0
    close = {QUIET: 1000.0, LOUD: 1050.0}
    probing.readings = [LOAD, {QUIET: 2.0, LOUD: 1.0}, close, LOAD]
    probing.probes.seek(0, 2, QUIET)
    assert len(probing.roles("probe")) == 2 + 2
    assert len(probing.world.of(Reading)) == 2 * 4, "at the beginning and at the end of each"


# -- probes that wait


def test_waiting_probes_are_released_one_by_one_and_spares_are_deleted(make: Callable[..., Probes]) -> None:
    probing = make()

    def decide(what: str, pod: dict[str, Any]) -> None:
        tolerated = TOLERATION["key"] in {one.get("key") for one in pod["spec"].get("tolerations") or ()}
        if what == "DELETED" or pod["spec"].get("nodeName"):
            return
        if tolerated:
            probing.world.server.bind(NAMESPACE, pod["metadata"]["name"], QUIET)
        elif what == "ADDED":
            probing.world._refuse(pod["metadata"], "Unschedulable")

    probing.world.server.controllers["pods"] = [decide]
    waiting = probing.probes.waiting_probes(2, TOLERATION)
    assert all(probing.world.pods.node_of(pod) == "" for pod in waiting)
    probing.probes.release(waiting, 0, 2, TOLERATION)
    tolerating = probing.world.of(Tolerates)
    assert [(record.uid, record.phase) for record in tolerating] == [(pod.uid, 0) for pod in waiting[:2]]
    assert len(waiting) > 2
    assert not {pod.name for pod in waiting} & {*probing.world.server.names("pods")}
    assert [record.outcome for record in probing.world.of(Expect) if record.uid == waiting[2].uid] == ["pending"]


# -- probes whose Bindings are refused


class Stubborn:
    """A candidate that decides by the last load, and posts a Binding until it is accepted."""

    def __init__(self, probing: Probes, pool: concurrent.futures.Executor) -> None:
        self._probing, self._pool = probing, pool
        self._api = Api(probing.world.server.url, None, token=SCHEDULER)
        self.usual = min
        probing.schedule()
        probing.world.server.controllers["pods"][0] = self._begin

    def _begin(self, what: str, pod: dict[str, Any]) -> None:
        if what == "ADDED" and pod["spec"]["schedulerName"] == SCHEDULER:
            self._pool.submit(self._bind, pod["metadata"]["name"])

    def _bind(self, pod: str) -> None:
        def bound() -> None:
            load = self._probing.traffic.load.phases[-1]
            try:
                self._api.bind(NAMESPACE, pod, self.usual(load, key=load.__getitem__))
            except ApiError as refused:
                raise NotYet(refused.message) from refused

        wait_for(bound, OBJECT_SHOWN, what="a Binding to be accepted")


@contextlib.contextmanager
def refusing(probing: Probes, folder: Path) -> Iterator[tuple[Stubborn, Any]]:
    with concurrent.futures.ThreadPoolExecutor() as pool, contextlib.closing(Ports()) as ports:
        probing.world.cluster.callback_address = "127.0.0.1"
        probing.world.cluster.host = SimpleNamespace(ports=ports, sandbox=SimpleNamespace(scratch=folder))
        candidate = Stubborn(probing, pool)
        with CandidateChanges(probing.world.context, probing.world.expect).hold_bindings() as gate:
            yield candidate, gate


LATER = {QUIET: 3000.0, LOUD: 1000.0}


def loads(world: World) -> list[dict[str, float]]:
    return [record.traffic for record in world.of(NodesLoad)]


def test_refused_probes_are_accepted_together_once_the_load_is_another(
    make: Callable[..., Probes], tmp_path: Path
) -> None:
    probing = make()
    with refusing(probing, tmp_path) as (_, gate):
        probing.probes.refused_probes(gate, LATER, 3)
    assert probing.roles("together", "refused") == ["together"] * 3
    assert {(record.case, record.phase) for record in probing.world.of(Accepted)} == {(CLAUSE, 1)}
    assert loads(probing.world) == [LOAD, LATER]
    assert len(probing.roles("control")) == 1, "it is wrong at once"
    assert probing.world.server.names("pods") == []


def test_refused_probes_come_alone_if_traffic_only_breaks_ties(make: Callable[..., Probes], tmp_path: Path) -> None:
    probing = make(priority="tie-breaker")
    with refusing(probing, tmp_path) as (_, gate):
        probing.probes.refused_probes(gate, LATER, 2)
    assert probing.roles("together", "refused") == ["refused"] * 2
    assert loads(probing.world) == [LOAD, LATER, LOAD, LATER]


def test_refused_probes_that_go_elsewhere_come_again_alone(
    make: Callable[..., Probes], waits: list[float], tmp_path: Path
) -> None:
    probing = make()
    with refusing(probing, tmp_path) as (candidate, gate):
        candidate.usual = max
        probing.probes.refused_probes(gate, LATER, 2)
    assert probing.roles("together", "refused") == ["together"] * 2 + ["refused"] + ["together"] * 3
    assert len(waits) == 1


# -- outages


@pytest.mark.parametrize(("claimed", "deadline"), [(7.0, RECOVERY), (None, "requeue")])
def test_pods_are_bound_in_the_claimed_time_after_an_outage(
    make: Callable[..., Probes], claimed: float | None, deadline: str
) -> None:
    probing = make(recovers_within=claimed)
    probing.schedule()
    probing.probes.expect_recovered([probing.world.pods.create()])
    (record,) = probing.world.of(Expect)
    assert record.deadline == deadline
    assert record.within == (claimed or probing.world.context.deadlines.requeue.seconds)


def test_a_preference_is_back_after_as_many_right_choices_in_a_row_as_chance_does_not_give(
    make: Callable[..., Probes],
) -> None:
    probing = make(recovers_within=600.0)
    probing.schedule()
    probing.choices = [LOUD, QUIET, QUIET, LOUD]
    assert probing.probes.await_recovery(0)
    assert len(probing.roles("recovery")) == 4 + ENOUGH
    assert probing.world.server.names("pods") == []


def test_before_the_claimed_time_is_over_no_pod_is_created_that_could_still_count(
    make: Callable[..., Probes], waits: list[float]
) -> None:
    counting = CLAIMS.counting
    probing = make(recovers_within=counting + 0.2)
    probing.schedule()
    probing.usual = LOUD
    assert not probing.probes.await_recovery(0)
    assert probing.roles("recovery")
    assert len(waits) == 2, "for the claimed time, and for the last pod to count no longer"


def test_a_recovery_in_no_time_is_not_awaited(make: Callable[..., Probes]) -> None:
    probing = make()
    assert not probing.probes.await_recovery(0)
    assert probing.roles("recovery") == []


def test_pods_that_are_not_reported_in_an_outage_are_missed(make: Callable[..., Probes]) -> None:
    probing = make(timing=TOO_LATE)
    world = probing.world
    silent = world.pods.create()
    world.refuse()
    reported = world.pods.create()
    world.await_shown(lambda: world.pods.is_reported(reported), "the condition")
    probing.probes.await_refusal([reported])
    assert world.of(Missed) == []
    probing.probes.await_refusal([silent])
    assert len(world.of(Missed)) == 1


@pytest.mark.parametrize(
    ("claims", "pauses", "awaited"),
    [
        ({"refresh": 1.0, "recovers_within": 10.0}, [2.0, 4.0, 8.0, 16.0, 19.5], 5),
        ({"refresh": 1.0, "recovers_within": 10.0}, [1.0] * 9, 3),
        ({"refresh": 1.0, "recovers_within": 10.0}, [2.0, 4.0, 4.0, 8.0], 4),
        ({"refresh": 1.0, "recovers_within": 10.0}, [2.0, 21.0, 42.0], 2),
        ({"refresh": 0.0, "recovers_within": 10.0}, [1.0], 0),
        ({"refresh": 1.0}, [1.0], 0),
    ],
)
def test_an_outage_lasts_while_pauses_between_queries_grow_until_the_claimed_recovery(
    make: Callable[..., Probes], monkeypatch: pytest.MonkeyPatch, claims: Any, pauses: list[float], awaited: int
) -> None:
    probing = make(**claims)
    recorder = probing.world.recorder
    gaps = iter([0.0, *pauses])
    asked = [100.0]

    def patiently(probe: Any, deadline: Deadline, _what: str) -> bool:
        """Let queries come until the probe succeeds, or until a pause is too long."""
        while (gap := next(gaps)) <= deadline.seconds:
            asked.append(asked[-1] + gap)
            recorder.add(PrometheusQuery(
                at=asked[-1], request="up", path="/", status=0, answer="", seconds=0.0, fault="down",
            ))  # fmt: skip
            with contextlib.suppress(NotYet):
                probe()
                return True
        return False

    monkeypatch.setattr(probing.world.expect, "patiently", patiently)
    recorder.add(PrometheusQuery(at=99.0, request="up", path="/", status=200, answer="", seconds=0.0))
    probing.traffic.load.broken_at = 100.0
    probing.probes.outlast_back_off()
    assert len(asked) - 1 == awaited
