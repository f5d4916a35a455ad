"""What a round costs, what its scheduler says of it, and what else the machine was doing meanwhile."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping

from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.measure import scheduler_metrics
from schedproof.benchmark.measure.scheduler_metrics import OwnMetrics
from schedproof.benchmark.measure.usage import MachineSample, Meter, Usage, noise
from schedproof.benchmark.stage import Stage
from schedproof.foundation.deadlines import OWN_METRICS
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.processes.process_table import host_pids
from schedproof.foundation.processes.process_tree import named_below
from schedproof.foundation.waiting import NotYet, wait_for

_SERVERS = ("etcd", "kube-apiserver")
"""Whose cost is of interest also where others have started them."""


@dataclasses.dataclass(frozen=True)
class GaugeReadings:
    """From the creation of `Gauges` until they were read.

    `usage`: by the name of the process. `own`: of the candidate's kube-scheduler; None where it has none. `throttled`
    and `noise` are sentences; empty: not so.
    """

    usage: Mapping[str, Usage]
    own: OwnMetrics | None
    throttled: str
    noise: str


class Gauges:
    """Begin with their creation; to be read before the contestant is halted, whose processes they look at.

    Args:
        since_start: whether what its scheduler counts is to be all since that has started, and not from now on.
    """

    def __init__(self, stage: Stage, contestant: Contestant, *, since_start: bool) -> None:
        ours = host_pids(stage.cluster.host.sandbox.outer_pid)
        components = {
            name: ours[component.pid] for name, component in contestant.components.items() if component.pid in ours
        }
        daemons = {process.command.name: process.pid for process in stage.cluster.daemons}
        pids = components | {name: ours[pid] for name, pid in daemons.items() if pid in ours}
        pids |= named_below(stage.cluster.roots, _SERVERS)
        self._token = stage.cluster.token
        self._scheduler = contestant.scheduler
        self._limits = contestant.client_limits
        self._own_before = scheduler_metrics.NONE if since_start else self._own() or scheduler_metrics.NONE
        self._meter = Meter({**pids, "driver": stage.driver.pid}, holders=components.values())
        self._roots = stage.cluster.roots
        self._machine = MachineSample.take(self._roots)
        self.began = time.monotonic()

    def _own(self) -> OwnMetrics | None:
        if self._scheduler is None or self._scheduler.exit_code is not None:
            return None
        assert self._scheduler.scheduler_port is not None
        return scheduler_metrics.fetch(self._scheduler.scheduler_port, self._token)

    def _own_since(self, bound: int) -> OwnMetrics | None:
        """What the scheduler says of that many pods: it takes note of a binding after the watch has shown it."""
        newest: OwnMetrics | None = None

        def probe() -> None:
            nonlocal newest
            newest = self._own()
            if newest is not None and newest.since(self._own_before).sli.count < bound:
                raise NotYet

        # Should it never say so, the cross-check will.
        with contextlib.suppress(DeadlineExceededError):
            wait_for(probe, OWN_METRICS, what="kube-scheduler to count its bindings")
        return None if newest is None else newest.since(self._own_before)

    def read(self, bound: int) -> GaugeReadings:
        """After so many pods were seen bound."""
        load = self._machine.until(MachineSample.take(self._roots))
        usage = self._meter.read()
        own = self._own_since(bound)
        throttled = "" if own is None else scheduler_metrics.throttled(own, load.seconds, self._limits)
        return GaugeReadings(usage, own, throttled, noise(load))
