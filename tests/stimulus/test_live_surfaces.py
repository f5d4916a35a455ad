"""Questions about scores to a running candidate: what it is given before each, and where its scores are found."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.kinds import ExtenderConfig, ExtenderSpec, PluginSpec, Spec
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.http import connect, exchange
from schedproof.foundation.processes.ports import Ports
from schedproof.history.acts import PodCreated
from schedproof.normalization.answer import Answer, Surface
from schedproof.normalization.surfaces.life import Lives
from schedproof.proxies.exchanges import describe_extender_call
from schedproof.proxies.taps import Tap
from schedproof.stimulus.scoring import live_surfaces
from schedproof.stimulus.scoring.live_surfaces import LiveSurfaces

from .played_traffic import CLAIMS, RECEIVED, Traffic
from .serving import Serving, serving
from .world import NAMESPACE, NODES, SCHEDULER, World

PLUGIN = PluginSpec(package="/its/folder", name="Quiet")
CONFIG = ExtenderConfig(prioritize_verb="prioritize", node_cache_capable=True)
EXTENDER = ExtenderSpec(("extender",), Path(), config=CONFIG)
WEIGHT = 2
CONFIGURATION = {
    "profiles": [
        {"schedulerName": SCHEDULER, "plugins": {"multiPoint": {"enabled": [{"name": "Quiet", "weight": WEIGHT}]}}}
    ]
}
READINGS = tuple(zip(NODES, (5e6, 1e6), strict=True))


class Process:
    """A process of the candidate, whose end is known some readings of its exit code after it was ended."""

    name = "scheduler"

    def __init__(self) -> None:
        self.ended = False
        self._unknown = 3

    @property
    def exit_code(self) -> int | None:
        if self.ended:
            self._unknown -= 1
        return 2 if self._unknown < 0 else None

    def exit_error(self) -> CandidateError | None:
        return None if self.exit_code is None else CandidateError("it ended", remedy="see its log")

    def log_tail(self, _: int) -> str:
        return "its last line"


class Running:
    """A candidate's scheduler: it decides on each pod as it is created, and logs that.

    `scores` are the plugin's, by node; with fewer than two, nothing is scored. Its log is complete after `late` more
    readings of it.
    """

    def __init__(self, traffic: Traffic, folder: Path) -> None:
        self.traffic, self.world = traffic, traffic.world
        self.scores: dict[str, int] = {"node-1": 0, "node-2": 100}
        self.late = 0
        self.logs = True
        self.process = Process()
        self.pending = ""
        self.revived = 0
        attachment: Any = self.world.attachment
        attachment.configuration, attachment.start_error, attachment.extender = CONFIGURATION, None, None
        attachment.components = [self.process]
        attachment.catch_up, attachment.restart_if_ended = self._catch_up, self._revive
        self.restart(folder / "first.log")
        self.live = LiveSurfaces(self.world.context, traffic.load, self.world.pods, self.world.status)

    def restart(self, log: Path) -> None:
        log.touch()
        self.log = log
        attachment: Any = self.world.attachment
        attachment.scheduler_log = log

    def _revive(self) -> None:
        self.revived += 1

    def _catch_up(self) -> None:
        if self.late:
            self.late -= 1
            return
        with self.log.open("a") as file:
            file.write(self.pending)
        self.pending = ""

    def panic(self) -> None:
        """End at the next pod."""

        def end(what: str, _: Any) -> None:
            if what == "ADDED":
                self.pending += 'E0101 "Observed a panic" panic="it is nil"\n'
                self.process.ended = True

        self.world.server.controllers.setdefault("pods", []).append(end)

    def schedule(self) -> None:
        self.world.server.controllers.setdefault("pods", []).append(self._decide)

    def _decide(self, what: str, pod: dict[str, Any]) -> None:
        if what != "ADDED":
            return
        name = f"{NAMESPACE}/{pod['metadata']['name']}"
        for node, score in self.scores.items() if len(self.scores) > 1 else ():
            self._say(f'"Plugin scored node for pod" pod="{name}" plugin="Quiet" node="{node}" score={WEIGHT * score}')
            self._say(f'"Calculated node\'s final score for pod" pod="{name}" node="{node}" score={WEIGHT * score}')
        self._say(f'"Plugin scored node for pod" pod="a/b" plugin="Quiet" node="node-1" score={50 * WEIGHT}')
        best = max(self.scores, key=lambda node: self.scores[node])
        self.world.server.bind(NAMESPACE, pod["metadata"]["name"], best)
        self._say(f'"Successfully bound pod to node" pod="{name}" node="{best}" feasibleNodes={len(self.scores)}')

    def _say(self, line: str) -> None:
        if self.logs:
            self.pending += f"I0101 {line}\n"

    @property
    def surface(self) -> Surface:
        (surface,) = (one for one in self.live.surfaces if one.name == "scheduler")
        return surface


Maker = Callable[[Spec], Running]


@pytest.fixture
def running(make_world: Callable[..., World], tmp_path: Path) -> Iterator[Maker]:
    with contextlib.ExitStack() as stack:

        def make(spec: Spec = PLUGIN) -> Running:
            made = Running(Traffic(make_world(network=CLAIMS, spec=spec)), tmp_path)
            stack.callback(made.live.close)
            return made

        yield make


@pytest.fixture
def plugin(running: Maker) -> Running:
    return running(PLUGIN)


def names(live: LiveSurfaces) -> list[str]:
    return [surface.name for surface in live.surfaces]


# -- the surfaces of a candidate


def test_a_compiled_scheduler_is_asked_by_pods(plugin: Running) -> None:
    assert names(plugin.live) == ["scheduler"]
    assert plugin.live.surfaces is plugin.live.surfaces


@pytest.mark.parametrize("lacking", ["a second node", "a configuration", "a start"])
def test_a_scheduler_that_scores_nothing_is_no_surface(plugin: Running, lacking: str) -> None:
    attachment: Any = plugin.world.attachment
    if lacking == "a second node":
        plugin.live.asked_nodes = NODES[:1]
    elif lacking == "a configuration":
        attachment.configuration = None
    else:
        attachment.start_error = CandidateError("it ended", remedy="see its log")
    assert names(plugin.live) == []


@pytest.mark.parametrize(
    ("config", "tapped", "found"),
    [(CONFIG, True, ["extender", "scheduler"]), (CONFIG, False, []), (ExtenderConfig(filter_verb="filter"), True, [])],
)
def test_an_extender_is_asked_directly_and_by_pods(
    running: Maker, config: ExtenderConfig, tapped: bool, found: list[str]
) -> None:
    candidate = running(dataclasses.replace(EXTENDER, config=config))
    attachment: Any = candidate.world.attachment
    attachment.extender = SimpleNamespace(connect=None) if tapped else None
    assert names(candidate.live) == found


@pytest.mark.parametrize(("refresh", "takes"), [(0.0, False), (1.0, True)])
def test_new_readings_take_time_if_they_are_polled(plugin: Running, refresh: float, takes: bool) -> None:
    plugin.traffic.load.claims = dataclasses.replace(CLAIMS, refresh=refresh)
    assert plugin.live.news_takes_time is takes


def test_new_readings_take_time_if_earlier_ones_may_be_remembered(plugin: Running) -> None:
    for look_back, takes in ((CLAIMS.window, False), (0.0, True)):
        plugin.world.trial.queries.look_back = lambda _, seconds=look_back: seconds
        assert plugin.live.news_takes_time is takes


# -- readings


def test_a_question_gives_the_candidate_its_readings_on_a_prometheus_that_is_ready(plugin: Running) -> None:
    plugin.live.script_prometheus((("node-1", 5e6), ("node-2", None)))
    assert plugin.traffic.rates() == {"node-1": 5e6}
    counter = plugin.traffic.script.counters[RECEIVED, "eth0"]["node-1"]
    assert (counter.start_value, counter.phases[0][0] % 1) == (0.0, 0.0)
    plugin.live.script_prometheus(READINGS)
    assert plugin.traffic.rates() == dict(READINGS)
    first, second = "http://scripted-0", "http://scripted-1"
    assert plugin.traffic.acts[3:] == [("ready", second), ("script", second), ("lead to", second), ("close", first)]


def test_readings_may_be_given_another_way_after_the_surfaces_were_made(plugin: Running) -> None:
    given: list[Any] = []
    plugin.schedule()
    surface = plugin.surface
    plugin.live.script_readings = given.append
    surface.ask(READINGS)
    assert (given, plugin.traffic.acts) == ([READINGS], [])


# -- pods


def test_the_scores_for_a_pod_that_may_go_to_the_nodes_in_question_are_its_answer(plugin: Running) -> None:
    plugin.schedule()
    asked: list[Any] = []
    plugin.world.server.controllers["pods"].append(lambda what, pod: asked.append(pod) if what == "ADDED" else None)
    assert plugin.surface.ask(READINGS) == Answer(scores=(("node-1", 0), ("node-2", 100)))
    (pod,) = asked
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [term["matchFields"][0]["values"] for term in required["nodeSelectorTerms"]] == [[node] for node in NODES]
    assert [record.role for record in plugin.world.of(PodCreated)] == ["scored"]
    assert (plugin.world.server.names("pods"), plugin.revived) == ([], 1)


def test_a_log_that_is_behind_its_process_is_waited_for(plugin: Running) -> None:
    plugin.schedule()
    plugin.late = 3
    assert plugin.surface.ask(READINGS).scores == (("node-1", 0), ("node-2", 100))


def test_a_log_that_names_no_binding_has_no_scores(plugin: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_surfaces, "REACTION", dataclasses.replace(live_surfaces.REACTION, seconds=0.0))
    plugin.schedule()
    plugin.logs = False
    answer = plugin.surface.ask(READINGS)
    assert (answer.scores, bool(answer.refusal)) == ((), True)


def test_a_node_that_is_left_alone_is_not_scored(plugin: Running) -> None:
    plugin.scores = {"node-2": 7}
    plugin.schedule()
    assert plugin.surface.ask(READINGS) == Answer(scores=(("node-2", 100),), filtered=("node-1",))


@pytest.mark.parametrize(("reason", "filtered"), [("Unschedulable", NODES), ("SchedulerError", ())])
def test_a_pod_that_is_not_bound_is_filtered_or_refused(
    plugin: Running, reason: str, filtered: tuple[str, ...]
) -> None:
    plugin.world.refuse(reason)
    answer = plugin.surface.ask(READINGS)
    assert (answer.filtered, answer.scores, bool(answer.refusal)) == (filtered, (), not filtered)


def test_a_scheduler_that_panics_has_ended_even_if_it_has_bound_the_pod(plugin: Running) -> None:
    plugin.panic()
    plugin.schedule()
    answer = plugin.surface.ask(READINGS)
    assert "its last line" in answer.crash
    assert answer.scores == ()


def test_a_panic_of_an_earlier_pod_is_not_that_of_the_next(
    plugin: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.panic()
    plugin.schedule()
    assert plugin.surface.ask(READINGS).crash
    monkeypatch.setattr(Lives, "wait_end", lambda _: pytest.fail("it runs"))
    attachment: Any = plugin.world.attachment
    attachment.components = [Process()]
    plugin.world.server.controllers["pods"] = []
    plugin.schedule()
    assert plugin.surface.ask(READINGS) == Answer(scores=(("node-1", 0), ("node-2", 100)))
    plugin.restart(tmp_path / "second.log")
    plugin.scores = {"node-1": 100, "node-2": 50}
    assert plugin.surface.ask(READINGS).scores == (("node-1", 100), ("node-2", 50))


# -- an extender, by pods


class Called:
    """kube-scheduler, which calls an extender for each pod over its tap, and binds the pod if that responds well.

    `ends`: whether the extender ends after its response.
    """

    ends = False

    def __init__(self, candidate: Running, server: Serving, port: int) -> None:
        self.candidate, self.server = candidate, server

        def record(call: Any) -> None:
            candidate.world.recorder.note("extender", **describe_extender_call(call, CONFIG.recorded()))

        self.tap = Tap(server.url, record, port)
        attachment: Any = candidate.world.attachment
        attachment.extender = self.tap
        candidate.scores = {"node-2": 0}  # which is not the extender's
        candidate.world.server.controllers["pods"] = [self._call]

    def _call(self, what: str, pod: dict[str, Any]) -> None:
        if what != "ADDED":
            return
        question = json.dumps({"Pod": pod, "NodeNames": list(NODES)}).encode()
        status, _ = exchange(connect(self.tap.url, 30.0), "POST", "/prioritize", question)
        if self.ends:
            self.tap.upstream = self.tap.upstream.replace(str(self.server.server_port), "1")
            self.candidate.process.ended = True
        if status == 200:
            self.candidate._decide(what, pod)
        else:
            self.candidate.world._refuse(pod["metadata"], "SchedulerError")


@pytest.fixture
def called(running: Maker) -> Iterator[Called]:
    candidate = running(EXTENDER)
    with contextlib.closing(Ports()) as ports, serving() as server:
        stimulus = Called(candidate, server, ports.reserve())
        yield stimulus
        stimulus.tap.close()


def test_an_extenders_scores_are_those_that_kube_scheduler_got(called: Called) -> None:
    candidate, server = called.candidate, called.server
    server.responses["/prioritize"] = [(200, '[{"Host": "node-1", "Score": 3}, {"Host": "node-2", "Score": 10}]')]
    closed: list[str] = []
    for surface in candidate.live.surfaces:
        surface.close = lambda name=surface.name: closed.append(name)  # type: ignore[method-assign, misc]
    assert candidate.surface.ask(READINGS) == Answer(scores=(("node-1", 3), ("node-2", 10)))
    assert closed == ["extender"], "kube-scheduler may need its connection"
    del closed[:]
    candidate.live.close()
    assert closed == ["extender", "scheduler"]


def test_an_extender_that_failed_and_responds_again_has_refused(called: Called) -> None:
    candidate, server = called.candidate, called.server
    server.responses["/prioritize"] = [(500, "no")]
    answer = candidate.surface.ask(READINGS)
    assert (answer.crash, answer.scores, bool(answer.refusal)) == ("", (), True)


def test_an_extender_that_failed_and_ended_has_crashed(called: Called) -> None:
    candidate, server = called.candidate, called.server
    server.responses["/prioritize"] = [(500, "no")]
    called.ends = True
    assert "its last line" in candidate.surface.ask(READINGS).crash
