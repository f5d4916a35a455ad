"""A pod as a component of a candidate: when it is ready, when it has ended, and its log. The apiserver is simulated."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.api import ApiError
from schedproof.deploy.pod_component import PodComponent
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.waiting import NotYet, wait_for

SOON = Deadline("test", 30, "what is played here happens at once")


class Played:
    """A watch, or a log: what the test puts into it is read from it, until it is closed."""

    def __init__(self) -> None:
        self.coming: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[Any]:
        yield from iter(self.coming.get, None)

    chunks = __iter__

    def close(self) -> None:
        self.coming.put(None)


class PlayedApi:
    """An apiserver with one pod, in the states that the test sets."""

    def __init__(self) -> None:
        self.pod: dict[str, Any] | None = None
        self.watched = Played()
        self.printed = Played()
        self.previous = self.last_line = b""
        self.logged = threading.Event()

    def list(self, resource: str, _namespace: str, **_query: str) -> dict[str, Any]:
        if resource == "events":
            return {"items": [{"reason": "Failed", "message": "no such image"}]}
        return {"items": [self.pod] if self.pod else [], "metadata": {"resourceVersion": "1"}}

    def watch(self, *_: str, **_query: str) -> Played:
        return self.watched

    def log(self, _namespace: str, _pod: str, *, follow: str = "", previous: str = "", tailLines: str = "") -> Played:  # noqa: N803
        if previous or tailLines:
            there = Played()
            for chunk in (self.previous if previous else self.last_line, None):
                there.coming.put(chunk)
            return there
        self.logged.set()
        if not self.pod or not follow:
            raise ApiError("GET", "log", 404, b"")
        return self.printed

    def show(self, event: str = "MODIFIED", *, ready: bool = False, **status: Any) -> None:
        container = {"ready": ready, "restartCount": 0, **status}
        self.pod = {"metadata": {"name": "pod", "uid": "1"}, "status": {"containerStatuses": [container]}}
        self.watched.coming.put({"type": event, "object": self.pod})
        if event == "DELETED":
            self.pod = None


RUNNING: dict[str, Any] = {"state": {"running": {}}}
ENDED = {"exitCode": 3, "reason": "Error"}


@pytest.fixture
def api() -> PlayedApi:
    return PlayedApi()


@pytest.fixture
def part(api: PlayedApi, tmp_path: Path) -> Iterator[PodComponent]:
    def remove() -> None:
        api.pod = None

    made = PodComponent(api, "ns", {}, name="mine", log=tmp_path / "logs" / "p.log", remove=remove)  # type: ignore[arg-type]
    with contextlib.closing(api.printed):
        yield made
        api.printed.close()
        made.stop(0)


def ended(part: PodComponent) -> int:
    def probe() -> int:
        if part.exit_code is None:
            raise NotYet("it runs")
        return part.exit_code

    return wait_for(probe, SOON, what="its end")


def test_a_component_is_ready_once_its_pod_is_ready(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", state={"waiting": {"reason": "ContainerCreating"}})
    api.show(**RUNNING)
    api.show(ready=True, **RUNNING)
    part.wait_ready()
    assert part.exit_code is None
    assert part.exit_error() is None


def test_a_component_that_has_ended_stays_ended_even_if_the_kubelet_restarts_it(
    api: PlayedApi, part: PodComponent
) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.printed.coming.put(b"its last")
    api.printed.coming.put(b" words\n")
    api.printed.close()
    api.show(state={"terminated": ENDED})
    assert ended(part) == 3
    assert part.log_tail() == "its last words", "complete once there is an exit code"
    api.show(ready=True, restartCount=1, lastState={"terminated": ENDED}, **RUNNING)
    error = part.exit_error()
    assert error is not None
    assert "exit code 3" in error.message
    assert "its last words" in error.message
    with pytest.raises(CandidateError, match="exit code 3"):
        part.wait_ready()


def test_an_exit_that_is_seen_after_the_restart_has_the_log_of_the_previous_container(
    api: PlayedApi, part: PodComponent
) -> None:
    api.previous = b"it panicked\n"
    api.printed.close()
    api.show("ADDED", ready=True, restartCount=1, lastState={"terminated": ENDED}, **RUNNING)
    assert ended(part) == 3
    assert part.log_tail() == "it panicked"


@pytest.mark.parametrize("reason", ["ErrImageNeverPull", "CreateContainerConfigError"])
def test_a_container_that_cannot_start_is_reported_at_once_with_the_pod_s_events(
    api: PlayedApi, part: PodComponent, reason: str
) -> None:
    api.show("ADDED", state={"waiting": {"reason": reason, "message": "because"}})
    with pytest.raises(CandidateError) as caught:
        part.wait_ready()
    assert f"{reason}: because" in caught.value.message
    assert "Failed: no such image" in caught.value.message
    assert part.exit_code is None


def test_a_command_that_is_not_in_the_image_is_reported_as_not_started(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", state={"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file"}})
    with pytest.raises(CandidateError, match="StartError: no such file"):
        part.wait_ready()
    assert part.exit_code is None


def test_a_deleted_pod_has_ended(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.printed.close()
    api.show("DELETED", ready=True, **RUNNING)
    assert ended(part) == -9


def test_catch_up_waits_for_the_last_line_of_the_log(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.last_line = b"scored\n"
    caught_up = threading.Thread(target=part.catch_up)
    caught_up.start()
    api.printed.coming.put(b"before\nsco")
    assert caught_up.is_alive()
    api.printed.coming.put(b"red\n")
    caught_up.join(SOON.seconds)
    assert not caught_up.is_alive()
    assert part.log_tail() == "before\nscored"


def test_a_component_that_the_harness_stops_has_no_exit_code(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.printed.close()
    part.stop(0)
    assert api.pod is None
    assert part.exit_code is None
