"""The scheduler surface: a candidate's own scores, read from records about a pod."""

from __future__ import annotations

import http.client
import math
import socket
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schedproof.candidate.kinds import ExtenderConfig
from schedproof.foundation.errors import UsageError
from schedproof.foundation.processes.last_words import last_words
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.surfaces.life import Lives
from schedproof.normalization.surfaces.scheduler import (
    ExtenderScores,
    Outcome,
    PluginScores,
    SchedulerSurface,
    Scores,
    confined,
    plugin_scores,
)
from schedproof.stimulus.scoring.live_surfaces import HIGHEST_RATE, counter_of

ASKED = ("a", "b")


def logged(**scores: dict[str, int]) -> list[dict[str, Any]]:
    """Log entries of scores, given by scorer and node."""
    return [
        {"pod": "mine/p", "scorer": scorer, "node": node, "score": score}
        for scorer, of in scores.items()
        for node, score in of.items()
    ]


def call(verb: str, **fields: Any) -> dict[str, Any]:
    return {
        "request": verb, "asked": list(ASKED), "answered": None, "scores": None, "error": "", "json": True,
        "status": 200, "answer": "", **fields,
    }  # fmt: skip


# -- plugins

PLUGIN = PluginScores("Quiet", 2000)


def test_plugin_scores_are_divided_by_the_weight() -> None:
    scores = logged(TaintToleration={"a": 300, "b": 300}, Quiet={"b": 0, "a": 200_000}, total={"a": 1, "b": 1})
    found = PLUGIN.answer(ASKED, Outcome(node="a", scores=scores))
    assert found == Answer(scores=(("b", 0), ("a", 100)))
    assert all(isinstance(score, int) for _, score in found.scores)


def test_score_that_is_no_multiple_of_the_weight_is_not_rounded() -> None:
    scores = logged(Quiet={"a": 3000}, total={"a": 3000})
    assert PLUGIN.answer(("a",), Outcome(node="a", scores=scores)) == Answer(scores=(("a", 1.5),))


def test_plugin_that_skips_prefers_no_node() -> None:
    scores = logged(TaintToleration={"a": 300, "b": 300}, total={"a": 300, "b": 300})
    assert PLUGIN.answer(ASKED, Outcome(node="a", scores=scores)) == Answer(scores=(("a", 100), ("b", 100)))


def test_node_without_a_score_was_filtered() -> None:
    scores = logged(Quiet={"a": 200_000, "c": 0}, total={"a": 1, "c": 1})
    found = PLUGIN.answer((*ASKED, "c"), Outcome(node="a", scores=scores))
    assert found == Answer(scores=(("a", 100), ("c", 0)), filtered=("b",))


def test_only_feasible_node_has_the_highest_score() -> None:
    assert PLUGIN.answer(ASKED, Outcome(node="b", feasible=1)) == Answer(scores=(("b", 100),), filtered=("a",))


@pytest.mark.parametrize("scores", [PluginScores("Quiet", 1), ExtenderScores(ExtenderConfig(filter_verb="filter"))])
def test_unschedulable_pod_has_all_nodes_filtered(scores: Scores) -> None:
    outcome = Outcome(message="0/2 nodes are available", unschedulable=True, calls=[call("filter", answered=[])])
    assert scores.answer(ASKED, outcome) == Answer(filtered=ASKED)


@pytest.mark.parametrize(
    ("outcome", "refusal"),
    [
        (Outcome(message='plugin "Quiet" returns an invalid score 101'), 'plugin "Quiet" returns an invalid score 101'),
        (Outcome(), "the pod was not bound, and its condition gives no reason"),
        (Outcome(node="a"), "no scores are on record, though the pod was bound"),
        (Outcome(node="a", feasible=2), "no scores are on record, though the pod was bound"),
    ],
)
def test_pod_without_scores_is_a_refusal(outcome: Outcome, refusal: str) -> None:
    assert PLUGIN.answer(ASKED, outcome) == Answer(refusal=refusal)


def test_last_of_two_attempts_counts() -> None:
    scores = [*logged(Quiet={"a": 0}, total={"a": 0}), *logged(Quiet={"a": 2000}, total={"a": 2000})]
    assert PLUGIN.answer(("a",), Outcome(node="a", scores=scores)) == Answer(scores=(("a", 1),))


def configuration(points: dict[str, Any], scheduler_name: str = "mine") -> dict[str, Any]:
    return {"profiles": [{"schedulerName": "other"}, {"schedulerName": scheduler_name, "plugins": points}]}


