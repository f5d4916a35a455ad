"""A submitted run is followed over connections that are lost: each line once, and the exit code of the run."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from urllib3.exceptions import ProtocolError

from schedproof.clusters.api import Api, NotFound, UnreachableError
from schedproof.foundation import waiting
from schedproof.foundation.errors import HostError, UsageError
from schedproof.submission import submission as followed
from schedproof.submission.submission import Submission


class Log:
    def __init__(self, *chunks: bytes | Exception) -> None:
        self._chunks = chunks

    def chunks(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class Sent:
    def __init__(self, *parts: bytes | Exception) -> None:
        self._parts = parts

    def copy(self, file: BinaryIO) -> None:
        for part in self._parts:
            if isinstance(part, Exception):
                raise part
            file.write(part)

    def close(self) -> None:
        pass


class PlayedApi:
    """An apiserver with the pod of a submission. Logs and reports are answered in turn."""

    def __init__(self, *logs: Log, state: dict[str, Any] | None = None, pods: bool = True) -> None:
        self.logs, self.sent = [*logs], list[Sent]()
        self.unreachable = 0
        self.state = state or {"terminated": {"exitCode": 1}}
        self.there = pods
        self.conditions: list[dict[str, str]] = []

    def list(self, resource: str, _namespace: str = "", **_query: str) -> dict[str, Any]:
        if self.unreachable:
            self.unreachable -= 1
            raise UnreachableError("no answer")
        if resource == "namespaces":
            return {"items": [{"metadata": {"labels": {"schedproof.dev/submission": "there"}}}]}
        status = {"phase": "Running", "containerStatuses": [{"name": "run", "state": self.state}]}
        return {"items": [{"metadata": {"name": "run-x"}, "status": status}] if self.there else []}

    def get(self, resource: str, *_: str) -> dict[str, Any]:
        if not self.there and not self.conditions:
            raise NotFound("GET", resource, 404, b"")
        return {"spec": {"activeDeadlineSeconds": 60}, "status": {"conditions": self.conditions}}

    def log(self, *_: object, **_query: str) -> Log:
        return self.logs.pop(0)

    def execute(self, *_: object) -> Sent:
        return self.sent.pop(0)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again without a pause."""

    def wait_for(*given: Any, poll: float = 0, **named: Any) -> Any:
        return waiting.wait_for(*given, poll=0.001, **named)

    monkeypatch.setattr(followed, "wait_for", wait_for)


def submission(played: PlayedApi) -> Submission:
    api: Any = played
    assert isinstance(api, PlayedApi | Api)
    return Submission(api, "there")


def test_each_line_is_printed_once_across_lost_connections() -> None:
    played = PlayedApi(
        Log(b"one\ntw", b"o\nthr", ProtocolError("reset")), Log(b"one\n", ProtocolError("reset")),
        Log(b"one\ntwo\nthree\nfour\n"),
    )  # fmt: skip
    played.unreachable = 3
    lines: list[str] = []
    assert submission(played).follow(lines.append) == 1
    assert lines == ["one", "two", "three", "four"]


def test_a_line_without_an_end_is_printed_too() -> None:
    lines: list[str] = []
    submission(PlayedApi(Log(b"one\nlast"))).follow(lines.append)
    assert lines == ["one", "last"]


def test_an_image_that_nodes_cannot_have_is_an_error_at_once() -> None:
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}
    with pytest.raises(UsageError, match="does not start: ImagePullBackOff no such host"):
        submission(PlayedApi(state=state)).follow(print)


def test_what_ended_the_run_from_outside_is_told() -> None:
    killed = PlayedApi(Log(), state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})
    with pytest.raises(HostError, match="OOMKilled, exit code 137"):
        submission(killed).follow(print)
    late = PlayedApi(pods=False)
    late.conditions = [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "was active"}]
    with pytest.raises(HostError, match="DeadlineExceeded: was active"):
        submission(late).follow(print)
    with pytest.raises(HostError, match="was removed"):
        submission(PlayedApi(pods=False)).follow(print)


def test_a_report_whose_connection_is_lost_is_sent_again(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("report.json"))
    played = PlayedApi()
    played.sent = [Sent(packed.getvalue()[:20], UnreachableError("lost")), Sent(packed.getvalue())]
    submission(played).fetch(tmp_path / "report")
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["report.json"]


def test_a_name_that_is_not_there_is_answered_with_those_that_are() -> None:
    api: Any = PlayedApi()
    with pytest.raises(UsageError, match="no run of the name gone") as raised:
        Submission.find(api, "gone")
    assert raised.value.remedy == "name one of there"
