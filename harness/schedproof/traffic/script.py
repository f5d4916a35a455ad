"""What Prometheus has of nodes after it has scraped their exporters, where a few of the series are scripted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schedproof.daemons.scrape import JOB, UNAME, WHOLE, exposed, reported
from schedproof.traffic.series import Counter, Series, moments

Labels = dict[str, str]

_FAILED = 600.0
"""For how many seconds all scrapes have failed where no node is scraped."""

_REST = 3
"""Every so many samples of a scripted series there is one of those that stand still: two or more in each window."""


def steady(
    target: Mapping[str, str], node: str, devices: Iterable[str], *, whole: bool = True
) -> Iterator[tuple[Labels, float]]:
    """Labels and values of a successful scrape while nothing happens on the node.

    Args:
        target: the labels of the scraped target.
        node: the name of its machine.
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
    """What the counters of scraped nodes show.

    Attributes:
        counters: metric and device to the counter of each node. A node that is in none of them is not scraped.
        step: seconds between two samples.
        targets: node to the labels of its target, of nodes that the cluster does not scrape by itself.
        replicated: nodes whose every series is there twice, as two replicas of Prometheus have written it.
    """

    counters: Mapping[tuple[str, str], Mapping[str, Counter]]
    step: float
    targets: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    replicated: frozenset[str] = frozenset()

    @property
    def nodes(self) -> frozenset[str]:
        """Those that are scraped."""
        return frozenset(node for counters in self.counters.values() for node in counters)

    def series(self, targets: Mapping[str, Mapping[str, str]], end: float, after: float = -math.inf) -> list[Series]:
        """What there is of these targets (node to labels) until `end`, later than `after` (seconds since the epoch).

        Every scraped node has every series of a real scrape (where they are too many: those that are asked for), and
        the others what Prometheus says of a scrape that fails. Families that are not scripted stand still, and have a
        third of the samples.
        """
        scripted = [
            Series(
                {"__name__": metric, "job": JOB, **targets[node], "device": device},
                counter.samples(end=end, step=self.step, after=after),
            )
            # An exporter tells of devices by their names, and Prometheus keeps series as they came.
            for (metric, device), counters in sorted(self.counters.items())
            for node, counter in counters.items()
        ]
        every = [counter.begin for counters in self.counters.values() for counter in counters.values()]
        times = moments(min(every, default=end - _FAILED), end, _REST * self.step, after)
        taken = {frozenset(one.labels.items()) for one in scripted}
        # One list for each value: `push` encodes it once.
        samples: dict[float, Sequence[tuple[float, float]]] = {}
        for labels, value in self._rest(targets):
            if frozenset(labels.items()) not in taken:
                same = samples.setdefault(value, [(moment, value) for moment in times])
                scripted.append(Series(labels, same))
        twice = [node_labels["instance"] for node, node_labels in targets.items() if node in self.replicated]
        return [copy for one in scripted if one.samples for copy in _replicas(one, one.labels.get("instance") in twice)]

    def _rest(self, targets: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[Labels, float]]:
        scraped = self.nodes
        devices = sorted({device for _, device in self.counters} - {"lo"})
        whole = len(targets) <= WHOLE
        for node, target in targets.items():
            yield from steady(target, node, devices, whole=whole) if node in scraped else _report(target, 0)
