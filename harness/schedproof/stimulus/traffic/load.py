"""The load of the nodes as the candidate reads it: scripted, or sent in packets; and faults of its readings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from schedproof.candidate.claims import NetworkClaims
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.clusters.cluster import ScriptedMetrics
from schedproof.daemons.scrape import opposite
from schedproof.foundation.deadlines import SCRAPED
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.history.acts import LineFault, LoadSource, NodesLoad
from schedproof.history.faults import Fault
from schedproof.judge.clauses.network.preference import ROTATIONS
from schedproof.normalization.answer import Readings
from schedproof.normalization.surfaces.extender import ExtenderSurface
from schedproof.normalization.surfaces.life import Lives
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import pod_manifest
from schedproof.stimulus.traffic.new_readings import await_new_readings, remembered, takes_samples
from schedproof.stimulus.view import CandidateView
from schedproof.traffic.readings import NODE_LABEL, traffic_query
from schedproof.traffic.script import OTHER_HOSTS, UNLABELLED, Script
from schedproof.traffic.series import Bursts, Counter

_QUIETEST, _LOUDEST = 100_000.0, 20_000_000.0
"""Bytes per second at the quietest node, about, and at most at the loudest; Python can send some 100 MB/s."""
_QUIETEST_REAL = 1_000_000.0
"""At the quietest node with a kubelet, whose own traffic (measured: 40 kB/s) must not matter."""

UNCLAIMED = NetworkClaims("node_network_receive_bytes_total", "receive", window=30, resolution=0.1)
"""For a candidate without such claims, whose scores are asked for whatever they depend on."""


def scripted_past(claims: NetworkClaims) -> float:
    """Return how many seconds scripted series reach back, so that windows are full at the time of every query."""
    return 2 * claims.window + 5


def sample_step(claims: NetworkClaims) -> float:
    """Return the seconds between two samples of scripted series: several in each window."""
    return min(max(claims.window / 8, 0.1), 1.0)


def opposed(load: Mapping[str, float]) -> dict[str, float]:
    """Return a load a hundred times as high, with the most where this load has the least."""
    return {node: 100 * max(load.values()) * min(load.values()) / rate for node, rate in load.items()}


def _margin(resolution: float) -> float:
    """Return the distance of loads from the claimed resolution, relative to the smaller load: a twentieth of it, or
    1e-4.

    Readings are far more exact. All counters have samples at the same moments, so rate() extrapolates them by the
    same factor, and windows begin and end in the same places. What remains is the rounding of totals (up to 1e12, to
    1.2e-4 bytes: 2.4e-9 of the smallest load in a window of a second), and that of candidates that count whole bytes
    per second (1e-5 of the smallest load).
    """
    return max(resolution / 20, 1e-4)


class LoadChanges:
    """Changes the load, and breaks the readings of it. `heal` and `undo` restore both.

    Each load is a phase of the case; probes refer to its number.

    Attributes:
        claims: how the candidate reads the load.
        device: the network device of the nodes that it reads.
        query: returns these readings.
        joins: other queries that must return the same readings.
        phases: the loads so far, node to bytes per second.
        sends_packets: whether there has been real traffic.
    """

    def __init__(self, context: Context, claims: NetworkClaims, nodes: NodeChanges, view: CandidateView) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._nodes, self._view = nodes, view
        self.claims = claims
        self.device = claims.device.format(device=context.trial.cluster.device)
        self.query = traffic_query(claims.metric, self.device, claims.window)
        self.joins: list[str] = []
        self.phases: list[dict[str, float]] = []
        self.sends_packets = False
        self.broken_at = math.inf
        """When the candidate's line to Prometheus was last broken, on the run's clock."""
        self._servers: list[ScriptedMetrics] = []
        self._counted: Mapping[str, Counter] = {}
        """The counters of the claimed device that were scripted last."""
        self._burst: Bursts | None = None
        self._fault: Fault | None = None
        """When to create probe pods; None: at any time."""

    @property
    def targets(self) -> Mapping[str, Mapping[str, str]]:
        """The labels in the readings of idle nodes."""
        return self._nodes.targets

    def add_named(self, addresses: Mapping[str, str]) -> list[str]:
        """Add idle nodes, return their names, and set `joins` to the usual joins of their readings."""
        names = self._nodes.add_named(addresses)
        rate = f'rate({self.claims.metric}{{device="{self.device}"}}[{round(self.claims.window * 1000)}ms])'
        named = f"{rate} * on(instance) group_left(nodename) node_uname_info"
        self.joins = [
            f'sum by ({NODE_LABEL}) (label_replace({named}, "{NODE_LABEL}", "$1", "nodename", "(.*)"))',
            f"sum by ({NODE_LABEL}) (sum by (instance) ({rate}) * on(instance) group_right() (up == 1))",
        ]
        return names

    def traffic(
        self, quietest: str, *, packets: bool = False, step: float = 0.0, among: Sequence[str] = ()
    ) -> dict[str, float]:
        """Return loads with one quietest node; each next node carries just over the claimed resolution more.

        With real `packets` the steps are larger, because readings are then only as exact as clocks; `step` is the
        least factor between two nodes. Steps start over after six, so that the loudest of many nodes stays possible.
        With scripted readings there are `ROTATIONS` steps, and all further nodes are on the last one.

        The quietest load mostly has one digit less than the next: compared as texts, their order would differ.
        """
        resolution = self.claims.resolution
        step = max(step, 1 + (max(4 * resolution, 0.5) if packets else resolution + _margin(resolution)))
        others = [node for node in among or self._nodes.names if node != quietest]
        quiet = _QUIETEST_REAL if packets and "real-pods" in self._trial.cluster.capabilities else _QUIETEST
        steps = [1 + n % 6 if packets else min(1 + n, ROTATIONS) for n in range(len(others))]
        loudest = min(_LOUDEST, self._trial.cluster.largest_load) if packets else _LOUDEST
        least = min(quiet / step**0.5, loudest / step ** max(steps, default=0))
        return {quietest: least, **{node: least * step**n for node, n in zip(others, steps, strict=True)}}

    def await_burst(self) -> None:
        """Wait, if traffic comes in bursts, until a sample shows one and enough of it is left for a decision."""
        if (burst := self._burst) is None:
            return
        now = time.time()
        shown = burst.begin * burst.period + sample_step(self.claims)
        over = (burst.begin + burst.end) / 2 * burst.period + sample_step(self.claims)
        passed = (now - burst.start) % burst.period
        if not shown <= passed < over:
            until(time.monotonic() + (shown - passed) % burst.period)

    def even_out(self) -> None:
        """Give all nodes the same readings, so that choices have other reasons."""
        self.script(dict.fromkeys(self._nodes.names, _QUIETEST))

    def undecided(self, first: str, second: str) -> dict[str, float]:
        """Return loads of which the two lowest differ by just less than the claimed resolution: either node is right.

        All others differ from the second by less as well, and from the first by more.
        """
        load = self.traffic(first)
        resolution = self.claims.resolution
        least = max(load.values())
        load = {node: least * (1 + resolution + _margin(resolution)) for node in load}
        return load | {first: least, second: least * (1 + max(0.0, resolution - _margin(resolution)))}

    def script(
        self,
        load: Mapping[str, float],
        *,
        before: Mapping[str, float] | None = None,
        changed: float = 0.0,
        totals: Mapping[str, float] = MappingProxyType({}),
        rebooted: Collection[str] = (),
        devices: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
        other_way: Mapping[str, float] = MappingProxyType({}),
        lost: Mapping[str, float] = MappingProxyType({}),
        nan: bool = False,
        replicated: Collection[str] = (),
        bursts: Mapping[str, tuple[float, float]] = MappingProxyType({}),
        unlabelled: bool = False,
    ) -> int:
        """Put the candidate on a Prometheus of its own, and return the number of this phase of the load.

        Args:
            load: node to bytes per second, from now on. Scrapes of a node that is left out fail: `up` is 0.
            before: the load until then, for as long as twice the claimed window looks back; default: the same.
            changed: how many seconds ago the load changed; below 0: in how many it does.
            totals: node to the value of its counter at the start of the series; others are random.
            rebooted: nodes whose counters were reset to zero within the window, at the time of every query.
            devices: other devices of the nodes, and the load on each.
            other_way: the load in the other direction; default: as in `both_ways`.
            lost: nodes that had this load, and that have no samples since before the claimed window.
            nan: whether each sample is NaN: then nothing can be read, and no load is noted.
            replicated: nodes of which two replicas of Prometheus have written every series.
            bursts: node to the beginning and end of its traffic, as shares of each period, which is a window
                long; `load` is then its mean. Pods are created in the burst of the first of these nodes.
            unlabelled: whether the series of other hosts lack the label `node`.

        Two hosts that are no nodes are scraped as well (`OTHER_HOSTS`), unless no node has a reading: it is an outage
        only if there is no reading at all.
        """
        server = self.new_prometheus()
        now = time.time()
        past = now - max(changed, 0.0) - scripted_past(self.claims)
        # If nothing is known of the other nodes any more, nothing is known of the harness's own node.
        gone = {*lost, *(self._trial.reserved_nodes if not load else ())}

        def counters(asked: Mapping[str, float]) -> dict[str, Counter]:
            rates, earlier = self._with_reserved(asked), self._with_reserved(before or asked)
            drawn = self._totals(rates)
            return {
                node: Counter(
                    math.nan if nan else totals.get(node, drawn[node]),
                    ((past, earlier[node]), (now - changed, rate)),
                    now - self.claims.window / 4 if node in rebooted else math.inf,
                    self.claims.window,
                    now - self.look_back - sample_step(self.claims) if node in gone else math.inf,
                    Bursts(now, self.claims.window, *bursts[node]) if node in bursts else None,
                )
                for node, rate in rates.items()
            }

        claimed = counters({**self._with_reserved(load), **lost})
        if takes_samples(self._trial):
            # Its own samples go on: a jump of a counter would look like traffic.
            claimed = {
                node: counter if node in totals else counter.after(self._counted.get(node), now)
                for node, counter in claimed.items()
            }
        self._counted = claimed
        scripted = self.both_ways(claimed)
        if other_way:
            scripted[opposite(self.claims.metric), self.device] = counters(other_way)
        for device, rates in devices.items():
            scripted |= self.both_ways(counters(rates), device)
        hosts = (UNLABELLED if unlabelled else OTHER_HOSTS) if load and not nan else {}
        server.script(Script(scripted, sample_step(self.claims), self.targets, frozenset(replicated), hosts))
        self._burst = Bursts(now, self.claims.window, *next(iter(bursts.values()))) if bursts else None
        if self._fault is not None and self._fault.place == "readings":
            self._note_fault(None)
        self.use(server.url)
        return self._note_load({} if nan else load, "scripted")

    def both_ways(
        self, counters: Mapping[str, Counter], device: str = ""
    ) -> dict[tuple[str, str], Mapping[str, Counter]]:
        """Return counters of the claimed metric of a device, and of the opposite direction with the nodes' loads
        swapped.

        `device`: default: the claimed one. In the opposite direction the quietest node has the traffic of the
        loudest, and so on: reading the wrong direction leads to wrong choices. A world without traffic has none in
        either.
        """
        device = device or self.device
        scripted: dict[tuple[str, str], Mapping[str, Counter]] = {(self.claims.metric, device): counters}
        if other := opposite(self.claims.metric):
            order = sorted(counters, key=lambda node: counters[node].phases[-1][1])
            scripted[other, device] = {
                node: counters[other_node] for node, other_node in zip(order, reversed(order), strict=True)
            }
        return scripted

    def new_prometheus(self) -> ScriptedMetrics:
        """Start a server that can be scripted, and wait until it is ready: otherwise a window could end before."""
        server = self._trial.cluster.scripted_metrics()
        self._servers.append(server)
        server.wait_ready()
        return server

    def end_others(self, server: ScriptedMetrics) -> None:
        """End all servers but this one, which the candidate reads now."""
        for other in self._servers:
            if other is not server:
                other.close()
        self._servers = [server]

    def _with_reserved(self, load: Mapping[str, float]) -> dict[str, float]:
        """Add the harness's own node to a load, as loud as the loudest, so the ranks and scale of others do not change.

        A rate that `load` already has for it stays. An empty load stays empty.
        """
        return {**dict.fromkeys(self._trial.reserved_nodes, max(load.values())), **load} if load else {}

    def end_all_readings(self, fault: Fault, before: Mapping[str, float] | None = None) -> int:
        """Put the candidate on a Prometheus that has this fault until the next script; return the phase.

        before: the load of the nodes until their readings became stale.
        """
        if fault is Fault.EMPTY:
            self.use(self.new_prometheus().url)
            phase = self._note_load({}, "scripted")
        elif fault is Fault.NAN:
            phase = self.script(self.traffic(self._nodes.names[0]), nan=True)
        else:
            phase = self.script({}, lost=before or {})
        self._note_fault(fault)
        return phase

    def count_replicas_once(self) -> None:
        """Query the maximum of several series of a node, which several replicas of Prometheus wrote of one counter."""
        self.query = self.query.replace("sum by", "max by", 1)

    def _note_fault(self, fault: Fault | None) -> None:
        """Record from when on Prometheus has a fault, and None: that it has none any more."""
        self._fault = fault
        record = LineFault(case=self._context.clause, line="prometheus", fault=fault or "", on=fault is not None)
        self._recorder.add(record)

    def break_prometheus(self, fault: Fault) -> None:
        """Break the candidate's line to Prometheus until `heal_prometheus`.

        Returns when its readings are older than its claimed refresh allows: from then on it must notice the fault.
        """
        self.broken_at = self._recorder.now()
        self._trial.attachment.prometheus.inject(fault)
        until(time.monotonic() + self.claims.staleness)
        self._note_fault(fault)

    def close_idle(self) -> None:
        """Close the candidate's connections to Prometheus, as any server may do while no request is under way.

        Nothing happens if it polls: a query may be under way then.
        """
        if not self.claims.refresh:
            self._trial.attachment.prometheus.inject(Fault.DOWN)
            self._trial.attachment.prometheus.heal()

    def outlast_readings(self, fault: Fault) -> None:
        """Like `break_prometheus`; returns when no earlier reading may be used any more, by window and refresh.

        A candidate that polls, and whose request hangs, may not notice a fault before its timeout. It gets as long
        as it claims to take for a pod.
        """
        begin = time.monotonic()
        self.break_prometheus(fault)
        self.wait_claimed(begin)
        if fault is Fault.HANG and self.claims.refresh:
            until(begin + self._context.deadlines.bind.seconds)

    def heal_prometheus(self) -> None:
        """End the fault of `break_prometheus`. A request without a response still gets none: see `Tap.heal`."""
        if self._fault is None:
            return
        self._trial.attachment.prometheus.heal()
        self._note_fault(None)

    def send(self, load: Mapping[str, float]) -> int:
        """Send real packets to the nodes, wait until a window holds nothing older, and return the phase."""
        self.use(self._trial.cluster.prometheus_url)
        self.sends_packets = True
        self._trial.cluster.set_load(self._with_reserved(load), self.claims.direction)
        phase = self._note_load(load, "packets")
        # The window must have passed, and the scrape that closes it must have been taken.
        self.wait_claimed(time.monotonic() + 2 * self._trial.cluster.scrape_interval)
        self._await_scrapes()
        return phase

    def _await_scrapes(self) -> None:
        """Wait for a window without failed scrapes: on a busy machine an exporter may respond too late."""
        query = f"min by ({NODE_LABEL}) (min_over_time(up[{round(self.claims.window * 1000)}ms]))"

        def probe() -> None:
            up = self.reading(query)
            if missed := [node for node in self._trial.cluster.nodes if up.get(node, 1.0) < 1]:
                raise NotYet(f"scrapes failed of {', '.join(missed)}")

        wait_for(probe, SCRAPED, what="a window in which all scrapes succeed", poll=0.1)

    def _totals(self, load: Mapping[str, float]) -> dict[str, float]:
        """Return random values of the counters so far: real nodes have been up for different times.

        The quietest node has neither the smallest total nor (from three nodes on) the largest, so a scheduler that
        ranks by totals is never right by chance.
        """
        if not load:
            return {}
        values = sorted(self._context.random.uniform(1e9, 1e12) for _ in load)
        quietest = min(load, key=lambda node: load[node])
        totals = {quietest: values.pop(len(values) // 2)}
        self._context.random.shuffle(values)
        return totals | dict(zip((node for node in load if node != quietest), values, strict=True))

    def reversed_totals(self, load: Mapping[str, float]) -> dict[str, float]:
        """Return values of the counters so far that are the higher, by factors of ten, the quieter a node is now."""
        order = sorted(load, key=lambda node: load[node], reverse=True)
        return {node: 1e9 * 10.0**number for number, node in enumerate(order)}

    @property
    def other_devices(self) -> tuple[str, ...]:
        """Names of devices that are not claimed: the first ends like the claimed one, the second begins like it.

        In the order of labels, the first mostly comes before it, and the second after it. The last is loopback.
        """
        return f"br-{self.device}", f"{self.device}1", "lo"

    @property
    def look_back(self) -> float:
        """Seconds after a change of the load from which only the new load counts: window plus refresh."""
        return self.claims.look_back

    def wait_claimed(self, since: float) -> None:
        """Wait until window plus refresh have passed since a moment of the monotonic clock."""
        until(since + self.look_back)

    def _note_load(self, load: Mapping[str, float], source: LoadSource) -> int:
        phase = len(self.phases)
        self._recorder.add(NodesLoad(case=self._context.clause, phase=phase, traffic=dict(load), source=source))
        self.phases.append(dict(load))
        self._view.use_one_of(load)
        return phase

    def reading(self, query: str, moment: float | None = None) -> Mapping[str, float]:
        """Return the result of a query to the candidate's Prometheus at `moment` (seconds since the epoch) or now."""
        return self._trial.readers.at(self._trial.attachment.prometheus.upstream).traffic(query, moment)

    @property
    def news_take_time(self) -> bool:
        """Whether `use` waits for the candidate."""
        claimed = self._trial.candidate.claims.network is not None
        return self.claims.staleness > 0 or (claimed and remembered(self._trial) > 0)

    @property
    def failure(self) -> str:
        """Why readings of this case are missing that the harness was to serve; "" if none are."""
        return next((server.failure for server in self._servers if server.failure), "")

    def note_queries(self) -> None:
        """Record which metrics the candidate's queries read, and which of the servers of this case have them."""
        own, at = self._trial.cluster.prometheus_url, self._trial.readers.at
        scripted = (at(server.url).metrics for server in self._servers)
        self._trial.queries.note(scripted, at(own).metrics if own else set)

    def use(self, url: str) -> None:
        """Replace the server behind the candidate's tap, and wait until the candidate has no older readings."""
        self._trial.attachment.prometheus.upstream = url
        await_new_readings(self._trial)

    def asking(self, nodes: Sequence[str], script: Callable[[Readings], None]) -> ExtenderSurface | None:
        """Return a surface that asks the candidate about these nodes directly; None if it is not an extender."""
        spec, tap = self._trial.candidate.spec, self._trial.attachment.extender
        if not isinstance(spec, ExtenderSpec) or tap is None:
            return None
        pod = pod_manifest(
            f"{self._context.prefix}-asked",
            self._trial.candidate.scheduler_name,
            image=self._trial.cluster.workload_image,
            cpu="100m",
        )
        pod["metadata"]["namespace"] = self._trial.namespace
        # Not through the tap: these questions are not kube-scheduler's, and there may be thousands.
        return ExtenderSurface(
            tap.connect, spec.config,
            nodes={node: self._recorder.nodes[node] for node in nodes if node in self._recorder.nodes}, pod=pod,
            script=script, life=Lives(self._trial.attachment),
        )  # fmt: skip

    def heal(self) -> None:
        """Restore the candidate's line to Prometheus after any fault."""
        if self._trial.attachment.asks_prometheus:
            self._trial.attachment.prometheus.heal()
            # A client that waits forever must fail only this case.
            self._trial.attachment.prometheus.release()

    def undo(self) -> None:
        """Put the candidate back on the cluster's Prometheus, and stop the traffic of the nodes."""
        attachment, cluster = self._trial.attachment, self._trial.cluster
        if attachment.asks_prometheus:
            attachment.prometheus.upstream = cluster.prometheus_url
        if self.sends_packets:
            silence = dict.fromkeys((*cluster.nodes, *self._trial.reserved_nodes), 0.0)
            cluster.set_load(silence, self.claims.direction)
        for server in self._servers:
            server.close()
