"""The plugin surface, with a scripted program in place of the probe."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.claims import Claims, NetworkClaims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError, UsageError
from schedproof.foundation.processes.last_words import crash_text
from schedproof.foundation.progress import SilentProgress
from schedproof.normalization.answer import Answer
from schedproof.normalization.surfaces import plugin
from schedproof.normalization.surfaces.plugin import PluginSurface, asked_plugin

PROBE = """\
import json, os, queue, signal, socket, sys, threading
line = socket.socket(fileno=0)
def say(**message):
    line.sendall(json.dumps(message).encode() + b"\\n")
lines = queue.SimpleQueue()
def read():
    for text in line.makefile("rb"):
        lines.put(text)
    os._exit(0)
threading.Thread(target=read, daemon=True).start()
setup = json.loads(lines.get())
print("made", setup["plugin"], flush=True)
if setup["plugin"] == "Panics":
    sys.exit("panic: no such thing")
say(error="no field x in its args" if setup["plugin"] == "Refuses" else "")
asked = 0
while True:
    question = json.loads(lines.get())
    asked += 1
    raw, nodes = question.get("raw"), question["nodes"]
    if raw == [0]:
        sys.exit("panic: runtime error: integer divide by zero")
    if raw == [-1]:
        os.kill(os.getpid(), signal.SIGKILL)
    if raw == [-2]:
        signal.pause()
    if raw == [-3]:
        say(nodes=None, scores=None, raw=None, filtered=["a"], refusal="not today")
        continue
    say(nodes=nodes, scores=[asked] * len(nodes), raw=raw or [7] * len(nodes), filtered=None, refusal="")
"""

NETWORK = NetworkClaims(metric="received", direction="receive", window=2.0, resolution=0.1)
CANDIDATE = Candidate(
    name="mine", scheduler_name="mine", plugin=PluginSpec(package="/x", name="Traffic", args={"at": "{prometheus}"}),
    path=Path("/x/candidate.yaml"), claims=Claims(network=NETWORK),
)  # fmt: skip
CLUSTER = {"prometheus": "http://here", "device": "eth0"}


class FakeServer:
    """A Prometheus server that records the readings it gets."""

    url = "http://127.0.0.1:9"

    def __init__(self) -> None:
        self.puts: list[tuple[Any, ...]] = []

    def put(self, *arguments: Any) -> None:
        self.puts.append(arguments)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def surface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer
) -> Iterator[Callable[..., PluginSurface]]:
    """Return a factory of surfaces, which are closed at the end."""
    program = tmp_path / "probe"
    (tmp_path / "probe.py").write_text(PROBE)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{tmp_path / "probe.py"}"\n')
    program.chmod(0o755)
    monkeypatch.setattr(plugin, "build_probe", lambda *_, **__: program)
    made: list[PluginSurface] = []

    def make(candidate: Candidate = CANDIDATE, seconds: float = 60) -> PluginSurface:
        made.append(
            PluginSurface(
                candidate, "1.36", server,  # type: ignore[arg-type]
                logs=tmp_path / "logs", progress=SilentProgress(), deadline=Deadline("answer", seconds, "a test's"),
            )
        )  # fmt: skip
        return made[-1]

    yield make
    for made_surface in made:
        made_surface.close()


# -- questions and answers


def test_readings_are_set_before_the_plugin_is_called(surface: Any, server: FakeServer) -> None:
    answer = surface().ask((("b", 5.0), ("a", None)))
    assert answer == Answer(scores=(("b", 1), ("a", 1)), raw=(("b", 7), ("a", 7)))
    ((metric, device, window, labels, readings),) = server.puts
    assert (metric, device, window) == ("received", "eth0", 2.0)
    assert readings == (("b", 5.0), ("a", None))
    assert labels["a"] == {"instance": "198.18.0.2:9100", "node": "a", "kubernetes_node": "a"}


def test_node_keeps_its_address(surface: Any, server: FakeServer) -> None:
    tested = surface()
    tested.ask((("a", 1.0), ("b", 1.0)))
    tested.ask((("c", 1.0), ("b", 1.0), ("a", 1.0)))
    labels = server.puts[-1][3]
    assert [labels[node]["instance"].partition(":")[0][-1] for node in "abc"] == ["1", "2", "3"]


def test_raw_scores_are_normalized_without_readings_and_in_order(surface: Any, server: FakeServer) -> None:
    answers = surface().normalize_many([(("a", 3), ("b", 4)), (("a", 5),)])
    assert answers == [
        Answer(scores=(("a", 1), ("b", 1)), raw=(("a", 3), ("b", 4))),
        Answer(scores=(("a", 2),), raw=(("a", 5),)),
    ]
    assert server.puts == []


def test_more_questions_than_a_socket_buffer_holds_are_answered(surface: Any) -> None:
    raw = tuple((f"node-{number}", number + 1) for number in range(300))
    answers = surface().normalize_many([raw] * 300)
    assert [answer.scores[0][1] for answer in answers] == list(range(1, 301))


def test_refusal_is_an_answer(surface: Any) -> None:
    tested = surface()
    assert tested.normalize((("a", -3),)) == Answer(refusal="not today", filtered=("a",))
    assert tested.normalize((("a", 1),)).scores == (("a", 2),)


# -- crashes


def test_crash_belongs_to_its_question_and_the_others_are_answered(surface: Any) -> None:
    answers = surface().normalize_many([(("a", 1),), (("a", 0),), (("a", 2),), (("a", 0),), (("a", 3),)])
    assert [answer.scores for answer in answers] == [(("a", 1),), (), (("a", 1),), (), (("a", 1),)]
    assert [answer.crash for answer in answers] == ["", *["panic: runtime error: integer divide by zero", ""] * 2]


def test_next_question_after_a_crash_uses_a_new_plugin(surface: Any) -> None:
    tested = surface()
    assert tested.ask((("a", 1.0),)).scores == (("a", 1),)
    assert tested.normalize((("a", -1),)).crash.startswith("the process ended with signal SIGKILL")
    assert tested.ask((("a", 1.0),)).scores == (("a", 1),)


def test_question_without_an_answer_is_a_crash(surface: Any) -> None:
    tested = surface(seconds=0.5)
    assert tested.normalize((("a", -2),)).crash == "no answer within 0.5 s"


@pytest.mark.parametrize(
    ("name", "expected"), [("Refuses", "no field x in its args"), ("Panics", "panic: no such thing")]
)  # fmt: skip
def test_plugin_that_cannot_be_created_is_an_error_of_the_candidate(surface: Any, name: str, expected: str) -> None:
    spec = dataclasses.replace(CANDIDATE.plugin, name=name)
    with pytest.raises(CandidateError, match=re.escape(expected)):
        surface(dataclasses.replace(CANDIDATE, plugin=spec))


def test_candidate_without_network_claims_has_no_plugin_surface(surface: Any) -> None:
    with pytest.raises(CandidateError, match="no plugin that can be queried"):
        surface(dataclasses.replace(CANDIDATE, claims=Claims()))


def test_probe_ends_with_its_surface(surface: Any) -> None:
    tested = surface()
    pid = tested._probe.pid
    tested.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    tested.close()  # twice does no harm


# -- last output of a Go program

GO_PANIC = """\
I1122 06:00:00.000000 1 plugin.go:7] "panic: is only a word here"
E1122 06:00:00.000000       1 panic.go:262] "Observed a panic" panic="runtime error: integer divide by zero"
panic: runtime error: integer divide by zero [recovered, repanicked]

