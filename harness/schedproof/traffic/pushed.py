"""Readings of nodes that are not scraped: they have no traffic, or are too many to have an exporter each."""

from __future__ import annotations

import time
from collections.abc import Mapping

from schedproof.daemons.scrape import WHOLE
from schedproof.traffic.push_loop import PushLoop
from schedproof.traffic.script import steady
from schedproof.traffic.series import Series, push


class IdleReadings:
    """Pushes the samples of scrapes of idle nodes, at the scrape interval, until closed.

    Args:
        url: the URL of the Prometheus server.
        labels: node to the labels of its series; may change meanwhile.
        interval: seconds.
    """

    def __init__(self, url: str, labels: Mapping[str, Mapping[str, str]], device: str, interval: float) -> None:
        self._url, self._labels, self._device = url, labels, device
        self._push()
        self._loop = PushLoop(self._push, interval, name="idle-readings")

    def _push(self) -> None:
        now = time.time()
        push(
            self._url,
            [
                Series(series, [(now, value)])
                for node, labels in list(self._labels.items())
                for series, value in steady(labels, node, [self._device], whole=len(self._labels) <= WHOLE)
            ],
        )

    def close(self) -> None:
        self._loop.close()
