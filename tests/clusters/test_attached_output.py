"""The output of a command in a container: whole, or an error."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from websocket import WebSocketConnectionClosedException

from schedproof.clusters.api import Attached, UnreachableError
from schedproof.foundation.errors import HostError


class Socket:
    def __init__(self, *frames: bytes) -> None:
        self._frames = [*frames]

    def settimeout(self, _seconds: float) -> None:
        pass

    def recv(self) -> bytes:
        if not self._frames:
            raise WebSocketConnectionClosedException("closed")
        return self._frames.pop(0)


def copied(*frames: bytes) -> bytes:
    stream = io.BytesIO()
    Attached(Socket(*frames)).copy(stream)
    return stream.getvalue()


def status(**fields: Any) -> bytes:
    return b"\x03" + json.dumps(fields).encode()


def test_the_status_ends_it() -> None:
    assert copied(b"\x01", b"\x01one ", b"\x02noise", b"\x01two", status(status="Success"), b"\x01late") == b"one two"


def test_a_failure_quotes_the_errors_of_the_command() -> None:
    with pytest.raises(HostError, match="exit code 1: no such folder"):
        copied(b"\x02no such folder\n", status(status="Failure", message="command terminated with exit code 1"))


def test_without_a_status_it_is_not_whole() -> None:
    with pytest.raises(UnreachableError, match="is lost"):
        copied(b"\x01one")
