"""The series of nodes as Prometheus scrapes them from exporters, with some of the counters scripted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schedproof.daemons.scrape import JOB, UNAME, WHOLE, exposed, reported
from schedproof.traffic.series import Counter, Series, moments

Labels = dict[str, str]

_FAILED = 600.0
"""Seconds for which all scrapes have failed if no node is scraped."""

_REST = 3
"""Constant series have one sample for every third sample of a scripted one: two or more in each window."""


def steady(
    target: Mapping[str, str], node: str, devices: Iterable[str], *, whole: bool = True
) -> Iterator[tuple[Labels, float]]:
    """Yield labels and values of a successful scrape of an idle node.

    Args:
        target: the labels of the scraped target.
        node: the name of the node.
        devices: the network devices, without the loopback.
        whole: see `exposed`.
    """
    series = exposed(devices, whole=whole)
    for labels, value in series:
        name = {"nodename": node} if labels["__name__"] == UNAME else {}
        yield {"job": JOB, **target, **labels, **name}, value
    yield from _report(target, len(series), whole=whole)


def _replicas(series: Series, replicated: bool) -> Iterator[Series]:
    if not replicated:
        yield series
        return
    for replica in ("prometheus-a", "prometheus-b"):
        yield Series({**series.labels, "prometheus_replica": replica}, series.samples)


def _report(target: Mapping[str, str], samples: int, *, whole: bool = True) -> Iterator[tuple[Labels, float]]:
    for name, value in reported(samples, whole=whole).items():
        yield {"__name__": name, "job": JOB, **target}, value


@dataclasses.dataclass(frozen=True)
class Script:
    """The scripted counters of scraped nodes.

    Attributes:
        counters: metric and device to the counter of each node. A node without counters is not scraped.
        step: seconds between two samples.
        targets: node to the labels of its target, of nodes that the cluster itself does not scrape.
        replicated: nodes whose every series exists twice, as written by two replicas of Prometheus.
    """

    counters: Mapping[tuple[str, str], Mapping[str, Counter]]
    step: float
    targets: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    replicated: frozenset[str] = frozenset()

    @property
    def nodes(self) -> frozenset[str]:
        """The scraped nodes."""
        return frozenset(node for counters in self.counters.values() for node in counters)

    def series(self, targets: Mapping[str, Mapping[str, str]], end: float, after: float = -math.inf) -> list[Series]:
        """Return the series of these targets (node to labels) until `end`, after `after` (seconds since the epoch).

        Scraped nodes have every series of a real scrape (if there are many nodes: only those that are queried),
        other nodes those of a failed scrape. Series that are not scripted are constant, and have a third of the
        samples.
        """
        scripted = [
            Series(
                {"__name__": metric, "job": JOB, **targets[node], "device": device},
                counter.samples(end=end, step=self.step, after=after),
            )
            # An exporter sorts devices by name, and Prometheus keeps the order of arrival.
            for (metric, device), counters in sorted(self.counters.items())
            for node, counter in counters.items()
        ]
        begins = [counter.begin for counters in self.counters.values() for counter in counters.values()]
        times = moments(min(begins, default=end - _FAILED), end, _REST * self.step, after)
        taken = {frozenset(series.labels.items()) for series in scripted}
        # One list for each value: `push` encodes it once.
        samples: dict[float, Sequence[tuple[float, float]]] = {}
        for labels, value in self._rest(targets):
            if frozenset(labels.items()) not in taken:
                constant = samples.setdefault(value, [(moment, value) for moment in times])
                scripted.append(Series(labels, constant))
        twice = [node_labels["instance"] for node, node_labels in targets.items() if node in self.replicated]
        return [
            replica
            for series in scripted
            if series.samples
            for replica in _replicas(series, series.labels.get("instance") in twice)
        ]

    def _rest(self, targets: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[Labels, float]]:
        scraped = self.nodes
        devices = sorted({device for _, device in self.counters} - {"lo"})
        whole = len(targets) <= WHOLE
        for node, target in targets.items():
            yield from steady(target, node, devices, whole=whole) if node in scraped else _report(target, 0)
