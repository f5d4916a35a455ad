"""Readings of nodes that have no exporter: clusters too large for one network namespace and exporter each."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from schedproof.foundation.errors import HostError
from schedproof.metrics.series import Series, push

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METRICS", "IdleReadings"]

METRICS = ("node_network_receive_bytes_total", "node_network_transmit_bytes_total")
"""What node_exporter's netdev collector calls the bytes that a device has counted."""

_COUNTED = 1e9


class IdleReadings:
    """Pushes the counters of idle nodes, as often as a scrape would bring them, until closed.

    Args:
        port: the Prometheus server's, on loopback.
        labels: node to the labels of its series; may change meanwhile.
        interval: seconds.
    """

    def __init__(self, port: int, labels: Mapping[str, Mapping[str, str]], device: str, interval: float) -> None:
        self._port, self._labels, self._device, self._interval = port, labels, device, interval
        self._stopping = threading.Event()
        self._push()
        self._thread = threading.Thread(target=self._run, name="idle-readings", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self._push()
            except (OSError, HostError):
                return  # the server is gone: so is the cluster, or it says so elsewhere

    def _push(self) -> None:
        now = time.time()
        push(
            self._port,
            [
                Series(
                    {"__name__": metric, "device": self._device, "job": "node-exporter", **labels}, [(now, _COUNTED)]
                )
                for labels in list(self._labels.values())
                for metric in METRICS
            ],
        )

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
