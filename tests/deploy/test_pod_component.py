"""A pod as a part of a candidate: when it is ready, when it has ended, what it said. The apiserver is played."""

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
    """A watch, or a log: what the test puts in comes out, until it is closed."""

    def __init__(self) -> None:
        self.coming: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[Any]:
        yield from iter(self.coming.get, None)

    chunks = __iter__

    def close(self) -> None:
        self.coming.put(None)


class PlayedApi:
    """One pod, as the test shows it."""

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

    made = PodComponent(api, "ns", "p", name="mine", log=tmp_path / "logs" / "p.log", remove=remove)  # type: ignore[arg-type]
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


def test_it_is_ready_once_its_pod_is(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", state={"waiting": {"reason": "ContainerCreating"}})
    api.show(**RUNNING)
    api.show(ready=True, **RUNNING)
    part.wait_ready()
    assert part.exit_code is None
    assert part.exit_error() is None


def test_once_it_has_ended_it_stays_so_though_a_kubelet_starts_it_again(api: PlayedApi, part: PodComponent) -> None:
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


def test_an_end_that_was_only_seen_after_the_restart_has_its_own_last_words(api: PlayedApi, part: PodComponent) -> None:
    api.previous = b"it panicked\n"
    api.printed.close()
    api.show("ADDED", ready=True, restartCount=1, lastState={"terminated": ENDED}, **RUNNING)
    assert ended(part) == 3
    assert part.log_tail() == "it panicked"


@pytest.mark.parametrize("reason", ["ErrImageNeverPull", "CreateContainerConfigError"])
def test_what_cannot_start_is_said_at_once_with_the_pod_s_events(
    api: PlayedApi, part: PodComponent, reason: str
) -> None:
    api.show("ADDED", state={"waiting": {"reason": reason, "message": "because"}})
    with pytest.raises(CandidateError) as caught:
        part.wait_ready()
    assert f"{reason}: because" in caught.value.message
    assert "Failed: no such image" in caught.value.message
    assert part.exit_code is None


def test_a_command_that_is_not_in_the_image_never_started(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", state={"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file"}})
    with pytest.raises(CandidateError, match="StartError: no such file"):
        part.wait_ready()
    assert part.exit_code is None


def test_a_pod_that_somebody_deletes_has_ended(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.printed.close()
    api.show("DELETED", ready=True, **RUNNING)
    assert ended(part) == -9


def test_its_log_is_caught_up_with_once_the_last_line_has_come(api: PlayedApi, part: PodComponent) -> None:
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


def test_what_we_stop_has_not_ended_by_itself(api: PlayedApi, part: PodComponent) -> None:
    api.show("ADDED", ready=True, **RUNNING)
    part.wait_ready()
    api.printed.close()
    part.stop(0)
    assert api.pod is None
    assert part.exit_code is None