goroutine 88 [running]:
k8s.io/apimachinery/pkg/util/runtime.handleCrash({0x1, 0x2}, {0x3, 0x4}, {0x0, 0x0, 0x0})
\tk8s.io/apimachinery@v0.36.3/pkg/util/runtime/runtime.go:114 +0x1b8
panic({0x1?, 0x2?})
\truntime/panic.go:783 +0x132
math/bits.Div64(...)
\tmath/bits/bits.go:520
example.com/traffic/internal/scores.(*Plugin).normalize(0xc000, {0xc001, 0x2, 0x2})
\texample.com/traffic/internal/scores/scoring.go:12 +0x1d
example.com/traffic/schedproof-generated-probe.(*cycle).normalize.func1(0x0)
\texample.com/traffic/schedproof-generated-probe/cycle.go:150 +0x7a
"""


def test_panic_is_shown_with_the_candidates_own_frame() -> None:
    assert crash_text(GO_PANIC, 2) == (
        "panic: runtime error: integer divide by zero\n  in scores.(*Plugin).normalize (scores/scoring.go:12)"
    )


def test_panic_in_package_main_is_shown_with_its_frame() -> None:
    output = "panic: oh\n\ngoroutine 1 [running]:\nmain.score(0x1)\n\tmine/main.go:7 +0x1d\n"
    assert crash_text(output, 2) == "panic: oh\n  in main.score (mine/main.go:7)"


def test_fatal_error_of_the_go_runtime_is_shown() -> None:
    output = "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n\nruntime stack:\n"
    assert crash_text(output, 2) == "fatal error: stack overflow"


def test_exit_without_a_panic_is_shown_with_its_last_line() -> None:
    assert (
        crash_text("E1122 fatal: cannot go on\n", 3) == "the process ended with exit code 3: E1122 fatal: cannot go on"
    )
    assert crash_text("", -9) == "the process ended with signal SIGKILL"


# -- choice of the plugin and its args


def configured(**profile: Any) -> Candidate:
    spec = PluginSpec(main="/x", name=profile.pop("name", ""))
    other = {"schedulerName": "another", "plugins": {"multiPoint": {"enabled": [{"name": "Another"}]}}}
    config = {"profiles": [other, {"schedulerName": "mine", **profile}]}
    return dataclasses.replace(CANDIDATE, plugin=spec, scheduler_config=config)


def test_placeholders_in_args_are_replaced() -> None:
    assert asked_plugin(CANDIDATE, CLUSTER) == ("Traffic", {"at": "http://here"})
    bare = dataclasses.replace(CANDIDATE, plugin=PluginSpec(package="/x", name="Traffic"))
    assert asked_plugin(bare, CLUSTER) == ("Traffic", None)


def test_plugin_and_args_are_read_from_a_native_configuration() -> None:
    enabled = {"score": {"enabled": [{"name": "Traffic"}, {"name": "ImageLocality"}], "disabled": [{"name": "*"}]}}
    args = [{"name": "Traffic", "args": {"window": "{window}"}}]
    assert asked_plugin(configured(plugins=enabled, pluginConfig=args), CLUSTER) == ("Traffic", {"window": "2s"})
    # kube-scheduler ignores args of a plugin that is not enabled.
    assert asked_plugin(configured(name="traffic", pluginConfig=args), CLUSTER) == ("traffic", None)


def test_one_of_several_plugins_must_be_named() -> None:
    with pytest.raises(CandidateError, match="not clear which"):
        asked_plugin(configured(plugins={"multiPoint": {"enabled": [{"name": "One"}, {"name": "Two"}]}}), CLUSTER)


def test_placeholder_that_needs_a_cluster_is_named() -> None:
    spec = PluginSpec(package="/x", name="Traffic", args={"kubeconfig": "{kubeconfig}"})
    with pytest.raises(UsageError, match="kubeconfig"):
        asked_plugin(dataclasses.replace(CANDIDATE, plugin=spec), CLUSTER)
