"""Reads the gauges of a round: CPU and memory of processes, the scheduler's own metrics, and the machine's load."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping

from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.measure import scheduler_metrics
from schedproof.benchmark.measure.scheduler_metrics import SchedulerMetrics
from schedproof.benchmark.measure.usage import MachineSample, Meter, Usage, noise
from schedproof.benchmark.stage import Stage
from schedproof.foundation.deadlines import OWN_METRICS
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.processes.process_table import host_pids
from schedproof.foundation.processes.process_tree import named_below
from schedproof.foundation.waiting import NotYet, wait_for

_SERVERS = ("etcd", "kube-apiserver")
"""Processes that are measured even if schedproof did not start them, as on kind."""


@dataclasses.dataclass(frozen=True)
class GaugeReadings:
    """The changes from the creation of `Gauges` until they were read.

    `usage`: by the name of the process. `own`: metrics of the candidate's kube-scheduler; None if it has none.
    `throttled` and `noise`: sentences about what disturbed the round; "" if nothing did.
    """

    usage: Mapping[str, Usage]
    own: SchedulerMetrics | None
    throttled: str
    noise: str


class Gauges:
    """Measures the cluster and the machine from its creation, and the contestant from `follow`, until `read`.

    `follow` and `read` must be called while the contestant runs.

    Args:
        stage: where the round runs.
    """

    def __init__(self, stage: Stage) -> None:
        self._sandbox = stage.cluster.host.sandbox
        ours = host_pids(self._sandbox.outer_pid)
        daemons = {process.command.name: process.pid for process in stage.cluster.daemons}
        pids = {name: ours[pid] for name, pid in daemons.items() if pid in ours}
        pids |= named_below(stage.cluster.roots, _SERVERS)
        self._token = stage.cluster.token
        self._cluster = Meter({**pids, "driver": stage.driver.pid})
        self._roots = stage.cluster.roots
        self._machine = MachineSample.take(self._roots)
        self.began = time.monotonic()

    def follow(self, contestant: Contestant, *, since_start: bool) -> None:
        """Measure the contestant's processes too.

        Args:
            contestant: has been started.
            since_start: whether its CPU time and its scheduler's own metrics count from its start, instead of from now
                on. In a drain they do: a candidate without `ready` starts up while it is measured, so that the start-up
                of any other must count as well.
        """
        ours = host_pids(self._sandbox.outer_pid)
        components = {
            name: ours[component.pid] for name, component in contestant.components.items() if component.pid in ours
        }
        self._scheduler = contestant.scheduler
        self._limits = contestant.client_limits
        self._own_before = scheduler_metrics.NONE if since_start else self._own() or scheduler_metrics.NONE
        self._contestant = Meter(components, holders=components.values(), since_start=since_start)

    def _own(self) -> SchedulerMetrics | None:
        if self._scheduler is None or self._scheduler.exit_code is not None:
            return None
        assert self._scheduler.scheduler_port is not None
        return scheduler_metrics.fetch(self._scheduler.scheduler_port, self._token)

    def _own_since(self, bound: int) -> SchedulerMetrics | None:
        """Read the scheduler's metrics once they count `bound` pods: it counts a binding after the watch shows it."""
        newest: SchedulerMetrics | None = None

        def probe() -> None:
            nonlocal newest
            newest = self._own()
            if newest is not None and newest.since(self._own_before).sli.count < bound:
                raise NotYet

        # If the count is never reached, the cross-check reports that.
        with contextlib.suppress(DeadlineExceededError):
            wait_for(probe, OWN_METRICS, what="kube-scheduler to count its bindings")
        return None if newest is None else newest.since(self._own_before)

    def read(self, bound: int) -> GaugeReadings:
        """Read all gauges, after `bound` pods were seen bound."""
        load = self._machine.until(MachineSample.take(self._roots))
        usage = self._contestant.read() | self._cluster.read()
        own = self._own_since(bound)
        throttled = "" if own is None else scheduler_metrics.throttled(own, load.seconds, self._limits)
        return GaugeReadings(usage, own, throttled, noise(load))
