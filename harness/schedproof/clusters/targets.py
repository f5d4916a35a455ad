"""Answers about targets and metadata for Prometheus servers that have scraped nothing."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from pathlib import Path

from schedproof.binaries.resolve import resolve
from schedproof.daemons.readings_server import SAMPLES, ReadingsServer
from schedproof.daemons.scrape import RECEIVED
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.progress import Progress, SilentProgress

_BINARY = "readings-server"
_DEVICE = "eth0"
"""The device of series that no client reads: neither targets nor metadata have devices."""


def build_targets_server(progress: Progress) -> None:
    """Build the binary of `TargetsServer` in advance, because clients have a timeout at their first request.

    Raises:
        HostError: this machine cannot build it.
    """
    resolve([_BINARY], progress=progress)


class TargetsServer:
    """A server that answers about targets and metadata for a Prometheus with pushed samples, as after real scrapes.

    It starts at the first request, which few candidates send.

    Args:
        logs: the folder of its log.
        labels: node to the labels of its target; may change.
        interval: seconds between two scrapes.
        up: the nodes whose scrapes succeed, as in `up`; may change.
        metric: the counter that is read beside those of node_exporter.
    """

    def __init__(
        self,
        logs: Path,
        labels: Mapping[str, Mapping[str, str]],
        interval: float,
        *,
        up: Collection[str],
        metric: str = RECEIVED,
    ) -> None:
        self._logs, self._labels, self._interval, self._up, self._metric = logs, labels, interval, up, metric
        self._lock = threading.Lock()
        self._closed = False
        self._server: ReadingsServer | None = None

    def url(self) -> str:
        """Return its base URL, once it answers with the current nodes, each scraped a moment ago. Thread-safe.

        Raises:
            ConnectionError: it was closed, or cannot be started.
        """
        with self._lock:
            if self._closed:
                raise ConnectionRefusedError("the server was closed")
            labels = dict(self._labels)
            try:
                if self._server is None:
                    binary = resolve([_BINARY], progress=SilentProgress())[_BINARY].path
                    self._server = ReadingsServer(binary, self._logs)
                readings = [(node, 0.0 if node in self._up else None) for node in labels]
                self._server.put(self._metric, _DEVICE, self._interval * SAMPLES, labels, readings)
            except SchedproofError as error:
                raise ConnectionError(str(error)) from error
            return self._server.url

    def close(self) -> None:
        """Stop the server. Safe to call twice."""
        with self._lock:
            self._closed = True
            if self._server is not None:
                self._server.close()
