"""Shows what the candidate has seen of the cluster: by pods that it binds, or by waiting for its claimed freshness."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from schedproof.candidate.claims import NetworkClaims
from schedproof.foundation.deadlines import FIRST_SCRAPE, Deadline
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.history.acts import Aged, ShownSeen
from schedproof.history.world import RESERVED
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.reserved import ADMITTED, GENERATION, Turn
from schedproof.stimulus.status import PodStatus
from schedproof.traffic.readings import traffic_query

_PROPAGATION = 2.0
"""Seconds within which every watch has shown a change, by far."""
_TOO_LATE = 3
"""Number of pods bound to removed nodes that shows that the candidate is not merely catching up."""


class CandidateView:
    """Waits until the candidate, and not only the apiserver, has seen the current state of the cluster."""

    def __init__(self, context: Context, pods: PodChanges, expect: Expectations, status: PodStatus) -> None:
        self._context, self._trial = context, context.trial
        self._recorder, self._cluster = context.recorder, context.trial.cluster
        self._pods, self._expect, self._status = pods, expect, status
        self._node = self._cluster.nodes[0]
        """The node whose label shows what the candidate has seen, if there is no reserved node."""

    def use_one_of(self, nodes: Mapping[str, float]) -> None:
        """From now on, show what the candidate has seen by the label of one of these nodes, which have readings.

        A candidate may claim to reject nodes without readings.
        """
        known = (node for node in self._cluster.nodes if node in nodes)
        self._node = next(known, self._cluster.nodes[0])

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the current state of the cluster.

        Nodes and pods reach it by separate watches (or polls), and the reserved node shows both: see `ReservedNode`.
        A candidate that binds the probe to another node ignores selectors, which the case is not about: it gets
        `_PROPAGATION` seconds. If there is no reserved node, a label of another node shows that nodes were seen, and
        pods count as seen once the claimed freshness has passed. Nodes do so too after any Binding, if they may not be
        changed, or if the candidate binds other pods but none to the reserved node, for example because of its cordon.
        """
        turn = self._turn()
        node, selector = "", {}
        if turn is not None:
            node, selector = RESERVED, {GENERATION: turn.label}
        elif "change-nodes" in self._cluster.capabilities and "avoids-reserved" not in self._trial.shown.habits:
            node, selector = self._node, {GENERATION: self._trial.next_generation()}
            self._context.api.merge("nodes", node, {"metadata": {"labels": selector}})
        cpu = turn.cpu if turn is not None else ""
        probe = self._probe(nodeSelector=selector, tolerations=ADMITTED, cpu=cpu)
        due = self._expect.due(self._context.deadlines.bind)
        in_time = self._expect.wait_bound([probe], due)
        if not in_time and self._pods.remove_misplaced():
            # A misplaced pod occupied the room of the probe.
            in_time = self._expect.wait_bound([probe], due)
        if not in_time and turn is not None and self._binds_elsewhere(due):
            self._trial.note(self._context.clause, "avoids-reserved")
            self._pods.delete([probe])
            self.settle()
            return
        if not in_time:
            due = self._expect.due(self._context.deadlines.bind)
            selects = f"selects the newest label of {node}" if selector else "fits everywhere"
            self._expect.unseen(f"{probe.name} {selects}, but was not bound within {due.seconds:g} s", rv=probe.rv)
            self._expect.note_due([probe], due)
            self._expect.end_early()
        self._trial.schedules()
        seen = (turn.nodes, turn.pods) if turn is not None else (probe.rv, probe.rv)
        proof = probe.name
        if selector and self._pods.node_of(probe) != node:
            if self._pods.node_of(probe):
                self._trial.note(self._context.clause, "ignores-selectors")
            until(time.monotonic() + _PROPAGATION)
            proof = f"{_PROPAGATION:g} s, as its selector was ignored"
        elif turn is None:
            self.await_freshness()
            proof = f"{probe.name}, and {self._context.freshness:g} s, as claimed"
        nodes, pods = seen
        self._recorder.add(ShownSeen(rv=min(seen), nodes=nodes, pods=pods, shown_at_rv=self._recorder.rv, pod=proof))
        self._pods.delete([probe])

    def _binds_elsewhere(self, due: Deadline) -> bool:
        """Return whether the candidate binds a pod that selects no node."""
        pod = self._probe()
        bound = self._expect.wait_bound([pod], due)
        self._pods.delete([pod])
        return bound

    def _probe(self, **spec: Any) -> Pod:
        return self._pods.create("settle", role="settle", plain=True, **spec)

    def _turn(self) -> Turn | None:
        """Return a turn of the reserved node; None if there is no such node, or if the candidate would reject it."""
        reserved, network = self._trial.reserved, self._trial.candidate.claims.network
        if reserved is None or "avoids-reserved" in self._trial.shown.habits:
            return None
        if network is not None and network.on_missing == "reject" and RESERVED not in self._readings(network):
            return None
        return reserved.turn(self._trial.next_generation())

    def _readings(self, claims: NetworkClaims) -> Mapping[str, float]:
        """Return the traffic of each node, in bytes per second, that the candidate can read from Prometheus now."""
        query = traffic_query(claims.metric, claims.device.format(device=self._cluster.device), claims.window)
        return self._trial.readers.at(self._trial.attachment.prometheus.upstream).traffic(query)

    def joined(self, node: str, *, left: float | None = None) -> None:
        """Wait until a candidate that rejects nodes without readings can use a node that has just joined.

        By its claim (`on-missing: reject`) it does not use the node before Prometheus has readings of it, and only a
        change of the cluster makes kube-scheduler try again. `left` is the moment of the monotonic clock at which a
        node of the same name left: the readings of that node, which had another address, must have expired first.
        """
        network = self._trial.candidate.claims.network
        if network is None or network.on_missing != "reject":
            return

        def probe() -> None:
            if node not in self._readings(network):
                raise NotYet(f"Prometheus has no traffic of {node}")

        if left is not None:
            until(left + self._cluster.scrape_interval + network.window)
        wait_for(probe, FIRST_SCRAPE, what=f"Prometheus to have readings of {node}")
        until(time.monotonic() + network.staleness)
        self.settle()

    def age(self, node: str = "") -> None:
        """Wait for the claimed freshness, and record that the candidate must act on the node's current state now.

        Without `node`: on all that the watch has shown when the wait begins.
        """
        rv = int(self._recorder.nodes[node]["metadata"]["resourceVersion"]) if node else self._recorder.rv
        kept = self.await_freshness()
        self._recorder.add(
            Aged(case=self._context.clause, node=node, rv=rv, seconds=self._context.freshness, kept=kept)
        )

    def await_freshness(self) -> dict[str, float]:
        """Wait for the claimed freshness, after which the candidate acts on all that the watch has shown by now.

        Returns the seconds for which processes were kept from running meanwhile; see `UsableTime.let_pass`.
        """
        kept: dict[str, float] = self._context.trial.usable_time.let_pass(self._context.freshness)
        return kept

    def await_back_off(self) -> None:
        """Wait for the claimed time to try a pod again, after which no pod backs off that nothing has woken."""
        self._context.trial.usable_time.let_pass(self._context.deadlines.requeue.seconds)

    def nowhere_pod(self, name: str, **spec: Any) -> Pod:
        """Create a pod that stays pending after all nodes were removed.

        The candidate's watch may be behind, and the candidate may bind a pod to a removed node. Further pods are then
        created until it has caught up, or until `_TOO_LATE` of them were bound after its claimed freshness.
        """
        freshness = self._context.freshness
        begin, interval = time.monotonic(), self._context.trial.usable_time.begin()

        def decided() -> Pod:
            pod = self._pods.create(name, **spec)
            self._status.await_decision(pod, self._context.deadlines.reaction)
            return pod

        late, pod = 0, decided()
        while self._pods.node_of(pod) and late < _TOO_LATE:
            late += time.monotonic() > begin + freshness + interval.extension(freshness)
            self._pods.delete([pod])  # it would take room on the removed nodes in the candidate's cache
            pod = decided()
        if self._pods.node_of(pod):
            self._expect.unseen(f"{late} pods were bound to nodes that had been gone for more than {freshness:g} s")
            self._expect.end_early()
        return pod