@pytest.mark.parametrize(
    ("points", "plugin", "expected"),
    [
        ({"multiPoint": {"enabled": [{"name": "Quiet", "weight": 2000}]}}, "Quiet", ("Quiet", 2000)),
        ({"multiPoint": {"enabled": [{"name": "Quiet"}]}}, "", ("Quiet", 1)),
        ({"score": {"enabled": [{"name": "Quiet", "weight": 0}]}}, "", ("Quiet", 1)),
        (
            {
                "multiPoint": {"enabled": [{"name": "Quiet", "weight": 5}]},
                "score": {"enabled": [{"name": "NodeName"}, {"name": "Quiet", "weight": 7}], "disabled": [{}]},
            },
            "", ("Quiet", 7),
        ),
        ({"score": {"enabled": [{"name": "Quiet"}, {"name": "Loud"}]}}, "Loud", ("Loud", 1)),
        ({"score": {"enabled": [{"name": "Quiet"}, {"name": "Loud"}]}}, "", None),
        ({"filter": {"enabled": [{"name": "Quiet"}]}}, "", None),
        ({"score": {"enabled": [{"name": "NodeName"}]}}, "", None),
        ({"score": None}, "Quiet", None),
        ({}, "", None),
    ],
)  # fmt: skip
def test_weight_of_a_plugin_is_read_from_the_configuration(
    points: dict[str, Any], plugin: str, expected: tuple[str, int] | None
) -> None:
    assert plugin_scores(configuration(points), "mine", plugin) == (PluginScores(*expected) if expected else None)


def test_profile_without_a_name_is_the_default_scheduler() -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Quiet", "weight": 3}]}}}
    assert plugin_scores({"profiles": [profile]}, "default-scheduler") == PluginScores("Quiet", 3)
    assert plugin_scores({}, "mine", "Quiet") is None


# -- extenders

EXTENDER = ExtenderScores(ExtenderConfig(filter_verb="filter", prioritize_verb="prioritize", path_prefix="/v1"))


def test_extender_scores_are_those_of_the_recorded_calls() -> None:
    calls = [
        call("v1/filter", answered=["a", "b"]),
        call("v1/prioritize", scores=[["a", 50], ["a", 1.5]]),
        call("v1/bind"),
    ]
    assert EXTENDER.answer(ASKED, Outcome(node="a", calls=calls)) == Answer(scores=(("a", 50), ("a", 1.5), ("b", 0)))


def test_nodes_rejected_by_the_extenders_filter_are_filtered() -> None:
    calls = [call("v1/filter", answered=["b", "a"]), call("v1/prioritize", scores=[["b", 1]])]
    calls[0]["asked"].append("c")
    found = EXTENDER.answer((*ASKED, "c"), Outcome(node="b", calls=calls))
    assert found == Answer(scores=(("b", 1), ("a", 0)), filtered=("c",))


def test_only_node_left_by_the_extenders_filter_has_the_highest_score() -> None:
    outcome = Outcome(node="b", calls=[call("v1/filter", answered=["b"])], feasible=1)
    assert EXTENDER.answer(ASKED, outcome) == Answer(scores=(("b", 10),), filtered=("a",))


@pytest.mark.parametrize(
    ("calls", "message", "refusal"),
    [
        ([call("v1/filter", error="no readings")], "pending", "v1/filter: no readings"),
        ([call("v1/filter", answered=["a"])], "bind: it refuses", "bind: it refuses"),
        ([call("v1/prioritize", status=500, answer="oh")], "", "v1/prioritize: status 500: oh"),
        ([call("prioritize", scores=[["a", 1]])], "", "the pod was not bound, and its condition gives no reason"),
    ],
)
def test_extender_without_scores_has_refused(calls: list[dict[str, Any]], message: str, refusal: str) -> None:
    assert EXTENDER.answer(ASKED, Outcome(calls=calls, message=message)) == Answer(refusal=refusal)


# -- the question


class FakeLife:
    def __init__(self, order: list[str]) -> None:
        self.order = order

    def revive(self) -> None:
        self.order.append("revive")

    def last_words(self) -> str:
        return ""

    def watch_end(self) -> str:
        return ""


def test_ended_candidate_is_restarted_before_readings_and_scheduling() -> None:
    order: list[str] = []
    readings: Readings = (("b", 1.0), ("a", None))

    def schedule(nodes: Sequence[str]) -> Outcome:
        order.append(f"schedule on {' '.join(nodes)}")
        return Outcome(crash="panic: integer divide by zero", message="not to be seen")

    surface = SchedulerSurface(
        ASKED, PLUGIN, script=lambda given: order.append(f"script {given == readings}"), schedule=schedule,
        life=FakeLife(order),
    )  # fmt: skip
    assert surface.ask(readings) == Answer(crash="panic: integer divide by zero")
    assert order == ["revive", "script True", "schedule on b a"]
    assert (surface.name, surface.fewest, surface.most, surface.nodes) == ("scheduler", 2, 2, ASKED)


