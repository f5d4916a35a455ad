"""Prometheus servers of this machine whose every sample the harness chose."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from schedproof.daemons.prometheus import Prometheus, start_prometheus
from schedproof.metrics.readings import node_labels
from schedproof.metrics.series import Series, push

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.daemons.daemon import Host
    from schedproof.metrics.series import Counter

__all__ = ["ScriptedPrometheus", "ScriptedServers"]


class ScriptedServers:
    """Gives a fresh server at every call of `take`; the next one gets ready while that one is in use.

    Args:
        host: where they run, on loopback: candidates reach them through their tap.
        labels: node to the labels of its series, as the cluster's own Prometheus has them; may change meanwhile.
    """

    def __init__(self, host: Host, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._host, self._labels = host, labels
        self._spare: list[Prometheus] = []
        self._started = 0

    def take(self) -> ScriptedPrometheus:
        while len(self._spare) < 2:
            self._started += 1
            name = f"prometheus-scripted-{self._started}"
            self._spare.append(start_prometheus(self._host, name, scrape_interval=60))
        return ScriptedPrometheus(self._spare.pop(0), self._labels)


class ScriptedPrometheus:
    """See `schedproof.clusters.cluster.ScriptedMetrics`."""

    def __init__(self, server: Prometheus, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._server = server
        self._labels = labels
        self.url = server.url

    def wait_ready(self) -> None:
        self._server.wait_ready()

    def script(self, device: str, metric: str, step: float, counters: Mapping[str, Counter]) -> None:
        self.wait_ready()
        end = time.time() + 590  # Prometheus refuses samples more than ten minutes ahead
        common = {"__name__": metric, "device": device, "job": "node-exporter"}
        series = [
            # A node that exists in the API only has no address.
            Series(
                {**common, **(self._labels.get(node) or node_labels(node, node))}, counter.samples(end=end, step=step)
            )
            for node, counter in counters.items()
        ]
        push(self._server.port, series)

    def close(self) -> None:
        self._server.process.stop(grace=0)
