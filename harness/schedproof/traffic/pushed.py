"""Readings of nodes that are not scraped, as they have no traffic or are too many, and what no exporter reports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from schedproof.daemons.scrape import JOB, RECEIVED, SENT, WHOLE
from schedproof.daemons.scrape_defaults import USUAL, Machine, Still, others
from schedproof.traffic.push_loop import PushLoop
from schedproof.traffic.script import OTHER_HOSTS, beside, steady
from schedproof.traffic.series import Series, push


class IdleReadings:
    """Pushes the samples of scrapes of idle nodes, and of other hosts, at the scrape interval, until closed.

    Args:
        url: the URL of the Prometheus server.
        labels: node to the labels of its series; may change meanwhile.
        interval: seconds.
        machine: the nodes' machines.
    """

    def __init__(
        self,
        url: str,
        labels: Mapping[str, Mapping[str, str]],
        device: str,
        interval: float,
        machine: Machine = USUAL,
    ) -> None:
        self._url, self._labels, self._device, self._machine = url, labels, device, machine
        self._scraped = False
        self._push()
        self._interval = interval
        self._loop = self._begin()

    def _begin(self) -> PushLoop:
        return PushLoop(self._push, self._interval, name="idle-readings")

    def leave_scraped(self) -> None:
        """Push from now on only what no real exporter of the nodes reports: they are scraped."""
        self._loop.close()
        self._scraped = True
        self._loop = self._begin()

    def _push(self) -> None:
        now = time.time()
        push(self._url, [Series(still.labels, [(now, still.at(now))]) for still in self._series()])

    def _series(self) -> Iterator[Still]:
        whole = len(self._labels) <= WHOLE
        for node, target in list(self._labels.items()):
            if not self._scraped:
                yield from steady(target, node, [self._device], whole=whole, machine=self._machine)
                continue
            for still in others((self._device,), self._machine):
                yield Still({"job": JOB, **target, **still.labels}, still.value, still.growth)
        rates = beside(())
        for host, target in OTHER_HOSTS.items():
            grows = {RECEIVED: rates[host], SENT: rates[host]}
            for still in steady(target, host, [self._device], whole=whole):
                moving = still.labels.get("device") == self._device and grows.get(still.labels["__name__"], 0.0)
                yield Still(still.labels, still.value, still.growth + float(moving))

    def close(self) -> None:
        self._loop.close()
