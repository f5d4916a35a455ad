"""A targets server starts at the first question for its URL; if it has ended, its client gets a ConnectionError at
once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters import targets
from schedproof.clusters.targets import TargetsServer
from schedproof.foundation.errors import HostError

LABELS = {node: {"instance": f"{node}:9100", "node": node} for node in ("a", "b")}


class Started:
    """Stands for the program of the server."""

    url = "http://127.0.0.1:1"

    def __init__(self, *_: object) -> None:
        self.put_so_far: list[tuple[Any, ...]] = []
        self.closed = 0
        started.append(self)

    def put(self, *given: Any) -> None:
        if len(self.put_so_far) == 2:
            raise HostError("the readings server does not answer")
        self.put_so_far.append(given)

    def close(self) -> None:
        self.closed += 1


started: list[Started] = []


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started.clear()
    path = tmp_path / "readings-server"
    monkeypatch.setattr(targets, "resolve", lambda names, **_: {names[0]: type("Resolved", (), {"path": path})})
    monkeypatch.setattr(targets, "ReadingsServer", Started)


def test_a_targets_server_is_given_the_present_nodes_at_each_question(tmp_path: Path) -> None:
    labels, up = dict(LABELS), {"a"}
    server = TargetsServer(tmp_path, labels, 0.25, up=up, metric="received_total")
    assert started == []
    assert server.url() == Started.url
    del labels["b"]
    up.clear()
    server.url()
    assert started[0].put_so_far == [
        ("received_total", "eth0", 2.0, LABELS, [("a", 0.0), ("b", None)]),
        ("received_total", "eth0", 2.0, {"a": LABELS["a"]}, [("a", None)]),
    ]
    assert len(started) == 1


def test_a_targets_server_that_no_longer_answers_is_a_connection_error(tmp_path: Path) -> None:
    server = TargetsServer(tmp_path, LABELS, 0.25, up=LABELS)
    server.url()
    server.url()
    with pytest.raises(ConnectionError, match="does not answer"):
        server.url()
    server.close()
    server.close()
    with pytest.raises(ConnectionError, match="closed"):
        server.url()
    assert len(started) == 1


def test_a_targets_server_that_was_never_queried_starts_nothing_when_closed(tmp_path: Path) -> None:
    TargetsServer(tmp_path, LABELS, 0.25, up=LABELS).close()
    assert started == []
