"""The series of nodes as Prometheus scrapes them from exporters, with some of the counters scripted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from schedproof.daemons.scrape import JOB, UNAME, WHOLE, exposed, reported
from schedproof.daemons.scrape_defaults import USUAL, Machine, Still
from schedproof.traffic.series import Counter, Series, moments

_FAILED = 600.0
"""Seconds for which all scrapes have failed if no node is scraped."""

_REST = 3
"""Constant series have one sample for every third sample of a scripted one: two or more in each window."""

LOUD, QUIET = "storage-1.example", "printer-1.example"

OTHER_HOSTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        name: {"instance": f"{address}:9100", "node": name}
        for name, address in ((LOUD, "192.0.2.1"), (QUIET, "192.0.2.2"))
    }
)
"""Machines that are scraped and that are no nodes, with the labels of their targets: the first carries more than all
nodes, the second less.
"""

UNLABELLED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {name: {key: value for key, value in labels.items() if key != "node"} for name, labels in OTHER_HOSTS.items()}
)
"""The same machines, as they are scraped by a job that sets no label `node`."""

_LOUDER, _QUIETER = 100.0, 0.5
"""What the other hosts carry, relative to the loudest and to the quietest node."""
_BUSY = 1e8
"""Bytes per second of the louder host beside nodes without traffic."""


def steady(
    target: Mapping[str, str],
    host: str,
    devices: Iterable[str],
    *,
    whole: bool = True,
    machine: Machine | None = USUAL,
) -> Iterator[Still]:
    """Yield the series of a successful scrape of an idle machine.

    Args:
        target: the labels of the scraped target.
        host: the machine's own name; that of a node is the node's.
        devices: the network devices, without the loopback.
        whole: see `exposed`.
        machine: see `exposed`.
    """
    series = exposed(devices, whole=whole, machine=machine)
    for still in series:
        name = {"nodename": host} if still.labels["__name__"] == UNAME else {}
        yield dataclasses.replace(still, labels={"job": JOB, **target, **still.labels, **name})
    yield from _report(target, len(series), whole=whole)


def beside(rates: Sequence[float]) -> Mapping[str, float]:
    """Return the bytes per second of the other hosts, by name, beside nodes with these: readings that are numbers."""
    return {LOUD: _LOUDER * max(rates, default=0.0) or _BUSY, QUIET: _QUIETER * min(rates, default=0.0)}


def _replicas(series: Series, replicated: bool) -> Iterator[Series]:
    if not replicated:
        yield series
        return
    for replica in ("prometheus-a", "prometheus-b"):
        yield Series({**series.labels, "prometheus_replica": replica}, series.samples)


def _report(target: Mapping[str, str], samples: int, *, whole: bool = True) -> Iterator[Still]:
    for name, value in reported(samples, whole=whole).items():
        yield Still({"__name__": name, "job": JOB, **target}, value)


@dataclasses.dataclass(frozen=True)
class Script:
    """The scripted counters of scraped nodes.

    Attributes:
        counters: metric and device to the counter of each node. A node without counters is not scraped.
        step: seconds between two samples.
        targets: node to the labels of its target, of nodes that the cluster itself does not scrape.
        replicated: nodes whose every series exists twice, as written by two replicas of Prometheus.
        others: the other scraped hosts, with the labels of their targets: none, or those of `OTHER_HOSTS`.
    """

    counters: Mapping[tuple[str, str], Mapping[str, Counter]]
    step: float
    targets: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    replicated: frozenset[str] = frozenset()
    others: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)

    @property
    def nodes(self) -> frozenset[str]:
        """The scraped nodes."""
        return frozenset(node for counters in self.counters.values() for node in counters)

    def series(
        self,
        targets: Mapping[str, Mapping[str, str]],
        end: float,
        after: float = -math.inf,
        machine: Machine = USUAL,
    ) -> list[Series]:
        """Return the series of these targets (node to labels) until `end`, after `after` (seconds since the epoch).

        Scraped nodes have every series of a real scrape (if there are many nodes: only those that are queried),
        other nodes those of a failed scrape. Series that are not scripted are constant, or grow steadily, and have a
        third of the samples.
        """
        begins = [counter.begin for counters in self.counters.values() for counter in counters.values()]
        begin = min(begins, default=end - _FAILED)
        counters = {key: {**its, **self._of_others(its, begin)} for key, its in self.counters.items()}
        everywhere = {**targets, **self.others}
        scripted = [
            Series(
                {"__name__": metric, "job": JOB, **everywhere[host], "device": device},
                counter.samples(end=end, step=self.step, after=after),
            )
            # An exporter sorts devices by name, and Prometheus keeps the order of arrival.
            for (metric, device), its in sorted(counters.items())
            for host, counter in its.items()
        ]
        times = moments(begin, end, _REST * self.step, after)
        taken = {frozenset(series.labels.items()) for series in scripted}
        # One list for each value: `push` encodes it once.
        samples: dict[tuple[float, float], Sequence[tuple[float, float]]] = {}
        for still in self._rest(targets, machine):
            if frozenset(still.labels.items()) not in taken:
                steadily = samples.setdefault(
                    (still.value, still.growth), [(moment, still.at(moment)) for moment in times]
                )
                scripted.append(Series(still.labels, steadily))
        twice = [node_labels["instance"] for node, node_labels in targets.items() if node in self.replicated]
        return [
            replica
            for series in scripted
            if series.samples
            for replica in _replicas(series, series.labels.get("instance") in twice)
        ]

    def _of_others(self, counters: Mapping[str, Counter], begin: float) -> Mapping[str, Counter]:
        """Return the counters of the other hosts beside these of the nodes."""
        if not self.others:
            return {}
        rates = [counter.phases[-1][1] for counter in counters.values()]
        return {host: Counter(0.0, ((begin, rate),)) for host, rate in beside(rates).items() if host in self.others}

    def _rest(self, targets: Mapping[str, Mapping[str, str]], machine: Machine) -> Iterator[Still]:
        scraped = self.nodes
        devices = sorted({device for _, device in self.counters} - {"lo"})
        whole = len(targets) <= WHOLE
        for node, target in targets.items():
            if node in scraped:
                yield from steady(target, node, devices, whole=whole, machine=machine)
            else:
                yield from _report(target, 0)
        for host, target in self.others.items():
            yield from steady(target, host, devices, whole=whole)
