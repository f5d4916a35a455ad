"""Stimuli of network-aware clauses: load that tells the nodes apart, and probes of the preference."""

from __future__ import annotations

import math
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import NetworkClaims
from schedproof.foundation.deadlines import BIND, REACTION, REQUEUE, SCRAPED, Deadline
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.judge.preference import RANDOM_LIMIT, ROTATIONS
from schedproof.metrics.readings import NODE_LABEL, traffic_query
from schedproof.metrics.series import Counter
from schedproof.stimulus.case import Case
from schedproof.stimulus.trial import CONTROL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from schedproof.candidates.taps import Fault
    from schedproof.clusters.cluster import ScriptedMetrics
    from schedproof.metrics.readings import Reader
    from schedproof.stimulus.pods import Pod
    from schedproof.stimulus.trial import Trial

__all__ = ["NetworkCase", "sample_step", "scripted_past"]

_QUIETEST, _LOUDEST = 100_000.0, 20_000_000.0
"""Bytes per second at the quietest and at most at the loudest node; Python can send some 100 MB/s in all."""
_QUIETEST_REAL = 1_000_000.0
"""At the quietest node with a kubelet, whose own traffic (some 40 kB/s, seen) must not matter."""

_UNCLAIMED = NetworkClaims("node_network_receive_bytes_total", "receive", window=30, resolution=0.1)
"""Of a candidate that is asked for its scores only, whatever they are about."""

_CLAIMED = "network.recovers-within, the candidate's own claim"


def scripted_past(claims: NetworkClaims) -> float:
    """For how many seconds scripted series reach back: windows that are full, whenever somebody asks."""
    return 2 * claims.window + 5


def sample_step(claims: NetworkClaims) -> float:
    """Seconds between two samples of scripted series: several in each window."""
    return min(max(claims.window / 8, 0.1), 1.0)