def test_pod_is_confined_by_one_term_for_each_node() -> None:
    """The API accepts exactly one value in a matchFields requirement; terms are alternatives."""
    required = confined(ASKED)["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    names = [term["matchFields"][0]["values"] for term in required["nodeSelectorTerms"]]
    assert names == [["a"], ["b"]]


# -- last log lines

GO = """\
I1120 14:32:17.163129 73 schedule_one.go:982] "Attempting to schedule pod" pod="mine/p"
E1120 14:32:17.170000 73 panic.go:262] "Observed a panic" panic="runtime error: integer divide by zero"
panic: runtime error: integer divide by zero [recovered, repanicked]

goroutine 461 [running]:
k8s.io/apimachinery/pkg/util/runtime.handleCrash({0x1, 0x2}, {0x0, 0x0})
"""
PYTHON = """\
listening
Traceback (most recent call last):
  File "extender.py", line 3, in score
    return 10 / 0
ZeroDivisionError: division by zero
"""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (GO, "panic: runtime error: integer divide by zero"),
        ("fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1", "fatal error: all goroutines are asleep"),
        (PYTHON, "ZeroDivisionError: division by zero"),
        ("json.decoder.JSONDecodeError: Expecting value\n", "json.decoder.JSONDecodeError: Expecting value"),
        ("starting\nKilled\n\n", "Killed"),
        ("", "(no output)"),
    ],
)
def test_last_words_show_why_a_process_ended(log: str, words: str) -> None:
    assert last_words(log).startswith(words)
    assert "recovered" not in last_words(log)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def lives(listener: socket.socket, *parts: Any) -> Lives:
    port = listener.getsockname()[1]
    tap = SimpleNamespace(connect=lambda seconds: http.client.HTTPConnection("127.0.0.1", port, timeout=seconds))
    return Lives(cast("Any", SimpleNamespace(components=parts, extender=tap)))


def test_ended_component_is_named_with_its_last_words() -> None:
    living = SimpleNamespace(name="scheduler", exit_code=None)
    for code, how in ((2, "exit code 2"), (-11, "signal 11")):
        ended = SimpleNamespace(name="extender", exit_code=code, log_tail=lambda _lines: PYTHON)
        for parts in ((living, ended), (ended, living)):
            life = Lives(cast("Any", SimpleNamespace(components=parts, extender=None)))
            expected = f"extender ended with {how}: ZeroDivisionError: division by zero"
            assert (life.last_words(), life.watch_end()) == (expected, expected)
    assert Lives(cast("Any", SimpleNamespace(components=(living,), extender=None))).watch_end() == ""


def test_extender_that_responds_at_all_is_alive(listener: socket.socket) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    answering = threading.Thread(target=answer)
    answering.start()
    assert lives(listener, SimpleNamespace(name="extender", exit_code=None)).watch_end() == ""
    answering.join()


class Dying:
    """A component that reports its exit code only from the fourth time on."""

    name = "extender"

    def __init__(self) -> None:
        self._looks = 0

    @property
    def exit_code(self) -> int | None:
        self._looks += 1
        return 1 if self._looks > 3 else None

    def log_tail(self, _lines: int) -> str:
        return PYTHON


def test_exit_is_awaited_if_the_connection_is_refused(listener: socket.socket) -> None:
    """Its sockets close before its exit is reported."""
    life = lives(listener, Dying())
    listener.close()
    assert life.watch_end().startswith("extender ended with exit code 1")


# -- readings as counters

BEGIN = 1_795_185_137.0


@pytest.mark.parametrize("reading", [0.0, 1e-6, 1.0, 1e6, 2.0**53, 2.0**63, 1e300, HIGHEST_RATE])
def test_counter_grows_by_the_reading_from_zero(reading: float) -> None:
    samples = counter_of(reading, BEGIN).samples(end=BEGIN + 600, step=0.25)
    assert samples[0] == (BEGIN, 0.0)
    for number in (1, 7, 2400):
        assert samples[number] == (BEGIN + number / 4, reading * (number / 4))


@pytest.mark.parametrize("reading", [math.nan, math.inf, -math.inf])
def test_reading_that_is_not_a_number_is_in_every_sample(reading: float) -> None:
    samples = counter_of(reading, BEGIN).samples(end=BEGIN + 10, step=1)
    assert {str(value) for _, value in samples} == {str(reading)}


def test_negative_reading_decreases_the_counter_at_every_sample() -> None:
    values = [value for _, value in counter_of(-5.0, BEGIN).samples(end=BEGIN + 600, step=1)]
    assert values == sorted(values, reverse=True)
    assert values[0] - values[1] == 5
    assert values[-1] > 0


def test_rate_beyond_float64_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves float64"):
        counter_of(1e306, BEGIN)
