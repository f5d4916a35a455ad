"""Readings of nodes that are not scraped, as they have no traffic or are too many, and what no exporter reports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from schedproof.daemons.scrape import JOB, RECEIVED, SENT, WHOLE
from schedproof.daemons.scrape_defaults import USUAL, Machine, Still, others
from schedproof.traffic.push_loop import PushLoop
from schedproof.traffic.script import OTHER_HOSTS, beside, steady
from schedproof.traffic.series import Series, push

_SELDOM = 4
"""The samples that no clause changes, which are most, are pushed at every fourth scrape interval."""


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
        self._scraped, self._pushes = False, 0
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
        machine = None if self._pushes % _SELDOM else self._machine
        self._pushes += 1
        push(self._url, [Series(still.labels, [(now, still.at(now))]) for still in self._series(machine)])

    def _series(self, machine: Machine | None) -> Iterator[Still]:
        whole = len(self._labels) <= WHOLE
        for node, target in list(self._labels.items()):
            if not self._scraped:
                yield from steady(target, node, [self._device], whole=whole, machine=machine)
            elif machine is not None:
                for still in others((self._device,), machine):
                    yield Still({"job": JOB, **target, **still.labels}, still.value, still.growth)
        rates = beside(())
        for host, target in OTHER_HOSTS.items():
            for still in steady(target, host, [self._device], whole=whole, machine=machine and USUAL):
                counts = still.labels["__name__"] in (RECEIVED, SENT) and still.labels["device"] == self._device
                yield Still(still.labels, 0.0, rates[host]) if counts and rates[host] else still

    def close(self) -> None:
        self._loop.close()