class NetworkCase(Case):
    """A case whose candidate has readings of its own, scripted or real."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        self.claims: NetworkClaims = trial.candidate.claims.network or _UNCLAIMED
        self._device = self.claims.device.format(device=trial.cluster.device)
        self.query = traffic_query(self.claims.metric, self._device, self.claims.window)
        self._scripts: list[ScriptedMetrics] = []
        self._loads: list[dict[str, float]] = []
        self._sending = False
        self._control_failed = False
        """Whether the control was wrong once: only then the probes tell who knows of traffic."""

    def traffic(self, quietest: str, *, packets: bool = False, step: float = 0.0) -> dict[str, float]:
        """Loads with one node the quietest: the next carries more by twice the claimed resolution, and so on.

        For real `packets` the steps are larger, because readings are then only as exact as clocks; `step` is a factor
        that they have at least. They start over after six, so that the loudest of many nodes stays within reach. Where
        readings are scripted there are `ROTATIONS` steps, and all other nodes are on the last one.
        """
        step = max(step, 1 + (max(4 * self.claims.resolution, 0.5) if packets else 2 * self.claims.resolution))
        others = [node for node in self.nodes if node != quietest]
        quiet = _QUIETEST_REAL if packets and "real-pods" in self.trial.cluster.capabilities else _QUIETEST
        steps = [1 + n % 6 if packets else min(1 + n, ROTATIONS) for n in range(len(others))]
        least = min(quiet, _LOUDEST / step ** max(steps, default=0))
        return {quietest: least, **{node: least * step**n for node, n in zip(others, steps, strict=True)}}

    def script(
        self,
        load: Mapping[str, float],
        *,
        before: Mapping[str, float] | None = None,
        changed: float = 0.0,
        totals: Mapping[str, float] = MappingProxyType({}),
        rebooted: Collection[str] = (),
        devices: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    ) -> int:
        """Put the candidate on a Prometheus of its own, and return the number of this phase of the load.

        Args:
            load: node to bytes per second, from now on. A node that is left out has no series at all.
            before: the load until then, for as long as twice the claimed window looks back; the same, if not given.
            changed: how many seconds ago the load changed.
            totals: what the counters showed when the series begin, of nodes that are not to have any total.
            rebooted: nodes whose counters started over at zero within the window.
            devices: other devices of the nodes, and the load on each.
        """
        server = self.trial.cluster.scripted_metrics()
        self._scripts.append(server)
        # What is to happen within the window must not have passed while the server was starting.
        server.wait_ready()
        now = time.time()
        past = now - changed - scripted_past(self.claims)

        def counters(rates: Mapping[str, float]) -> dict[str, Counter]:
            drawn = self._totals(rates)
            return {
                node: Counter(
                    totals.get(node, drawn[node]),
                    ((past, (before or rates)[node]), (now - changed, rate)),
                    now - self.claims.window / 4 if node in rebooted else math.inf,
                )
                for node, rate in rates.items()
            }

        step = sample_step(self.claims)
        server.script(self._device, self.claims.metric, step, counters(load))
        for device, rates in devices.items():
            server.script(device, self.claims.metric, step, counters(rates))
        self._use(server.url)
        return self._note_load(load, "scripted")

    def break_prometheus(self, fault: Fault) -> None:
        """Break the candidate's line to Prometheus until `heal_prometheus`.

        Returns when its readings are older than it claims to go without asking: from then on it must know.
        """
        self.trial.attachment.prometheus.inject(fault)
        until(time.monotonic() + self.claims.staleness)
        self._recorder.add("fault", case=self.clause, line="prometheus", fault=fault.value, on=True)

    def heal_prometheus(self) -> None:
        self.trial.attachment.prometheus.heal()
        self._recorder.add("fault", case=self.clause, line="prometheus", fault="", on=False)

    def await_refusal(self, pods: Sequence[Pod]) -> None:
        """Wait until the candidate has said of all these pods that it does not schedule them now."""
        self.await_condition(pods, "PodScheduled", REACTION)

    def expect_recovered(self, pods: Sequence[Pod]) -> None:
        """Give the candidate the time that it claims to bind these pods after an outage."""
        seconds = self.claims.recovers_within or REQUEUE.seconds
        self.expect_bound(pods, Deadline("claimed recovery", seconds, _CLAIMED))

    def await_recovery(self, phase: int) -> None:
        """Ask where to put pods until the claimed time to recover is over, or until the preference is back before it.

        That is shown by as many right answers in a row as chance does not give.
        """
        due = time.monotonic() + (self.claims.recovers_within or 0.0)
        load = self._loads[phase]
        quietest = min(load, key=lambda node: load[node])
        in_a_row = 0
        while time.monotonic() < due and in_a_row < self.probes(1):
            pod = self.pod("recovery", role="recovery", phase=phase, cpu="100m")
            self._wait_bound([pod], Deadline("claimed recovery", max(0.0, due - time.monotonic()), _CLAIMED))
            in_a_row = in_a_row + 1 if self.node_of(pod) == quietest else 0
            self.delete([pod])

    def send(self, load: Mapping[str, float]) -> int:
        """Put real packets on the nodes, and wait until a window holds nothing older. Returns the phase's number."""
        self._use(self.trial.cluster.prometheus_url)
        self._sending = True
        self.trial.cluster.set_load(load, self.claims.direction)
        phase = self._note_load(load, "packets")
        # The window must have passed, and the scrape that closes it must have been taken.
        self.wait_claimed(time.monotonic() + 2 * self.trial.cluster.scrape_interval)
        self._await_scrapes()
        return phase

    def _await_scrapes(self) -> None:
        """Wait for a window in which no scrape has failed: on a busy machine an exporter may answer too late."""
        query = f"min by ({NODE_LABEL}) (min_over_time(up[{round(self.claims.window * 1000)}ms]))"

        def probe() -> None:
            up = self._reader().traffic(query)
            if missed := [node for node in self.trial.cluster.nodes if up.get(node, 1.0) < 1]:
                raise NotYet(f"scrapes have failed of {', '.join(missed)}")

        wait_for(probe, SCRAPED, what="a window in which all scrapes succeed", poll=0.1)

    def _totals(self, load: Mapping[str, float]) -> dict[str, float]:
        """What the counters have counted so far, drawn by lot: real nodes have been up for different times.

        The quietest node has neither the smallest total nor (from three nodes on) the largest: who ranks by totals
        never does right by chance.
        """
        values = sorted(self.random.uniform(1e9, 1e12) for _ in load)
        quietest = min(load, key=lambda node: load[node])
        totals = {quietest: values.pop(len(values) // 2)}
        self.random.shuffle(values)
        return totals | dict(zip((node for node in load if node != quietest), values, strict=True))

    def reversed_totals(self, load: Mapping[str, float]) -> dict[str, float]:
        """What counters could have counted so far: the quieter a node is now, the more, by factors of ten."""
        order = sorted(load, key=lambda node: load[node], reverse=True)
        return {node: 1e9 * 10.0**number for number, node in enumerate(order)}

    @property
    def settling_node(self) -> str:
        # One that has readings: a candidate may claim to reject those that have none.
        known = self._loads[-1] if self._loads else {}
        return next((node for node in self.trial.cluster.nodes if node in known), super().settling_node)

    @property
    def other_device(self) -> str:
        """The name of a device that is not claimed, and that begins like the claimed one."""
        return f"{self._device}1"

    @property
    def look_back(self) -> float:
        """Seconds after which a change of the load is the only thing that counts: window plus refresh."""
        return self.claims.window + self.claims.staleness

    def wait_claimed(self, since: float) -> None:
        """Until window plus refresh have passed since a moment of the monotonic clock: then the claim is due."""
        until(since + self.look_back)

    def probe(self, phase: int, count: int, *, among: Collection[str] = (), **spec: Any) -> None:
        """Ask the candidate `count` times where to put a pod, one pod after the other.

        `among` are the nodes where such a pod fits; all of them, if not given.

        Then the control is asked the same, until it was wrong once in this case: that shows that the probes tell
        a scheduler that knows of traffic from one that does not.
        """
        for _ in range(count):
            begin = time.time()
            pod = self.ask("probe", phase, **spec)
            name = f"{self.trial.namespace}/{pod.name}"
            for moment in self._moments(begin, time.time()):
                reading = self._reader().traffic(self.query, moment)
                self._recorder.add("reading", case=self.clause, pod=name, query=self.query, traffic=reading)
            self.delete([pod])
        load = self._loads[phase]
        quietest = min(among or load, key=lambda node: load[node])
        self.trial.start_control()
        for _ in range(count):
            if self._control_failed:
                break
            pod = self.pod("control", role="control", phase=phase, cpu="100m", scheduler_name=CONTROL, **spec)
            self._wait_bound([pod], BIND)
            self._control_failed = self.node_of(pod) != quietest
            self.delete([pod])

    def _moments(self, begin: float, end: float) -> list[float]:
        """When the candidate may have read the traffic that it decided by; the last moment first.

        Scripted readings stay as they are. Packets on a busy machine may come late for once, and be seen by nobody
        but the candidate.
        """
        if not self._sending:
            return [end]
        steps = max(1, math.ceil((end - begin) / self.trial.cluster.scrape_interval))
        return [end - (end - begin) * number / steps for number in range(steps + 1)]

    def ask(self, role: str, phase: int, **spec: Any) -> Pod:
        """Create one pod, and give the candidate its time to bind it.

        Delete it before the next is created: then nodes stay identical but for their traffic.
        """
        pod = self.pod(role, role=role, phase=phase, cpu="100m", **spec)
        self.expect_bound([pod])
        return pod

    def probes(self, phases: int) -> int:
        """So many probes in each of `phases` phases that a chooser at random passes them all too rarely to matter."""
        return self.probes_among([len(self.trial.cluster.nodes)] * phases)

    def probes_among(self, choices: Sequence[int]) -> int:
        """The same, for phases with so many nodes to choose from."""
        return math.floor(math.log(RANDOM_LIMIT) / -sum(map(math.log, choices))) + 1

    def _note_load(self, load: Mapping[str, float], source: str) -> int:
        phase = len(self._loads)
        self._recorder.add("load", case=self.clause, phase=phase, traffic=dict(load), source=source)
        self._loads.append(dict(load))
        return phase

    def _reader(self) -> Reader:
        return self.trial.readers.at(self.trial.attachment.prometheus.upstream)

    def _use(self, url: str) -> None:
        """Exchange the server behind the candidate's tap; return when it cannot have older readings by its claim."""
        self.trial.attachment.prometheus.upstream = url
        until(time.monotonic() + self.claims.staleness)

    def close(self) -> None:
        self.trial.attachment.prometheus.heal()
        super().close()
        self.trial.attachment.prometheus.upstream = self.trial.cluster.prometheus_url
        if self._sending:
            self.trial.cluster.set_load(dict.fromkeys(self.trial.cluster.nodes, 0.0), self.claims.direction)
        for server in self._scripts:
            server.close()
