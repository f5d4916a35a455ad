"""What `schedproof init` writes, and the scheduler of the tutorial: how they read the response of Prometheus."""

from __future__ import annotations

import argparse
import ast
import functools
import io
import json
import threading
import time
import urllib.request
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.foundation.content import content

from .loading import load

TEMPLATES = content("fixtures", "templates")
STEPS = content("fixtures", "candidates", "first-scheduler")
Read = Callable[[], dict[str, float]]


def extender() -> Read:
    options = argparse.Namespace(prometheus="http://prometheus", device="eth0", window="1m")
    return functools.partial(load(TEMPLATES / "extender").extender.traffic, options)


def controller() -> Read:
    read: Read = load(TEMPLATES / "controller", "traffic").traffic.Traffic("http://prometheus", "eth0", "1m").read
    return read


def functions(step: str) -> dict[str, Any]:
    """The functions and imports of a step of the tutorial, without the lines that connect to a cluster."""
    tree = ast.parse((STEPS / step / "scheduler.py").read_text())
    tree.body = [line for line in tree.body if isinstance(line, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    names: dict[str, Any] = {"PROMETHEUS": "http://prometheus", "QUERY": "up"}
    exec(compile(tree, step, "exec"), names)
    return names


def step(name: str) -> Read:
    read: Read = functions(name)["traffic"]
    return read


STRICT = {"extender": extender, "controller": controller, "tutorial": functools.partial(step, "14-without-readings")}
READERS = {**STRICT, "tutorial, by rates": functools.partial(step, "13-by-rates")}


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Read:
    return READERS[request.param]()


@pytest.fixture(params=STRICT)
def read_strictly(request: pytest.FixtureRequest) -> Read:
    return STRICT[request.param]()


@pytest.fixture
def respond(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Let Prometheus respond with a document from now on."""

    def set_response(document: Any) -> None:
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(json.dumps(document).encode()))

    return set_response


def vector(*samples: tuple[dict[str, str], str]) -> Any:
    result = [{"metric": labels, "value": [1763650000.25, value]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def test_a_series_without_a_node_s_name_is_ignored_and_logged_once(
    read: Read, respond: Callable[[Any], None], capfd: pytest.CaptureFixture[str]
) -> None:
    respond(vector(({"node": "a"}, "7"), ({}, "1"), ({"node": ""}, "2"), ({"node": "b"}, "8.5")))
    assert read() == {"a": 7.0, "b": 8.5}
    assert "node" in "".join(capfd.readouterr())
    assert read() == {"a": 7.0, "b": 8.5}
    assert "".join(capfd.readouterr()) == ""


def test_values_that_are_no_rate_are_left_out(read_strictly: Read, respond: Callable[[Any], None]) -> None:
    values = {"a": "NaN", "b": "+Inf", "c": "-1", "d": "0", "e": "2e3"}
    respond(vector(*(({"node": node}, value) for node, value in values.items())))
    assert read_strictly() == {"d": 0.0, "e": 2000.0}


@pytest.mark.parametrize("values", [("1", "9", "NaN"), ("9", "1", "-1"), ("NaN", "9", "1")])
@pytest.mark.parametrize("template", [extender, controller], ids=lambda template: template.__name__)
def test_of_several_series_of_a_node_the_largest_counts(
    template: Callable[[], Read], values: tuple[str, ...], respond: Callable[[Any], None]
) -> None:
    respond(vector(*(({"node": "a"}, value) for value in values)))
    assert template()() == {"a": 9.0}


@pytest.mark.parametrize(
    "document",
    [{}, [], {"data": None}, {"data": {"result": [{"metric": None, "value": [1, "2"]}]}}, vector(({}, "text"))],
    ids=str,
)
def test_an_unusable_response_is_no_reading_and_no_error(
    read_strictly: Read, document: Any, respond: Callable[[Any], None], capfd: pytest.CaptureFixture[str]
) -> None:
    respond(document)
    assert read_strictly() == {}
    assert "".join(capfd.readouterr())


def test_the_controller_s_longest_rest_holds_however_often_a_pod_has_failed() -> None:
    modules = load(TEMPLATES / "controller")
    attempt = modules.controller.Attempt(failures=1100)
    before = time.monotonic()
    attempt.failed()
    assert before + 10 <= attempt.rests_until <= time.monotonic() + 10


@pytest.mark.parametrize("step", ["8-tries-again", "11-heeds-gates", "14-without-readings"])
def test_the_tutorial_s_scheduler_tries_every_pod_though_pods_that_fit_nowhere_take_all_its_time(step: str) -> None:
    listed = [SimpleNamespace(metadata=SimpleNamespace(name=name)) for name in "abc"]
    now, tried = 0.0, set()

    def schedule(pod: Any, *_: Any) -> None:
        nonlocal now
        now += 1
        tried.add(pod.metadata.name)

    listing = SimpleNamespace(items=listed)
    names = functions(step)
    names["api"] = SimpleNamespace(list_node=lambda **_: listing, list_pod_for_all_namespaces=lambda **_: listing)
    names |= {"schedule": schedule, "is_waiting": bool, "traffic": dict, "changed": threading.Event()}
    names |= {"FRESH": 0.5, "TIMEOUT": 1, "time": SimpleNamespace(monotonic=lambda: now)}
    for _ in range(100):
        names["schedule_all"]()
    assert tried == {"a", "b", "c"}


@pytest.mark.parametrize("step", ["8-tries-again", "11-heeds-gates", "14-without-readings"])
def test_the_tutorial_s_scheduler_counts_a_pod_whose_binding_had_no_usable_response(step: str) -> None:
    def bind(*_: Any) -> None:
        raise OSError("no response")

    pod = SimpleNamespace(spec=SimpleNamespace(node_name=None))
    node = SimpleNamespace(metadata=SimpleNamespace(name="a"))
    names = functions(step)
    names |= {"bind": bind, "may_run": lambda *_: True, "quietest": lambda names, _: names[0]}
    arguments = [pod, [node], [pod], {}][: names["schedule"].__code__.co_argcount]
    with pytest.raises(OSError, match="no response"):
        names["schedule"](*arguments)
    assert pod.spec.node_name == "a"
