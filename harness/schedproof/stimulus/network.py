"""Stimuli of network-aware clauses: load that tells the nodes apart, and probes of the preference."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import NetworkClaims
from schedproof.candidates.kinds import ExtenderSpec
from schedproof.candidates.timing import RECOVERY
from schedproof.daemons.scrape import opposite
from schedproof.foundation.deadlines import BIND, SCRAPED, Deadline
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.judge.preference import ROTATIONS
from schedproof.normalization.surfaces.extender import ExtenderSurface
from schedproof.normalization.surfaces.life import Lives
from schedproof.stimulus.apart import ApartCase
from schedproof.stimulus.news import News
from schedproof.stimulus.pods import pod_manifest
from schedproof.stimulus.trial import CONTROL
from schedproof.traffic.readings import NODE_LABEL, node_labels, traffic_query
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from schedproof.candidates.deploy.taps import Fault
    from schedproof.clusters.cluster import ScriptedMetrics
    from schedproof.normalization.answer import Readings
    from schedproof.stimulus.pods import Pod
    from schedproof.stimulus.trial import Trial
    from schedproof.traffic.readings import Reader

__all__ = ["NetworkCase", "sample_step", "scripted_past"]

_QUIETEST, _LOUDEST = 100_000.0, 20_000_000.0
"""Bytes per second at the quietest and at most at the loudest node; Python can send some 100 MB/s in all."""
_QUIETEST_REAL = 1_000_000.0
"""At the quietest node with a kubelet, whose own traffic (some 40 kB/s, seen) must not matter."""

_UNCLAIMED = NetworkClaims("node_network_receive_bytes_total", "receive", window=30, resolution=0.1)
"""Of a candidate that is asked for its scores only, whatever they are about."""

_CLAIMED = "network.recovers-within, the candidate's own claim"


def scripted_past(claims: NetworkClaims) -> float:
    """For how many seconds scripted series reach back: windows that are full at the time of every query."""
    return 2 * claims.window + 5


def sample_step(claims: NetworkClaims) -> float:
    """Seconds between two samples of scripted series: several in each window."""
    return min(max(claims.window / 8, 0.1), 1.0)


def _margin(resolution: float) -> float:
    """How far loads are from the claimed resolution, as a share of the smaller one: a twentieth of it, or 1e-4.

    Readings are far more exact than that. All counters have samples at the same moments, so that rate() extrapolates
    them by the same factor, and windows begin and end in the same places. What is left is the rounding of totals (up to
    1e12, to 1.2e-4 bytes: 2.4e-9 of the smallest load in a window of a second), and that of candidates that count in
    whole bytes per second (1e-5 of the smallest load).
    """
    return max(resolution / 20, 1e-4)


class NetworkCase(ApartCase):
    """A case whose candidate has readings of its own, scripted or real."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        self.claims: NetworkClaims = trial.candidate.claims.network or _UNCLAIMED
        self._device = self.claims.device.format(device=trial.cluster.device)
        self.query = traffic_query(self.claims.metric, self._device, self.claims.window)
        self._scripts: list[ScriptedMetrics] = []
        self._loads: list[dict[str, float]] = []
        self._targets: dict[str, Mapping[str, str]] = {}
        """The labels of nodes that no Prometheus of the cluster scrapes."""
        self._joins: list[str] = []
        """Queries that must give the same readings."""
        self._undo_owner = contextlib.ExitStack()
        self._sending = False
        self._control_failed = False
        """Whether the control was wrong once: only then the probes tell who knows of traffic."""

    def add_named(self, addresses: Mapping[str, str]) -> list[str]:
        """As for every case; and each of them has readings, which are joined with their names in all the usual ways."""
        names = super().add_named(addresses)
        self._targets = {node: node_labels(node, addresses[node]) for node in names}
        rate = f'rate({self.claims.metric}{{device="{self._device}"}}[{round(self.claims.window * 1000)}ms])'
        named = f"{rate} * on(instance) group_left(nodename) node_uname_info"
        self._joins = [
            f'sum by ({NODE_LABEL}) (label_replace({named}, "{NODE_LABEL}", "$1", "nodename", "(.*)"))',
            f"sum by ({NODE_LABEL}) (sum by (instance) ({rate}) * on(instance) group_right() (up == 1))",
        ]
        return names

    @functools.cached_property
    def owner(self) -> dict[str, Any]:
        """The metav1.OwnerReference of all pods that are asked about; its object is there until `close`.

        It exists, or the garbage collector would delete the pods. It is a ConfigMap, because no controller adopts or
        deletes the pods of one, and because kube-scheduler spreads the pods of ReplicaSets by itself.
        """
        made = self._api.create("configmaps", {"metadata": {"generateName": "owner-"}}, self.trial.namespace)
        known = {key: made["metadata"][key] for key in ("name", "uid")}
        self._undo_owner.callback(self._api.delete_if_there, "configmaps", known["name"], self.trial.namespace)
        return {"apiVersion": "v1", "kind": "ConfigMap", "controller": True, **known}

    def ask(self, role: str, phase: int, **spec: Any) -> Pod:
        """As for every case. All these pods have one owner: what was right for one of them is not for the next."""
        return super().ask(role, phase, owner=self.owner, **spec)

    def traffic(
        self, quietest: str, *, packets: bool = False, step: float = 0.0, among: Sequence[str] = ()
    ) -> dict[str, float]:
        """Loads with one node the quietest: the next carries more by just over the claimed resolution, and so on.

        For real `packets` the steps are larger, because readings are then only as exact as clocks; `step` is a factor
        that they have at least. They start over after six, so that the loudest of many nodes stays within reach. Where
        readings are scripted there are `ROTATIONS` steps, and all other nodes are on the last one.
        """
        resolution = self.claims.resolution
        step = max(step, 1 + (max(4 * resolution, 0.5) if packets else resolution + _margin(resolution)))
        others = [node for node in among or self.nodes if node != quietest]
        quiet = _QUIETEST_REAL if packets and "real-pods" in self.trial.cluster.capabilities else _QUIETEST
        steps = [1 + n % 6 if packets else min(1 + n, ROTATIONS) for n in range(len(others))]
        least = min(quiet, _LOUDEST / step ** max(steps, default=0))
        return {quietest: least, **{node: least * step**n for node, n in zip(others, steps, strict=True)}}

    def even_out(self) -> None:
        """Let all nodes have the same readings: what is chosen then is chosen for another reason."""
        self.script(dict.fromkeys(self.nodes, _QUIETEST))

    def undecided(self, first: str, second: str) -> dict[str, float]:
        """Loads of which the two least differ by just less than the claimed resolution: either node is right."""
        load = self.traffic(first)
        resolution = self.claims.resolution
        above = max(load.values())
        load = {node: above * (1 + resolution + _margin(resolution)) for node in load}
        return load | {first: above / (1 + max(0.0, resolution - _margin(resolution))), second: above}

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
    ) -> int:
        """Put the candidate on a Prometheus of its own, and return the number of this phase of the load.

        Args:
            load: node to bytes per second, from now on. Scrapes of a node that is left out fail: `up` is 0.
            before: the load until then, for as long as twice the claimed window looks back; the same, if not given.
            changed: how many seconds ago the load changed.
            totals: what the counters showed when the series begin, of nodes that are not to have any total.
            rebooted: nodes whose counters started over at zero within the window, whenever that is asked for.
            devices: other devices of the nodes, and the load on each.
            other_way: the load in the other direction; as in `_both_ways`, if not given.
            lost: nodes that had this load, and of which there have been no samples since before the claimed window.
            nan: whether each sample is NaN: then nothing can be read, and no load is noted.
            replicated: nodes of which two replicas of Prometheus have written every series.
        """
        server = self.trial.cluster.scripted_metrics()
        self._scripts.append(server)
        # What is to happen within the window must not have passed while the server was starting.
        server.wait_ready()
        now = time.time()
        past = now - changed - scripted_past(self.claims)
        # Where nothing is known of the others any more, nothing is of the harness's own node.
        gone = {*lost, *(self.trial.reserved_nodes if not load else ())}

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
                )
                for node, rate in rates.items()
            }

        scripted = self._both_ways(self._device, counters({**load, **lost}))
        if other_way:
            scripted[opposite(self.claims.metric), self._device] = counters(other_way)
        for device, rates in devices.items():
            scripted |= self._both_ways(device, counters(rates))
        server.script(Script(scripted, sample_step(self.claims), self._targets, frozenset(replicated)))
        self._use(server.url)
        return self._note_load({} if nan else load, "scripted")

    def _both_ways(self, device: str, counters: Mapping[str, Counter]) -> dict[tuple[str, str], Mapping[str, Counter]]:
        """The claimed metric of a device, and the same the other way, in which each node counts what another one does.

        The quietest has what the loudest has, and so on: who reads the wrong direction is wrong, and a world without
        traffic has none in either.
        """
        scripted: dict[tuple[str, str], Mapping[str, Counter]] = {(self.claims.metric, device): counters}
        if other := opposite(self.claims.metric):
            order = sorted(counters, key=lambda node: counters[node].phases[-1][1])
            scripted[other, device] = {node: counters[its] for node, its in zip(order, reversed(order), strict=True)}
        return scripted

    def _with_reserved(self, load: Mapping[str, float]) -> dict[str, float]:
        """The harness's own node is as loud as the loudest: so it changes nothing about the others' ranks or scale.

        Where nothing is known of the others, nothing is of it.
        """
        return {**load, **dict.fromkeys(self.trial.reserved_nodes, max(load.values()))} if load else {}

    def empty_prometheus(self) -> None:
        """Put the candidate on a Prometheus that answers, but has nothing, as after its restart."""
        server = self.trial.cluster.scripted_metrics()
        self._scripts.append(server)
        server.wait_ready()
        self._use(server.url)
        self._note_load({}, "scripted")
        self.note_fault("empty")

    def lose_all_nodes(self) -> None:
        """Put the candidate on a Prometheus all of whose scrapes of the nodes fail."""
        self.script({})
        self.note_fault("no node")

    def take_replicas_for_one(self) -> None:
        """Read several series of a node as one counter, which several replicas of Prometheus have seen."""
        self.query = self.query.replace("sum by", "max by", 1)

    def spoil_readings(self) -> None:
        """Put the candidate on a Prometheus whose every sample of the nodes' traffic is NaN."""
        self.script(self.traffic(self.nodes[0]), nan=True)
        self.note_fault("NaN")

    def end_readings(self, load: Mapping[str, float]) -> int:
        """Put the candidate on a Prometheus that had this load until just before the claimed window. Its phase."""
        phase = self.script({}, lost=load)
        self.note_fault("stale")
        return phase

    def note_fault(self, fault: str) -> None:
        """Record that from here on there is nothing to be read from Prometheus; "": that there is again."""
        self._recorder.add("fault", case=self.clause, line="prometheus", fault=fault, on=bool(fault))

    def break_prometheus(self, fault: Fault) -> None:
        """Break the candidate's line to Prometheus until `heal_prometheus`.

        Returns when its readings are older than it claims to go without asking: from then on it must know.
        """
        self.trial.attachment.prometheus.inject(fault)
        until(time.monotonic() + self.claims.staleness)
        self.note_fault(fault.value)

    def outlast_readings(self, fault: Fault) -> None:
        """As `break_prometheus`; returns when no reading from before may be used any more, by window and refresh."""
        begin = time.monotonic()
        self.break_prometheus(fault)
        self.wait_claimed(begin)

    def heal_prometheus(self) -> None:
        """End what `break_prometheus` began."""
        self.trial.attachment.prometheus.heal()
        self.note_fault("")

    def await_refusal(self, pods: Sequence[Pod]) -> None:
        """Wait until the candidate has said of all these pods that it does not schedule them now.

        It may take as long over each as over one that it binds: what it asks of Prometheus is the same.
        """
        for pod in pods:
            self.await_condition([pod], "PodScheduled", self.deadlines.bind)

    def expect_recovered(self, pods: Sequence[Pod]) -> None:
        """Give the candidate the time that it claims to bind these pods after an outage."""
        claimed = self.claims.recovers_within
        recovery = Deadline(RECOVERY, claimed, _CLAIMED) if claimed is not None else self.deadlines.requeue
        self.expect_bound(pods, recovery)

    def await_recovery(self, phase: int) -> None:
        """Ask where to put pods until the claimed time to recover is over, or until the preference is back before it.

        That is shown by as many right answers in a row as chance does not give.
        """
        due = time.monotonic() + (self.claims.recovers_within or 0.0)
        load = self._loads[phase]
        quietest = min(load, key=lambda node: load[node])
        in_a_row = 0
        while in_a_row < self.probes(1):
            self.keep_apart()
            if time.monotonic() >= due:
                break
            pod = self.pod("recovery", role="recovery", phase=phase, cpu="100m")
            self._wait_bound([pod], Deadline(RECOVERY, max(0.0, due - time.monotonic()), _CLAIMED))
            in_a_row = in_a_row + 1 if self.node_of(pod) == quietest else 0
            self.delete([pod])
            # One that is deleted before it is bound may have been decided, and count, all the same.
            self._recorder.placed_at = self._recorder.now()

    def send(self, load: Mapping[str, float]) -> int:
        """Put real packets on the nodes, and wait until a window holds nothing older. Returns the phase's number."""
        self._use(self.trial.cluster.prometheus_url)
        self._sending = True
        self.trial.cluster.set_load(self._with_reserved(load), self.claims.direction)
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
        if not load:
            return {}
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
        return self.claims.look_back

    def wait_claimed(self, since: float) -> None:
        """Until window plus refresh have passed since a moment of the monotonic clock: then the claim is due."""
        until(since + self.look_back)

    def probe(self, phase: int, count: int, *, among: Collection[str] = (), **spec: Any) -> None:
        """Ask the candidate `count` times where to put a pod, one pod after the other.

        `among` are the nodes where such a pod fits; all of them, if not given.

        Then the control is asked the same, until it was wrong once in this case: that shows that the probes tell
        a scheduler that knows of traffic from one that does not.
        """
        load = self._loads[phase]
        quietest = min(among or load, key=lambda node: load[node])
        self.seek(phase, count, quietest, **spec)
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

    def note_readings(self, pod: Pod, begin: float) -> None:
        name = f"{self.trial.namespace}/{pod.name}"
        for moment in self._moments(begin, time.time()):
            for query in (self.query, *self._joins):
                reading = self._reader().traffic(query, moment)
                self._recorder.add("reading", case=self.clause, pod=name, query=query, traffic=reading)

    def _note_load(self, load: Mapping[str, float], source: str) -> int:
        phase = len(self._loads)
        self._recorder.add("load", case=self.clause, phase=phase, traffic=dict(load), source=source)
        self._loads.append(dict(load))
        return phase

    def _reader(self) -> Reader:
        return self.trial.readers.at(self.trial.attachment.prometheus.upstream)

    def _use(self, url: str) -> None:
        """Exchange the server behind the candidate's tap; return when it has no older readings any more."""
        self.trial.attachment.prometheus.upstream = url
        self.news.wait()

    @functools.cached_property
    def news(self) -> News:
        """What tells whether the candidate has new readings."""
        # Who counts what he has placed may take each question for a placement.
        counts = self.claims.own_placements == "counted"
        asked = self.asking(self.trial.cluster.nodes, lambda _: None) if self.claims.staleness and not counts else None

        def nudge() -> None:
            assert asked is not None
            asked.ask_for_nothing(tuple((node, None) for node in asked.nodes))
            asked.close()

        return News(self._recorder, self.claims, nudge if asked is not None else None)

    def asking(self, nodes: Sequence[str], script: Callable[[Readings], None]) -> ExtenderSurface | None:
        """Questions to the candidate about these nodes, past kube-scheduler; None where it is no extender."""
        spec, tap = self.trial.candidate.spec, self.trial.attachment.extender
        if not isinstance(spec, ExtenderSpec) or tap is None:
            return None
        pod = pod_manifest(
            f"{self._prefix}-asked", self.scheduler_name, image=self.trial.cluster.workload_image, cpu="100m"
        )
        pod["metadata"]["namespace"] = self.trial.namespace
        # Past the tap: what we ask is no part of what kube-scheduler asked, and there may be thousands of questions.
        return ExtenderSurface(
            tap.connect, spec.config,
            nodes={node: self._recorder.nodes[node] for node in nodes if node in self._recorder.nodes}, pod=pod,
            script=script, life=Lives(self.trial.attachment),
        )  # fmt: skip

    def close(self) -> None:
        attachment = self.trial.attachment
        if attachment.asks_prometheus:
            attachment.prometheus.heal()
        super().close()
        self._undo_owner.close()
        if attachment.asks_prometheus:
            attachment.prometheus.upstream = self.trial.cluster.prometheus_url
        if self._sending:
            silence = dict.fromkeys((*self.trial.cluster.nodes, *self.trial.reserved_nodes), 0.0)
            self.trial.cluster.set_load(silence, self.claims.direction)
        for server in self._scripts:
            server.close()
