"""What a test of a suite does to the world: pods, fences, and what becomes of them. It never judges."""

from __future__ import annotations

import contextlib
import math
import random
import time
from typing import TYPE_CHECKING, Any, NoReturn

from schedproof.candidates.timing import ClaimedDeadlines
from schedproof.foundation.deadlines import CANDIDATE_READY, FIRST_SCRAPE, LATE
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.judge.preference import RANDOM_LIMIT
from schedproof.stimulus.binding_webhook import BindingGate
from schedproof.stimulus.pod_changes import PodChanges
from schedproof.stimulus.pods import TOLERATE_ALL
from schedproof.stimulus.reserved import GENERATION, RESERVED
from schedproof.traffic.readings import traffic_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schedproof.candidates.claims import NetworkClaims
    from schedproof.foundation.deadlines import Deadline
    from schedproof.stimulus.pods import Pod
    from schedproof.stimulus.reserved import Turn
    from schedproof.stimulus.trial import Trial

__all__ = ["Case", "CaseOver"]

_PROPAGATION = 2.0
"""Seconds within which a watch has told everybody of a change, by far."""
_TOO_LATE = 3
"""Pods that are bound to nodes which are gone: so many show that the candidate is not merely catching up."""
_CALM = 4.0
"""Seconds: several turns of whatever polls once a second."""


class CaseOver(Exception):  # noqa: N818 - an outcome, not an error
    """The candidate has missed a deadline: the judge has what it needs, and whatever follows would only wait again."""


class Case(PodChanges):
    """The stimulus of one clause against one candidate.

    What it changes, `close` changes back, so that the next case begins in the same world.
    """

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        self.random = random.Random(f"{trial.seed}:{clause}")  # noqa: S311 - reproducible by its seed
        self.deadlines = ClaimedDeadlines.of(trial.candidate.claims.timing)
        self._over = False
        self._was_cut_off = False
        self.remove_misplaced()
        self._recorder.add("case", case=clause, phase="begin")

    @property
    def nodes(self) -> list[str]:
        """The cluster's nodes, in an order that changes with the seed."""
        return self.random.sample(list(self.trial.cluster.nodes), len(self.trial.cluster.nodes))

    # -- the candidate

    @contextlib.contextmanager
    def candidate_down(self) -> Iterator[None]:
        """A context in which the candidate's processes do not run."""
        attachment = self.trial.attachment
        attachment.halt()
        self._recorder.add("halted", case=self.clause)
        yield
        # Before it is started: what it asks for from its start on is behind the mark.
        mark = self._recorder.mark()
        attachment.resume()
        self._recorder.add("resumed", case=self.clause, **mark)

    @contextlib.contextmanager
    def second_instance(self) -> Iterator[None]:
        """A context in which a second instance of the candidate runs, and has asked the apiserver something.

        At its end both are ended, and the first is started anew: whoever led, its lease may have to run out.
        """
        attachment = self.trial.attachment
        attachment.start_second()
        self._note_election("second-started")
        try:
            user = attachment.second_user

            def heard() -> None:
                self._recorder.catch_up()
                if not any(one["kind"] == "request" and one["user"] == user for one in self._recorder.records):
                    raise NotYet(f"{user} has made no request")

            if not self._patiently(heard, CANDIDATE_READY, "the second instance to ask something"):
                reason = "its second instance asked the apiserver nothing"
                self._recorder.add("unseen", case=self.clause, rv=self._recorder.rv, reason=reason)
                self._end_early()
            yield
            self._note_election("second-ends")
        finally:
            attachment.halt()
            attachment.resume()

    @contextlib.contextmanager
    def first_frozen(self) -> Iterator[None]:
        """A context in which the first instance is halted as it is; it knows nothing of it.

        Returns when it has had the time, by its claim, to heed what happened meanwhile.
        """
        with self.trial.attachment.first_frozen():
            self._note_election("first-frozen")
            yield
        self._note_election("first-thawed")
        self.await_heeded()
        self._note_election("first-awake")

    def _note_election(self, event: str) -> None:
        self._recorder.add("election", case=self.clause, event=event, user=self.trial.attachment.second_user)

    @contextlib.contextmanager
    def apiserver_away(self) -> Iterator[None]:
        """A context in which the candidate cannot reach the apiserver; its connections end. Needs `cut-apiserver`.

        Answers that are under way are lost, also that to a Binding of which the watch has shown the effect already.
        """
        line = self.trial.attachment.apiserver
        assert line is not None
        at = self._recorder.now()
        connections, self._was_cut_off = line.cut(), True
        self._recorder.add(
            "fault", at=at, case=self.clause, line="apiserver", fault="cut", on=True, connections=connections
        )  # fmt: skip
        yield
        line.mend()
        self._recorder.add("fault", case=self.clause, line="apiserver", fault="", on=False)

    def hold_bindings(self) -> BindingGate:
        """A context in which Bindings can be held or refused. Needs the capability `hold-bindings`."""

        def record(kind: str, **fields: Any) -> None:
            self._recorder.add(kind, case=self.clause, **fields)

        return BindingGate(self.trial.cluster, self.trial.namespace, self._due(self.deadlines.bind), record)

    # -- namespaces

    def namespaces(self, **labels: Mapping[str, str]) -> list[str]:
        """Let there be more namespaces, with these labels, which stay to the end of the run; their full names.

        No binding shows that the candidate has seen them: it has the time within which it claims to heed changes.
        """
        full_names = [f"{self.trial.namespace[:50]}-{name}" for name in labels]
        for name, its_labels in zip(full_names, labels.values(), strict=True):
            self.trial.surroundings.namespace(name)
            self.trial.cluster.api.merge("namespaces", name, {"metadata": {"labels": dict(its_labels)}})
        until(time.monotonic() + self.freshness)
        return full_names

    # -- expectations

    def expect_bound(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> None:
        """Give the candidate until `deadline` to bind these pods; as long as it claims to take, if not given.

        Raises:
            CaseOver: it did not.
        """
        due = self._due(deadline or self.deadlines.bind)
        bound = self._wait_bound(pods, due)
        self._expected("bound", pods, due)
        if not bound:
            self._wait_bound(pods, LATE)
            self._end_early()
        self.trial.schedules()

    def _due(self, deadline: Deadline) -> Deadline:
        """A deadline, or that of a takeover where that is longer: the candidate has scheduled nothing since its start.

        It may have to wait until the lease of the one that was killed has run out.
        """
        takeover = self.deadlines.takeover
        return takeover if self.trial.taking_over and takeover.seconds > deadline.seconds else deadline

    def expect_pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit nowhere."""
        self.fence(**sentinel)
        self._expected("pending", pods, self.deadlines.bind)

    def expect_unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule as things are."""
        self.fence(**sentinel)
        self._expected("unwilling", pods, self.deadlines.bind)

    def fence(self, **sentinel: Any) -> None:
        """A sentinel pod that is created now and bound shows that what was created before it has had its turn."""
        guard = self.pod("sentinel", role="sentinel", **sentinel)
        self.expect_bound([guard])
        self._recorder.add("fence", case=self.clause, pod=guard.full_name, rv=self._recorder.rv)

    def expect_so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Give the candidate its time to bind `count` of these pods, whichever it likes; the others are to stay."""

        def bound() -> None:
            if (so_far := sum(bool(self.node_of(pod)) for pod in pods)) < count:
                raise NotYet(f"{so_far} of {count} are bound")

        due = self._due(self.deadlines.bind)
        if self._patiently(bound, due, "pods to be bound"):
            self.fence(**sentinel)
        in_order = sorted(pods, key=lambda pod: not self.node_of(pod))
        self._expected("bound", in_order[:count], due)
        self._expected("pending", in_order[count:], due)
        if not self.node_of(in_order[count - 1]):
            self._patiently(bound, LATE, "pods to be bound")
            self._end_early()

    def await_condition(self, pods: Sequence[Pod], condition: str, deadline: Deadline, *, reason: str = "") -> None:
        """Give the candidate until `deadline` to say something about these pods in their status; for this `reason`."""

        def said() -> None:
            for pod in pods:
                found = self._denied(pod, condition)
                if not found or reason not in ("", found.get("reason")):
                    raise NotYet(f"{pod.name} has {dict(found) or f'no {condition} condition'}")

        self._said(said, deadline, f"the condition {condition}")

    def await_decision(self, pod: Pod, deadline: Deadline) -> None:
        """Give the candidate until `deadline` to bind a pod, or to say in its status why it does not."""

        def decided() -> None:
            if not self.node_of(pod) and not self.unwillingness(pod):
                raise NotYet(f"{pod.name} is not bound, and its condition gives no reason")

        self._said(decided, self._due(deadline), "a decision")

    def unwillingness(self, pod: Pod) -> Mapping[str, str]:
        """The condition that says why a pod is not bound; empty where there is none."""
        return self._denied(pod, "PodScheduled")

    def _denied(self, pod: Pod, condition: str) -> Mapping[str, str]:
        """The condition of this type, where its status is False; empty where it is not."""
        conditions = self._recorder.pods.get(pod.uid, {}).get("status", {}).get("conditions", ())
        return next((c for c in conditions if (c["type"], c["status"]) == (condition, "False")), {})

    def nowhere_pod(self, name: str, **spec: Any) -> Pod:
        """A pod, where all nodes are gone, that waits.

        The candidate's watch of nodes may be behind ours, and a pod be bound to one that is gone: so another is
        created, until the candidate has caught up, or has missed by its claim to do so.
        """
        due = time.monotonic() + self.freshness

        def decided() -> Pod:
            pod = self.pod(name, **spec)
            self.await_decision(pod, self.deadlines.reaction)
            return pod

        late, pod = 0, decided()
        while self.node_of(pod) and late < _TOO_LATE:
            late += time.monotonic() > due
            self.delete([pod])  # or they would fill what the candidate takes for nodes
            pod = decided()
        if self.node_of(pod):
            reason = f"{late} pods were bound to nodes that had been gone for more than {self.freshness:g} s"
            self._recorder.add("unseen", case=self.clause, rv=self._recorder.rv, reason=reason)
            self._end_early()
        return pod

    def last_round(self) -> None:
        """What is left to see before a run is over.

        Two pods to bind, in case that nothing else was tried; and why those pend that it has had since its start.
        """
        with contextlib.suppress(CaseOver):
            self.expect_bound([self.pod("last", cpu="100m") for _ in range(2)])
        self.await_condition([*self.trial.waiters.values()], "PodScheduled", self.deadlines.reaction)

    def await_event(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Give the candidate until `deadline` to tell of these pods in an event."""

        def told() -> None:
            told_of = {
                r["object"].get("involvedObject", {}).get("uid")
                for r in self._recorder.records
                if r["kind"] == "object" and r["resource"] == "events"
            }
            if missing := [pod.name for pod in pods if pod.uid not in told_of]:
                raise NotYet(f"no event about {', '.join(missing)}")

        self._said(told, deadline, "an event")

    def _said(self, probe: Any, deadline: Deadline, what: str) -> None:
        """Give the candidate until `deadline` to say something. That it did not is on record."""
        if not self._patiently(probe, deadline, what):
            self._recorder.add(
                "missed", case=self.clause, what=what, within=deadline.seconds, deadline=deadline.name
            )  # fmt: skip

    def _end_early(self) -> NoReturn:
        self._over = True
        raise CaseOver(self.clause)

    def _wait_bound(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        def bound() -> None:
            waiting = [pod.name for pod in pods if not self.node_of(pod)]
            if waiting:
                raise NotYet(f"not bound: {', '.join(waiting[:5])} ({len(waiting)} of {len(pods)})")

        in_time = self._patiently(bound, deadline, "pods to be bound")
        self.trial.waited(for_nothing=not any(self.node_of(pod) for pod in pods))
        return in_time

    def _patiently(self, probe: Any, deadline: Deadline, what: str) -> bool:
        """Whether it came to pass. That it did not is for the judge to weigh, so nothing is raised.

        A candidate whose process has ended gets no more time.
        """

        def attempt() -> bool:
            self._recorder.check()
            try:
                probe()
            except NotYet:
                if self.trial.attachment.ended:
                    return False
                raise
            return True

        try:
            return wait_for(attempt, deadline, what=what, wake=self._recorder.changed)
        except DeadlineExceededError:
            return False

    def _expected(self, outcome: str, pods: Sequence[Pod], deadline: Deadline) -> None:
        self.trial.attachment.report_exits()
        for pod in pods:
            self._recorder.add(
                "expect", case=self.clause, pod=pod.full_name, uid=pod.uid, outcome=outcome,
                rv=self._recorder.rv, within=deadline.seconds, deadline=deadline.name,
            )  # fmt: skip

    def node_of(self, pod: Pod) -> str:
        """Where the watch has shown it; "" while it is not bound."""
        return str(self._recorder.pods.get(pod.uid, {}).get("spec", {}).get("nodeName", ""))

    def probes(self, phases: int) -> int:
        """So many probes in each of `phases` phases that a chooser at random passes them all too rarely to matter."""
        return self.probes_among([len(self.trial.cluster.nodes)] * phases)

    def probes_among(self, choices: Sequence[int]) -> int:
        """The same, for phases with so many nodes to choose from."""
        return math.floor(math.log(RANDOM_LIMIT) / -sum(map(math.log, choices))) + 1

    def enough_for_all(self, nodes: int) -> int:
        """So many pods that by chance each of these nodes gets one, but for a chance too small to matter."""
        return math.floor(math.log(RANDOM_LIMIT / nodes) / math.log(1 - 1 / nodes)) + 1

    # -- the world

    def even_out(self) -> None:
        """Let nodes differ in nothing that the candidate may read. Without claimed readings, nothing is to do."""

    def age(self, node: str) -> None:
        """Wait until the candidate must have heeded, by its claim, what the watch has shown of a node by now."""
        rv = int(self._recorder.nodes[node]["metadata"]["resourceVersion"])
        self.await_heeded()
        self._recorder.add("aged", case=self.clause, node=node, rv=rv, seconds=self.freshness)

    def await_heeded(self) -> None:
        """Wait until the candidate must have heeded, by its claim, whatever the watch has shown by now."""
        until(time.monotonic() + self.freshness)

    def keep_calm(self) -> None:
        """Do nothing for a while. What the candidate does meanwhile is on record."""
        begin = time.monotonic()
        self._recorder.add("calm", case=self.clause, seconds=_CALM, **self._recorder.mark())
        until(begin + _CALM)
        mark = self._recorder.mark()
        self._recorder.add("calm-over", case=self.clause, seconds=time.monotonic() - begin, **mark)

    def add_node(self, name: str, **capacity: str) -> None:
        super().add_node(name, **capacity)
        network = self.trial.candidate.claims.network
        if network is not None and network.on_missing == "reject":
            # As it claims, it has nothing to do with the node before Prometheus knows of it; and nothing but a change
            # of the cluster makes kube-scheduler ask again.
            self._await_readings(name, network)
            until(time.monotonic() + network.staleness)
            self.settle()

    def _readings(self, claims: NetworkClaims) -> Mapping[str, float]:
        """What the candidate can read of the nodes' traffic now."""
        query = traffic_query(claims.metric, claims.device.format(device=self.trial.cluster.device), claims.window)
        return self.trial.readers.at(self.trial.attachment.prometheus.upstream).traffic(query)

    def _await_readings(self, node: str, claims: NetworkClaims) -> None:
        def probe() -> None:
            if node not in self._readings(claims):
                raise NotYet(f"Prometheus has no traffic of {node}")

        wait_for(probe, FIRST_SCRAPE, what=f"Prometheus to know of {node}")

    def remove_all_nodes(self) -> None:
        self._recorder.add("emptied", case=self.clause)
        super().remove_all_nodes()

    @property
    def freshness(self) -> float:
        """Seconds within which the candidate claims to heed a change that it was told of."""
        return self.trial.candidate.claims.timing.freshness

    @property
    def settling_node(self) -> str:
        """The node by which it is shown what the candidate has seen."""
        return self.trial.cluster.nodes[0]

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the world as it is now.

        Nodes and pods reach it by watches (or polls) of their own, and both are shown: see `ReservedNode`. Who binds
        the probe elsewhere has no regard for selectors, which is not what the case is about: he gets some time.
        Where there is no such node, or it cannot be used, a label of another one shows the nodes (where nodes are not
        to be changed: that pods are bound at all); the pods have been seen once the time has passed within which the
        candidate claims to heed what it was told.
        """
        turn = self._turn()
        node, selector = "", {}
        if turn is not None:
            node, selector = RESERVED, {GENERATION: turn.label}
        elif "change-nodes" in self.trial.cluster.capabilities:
            node, selector = self.settling_node, {GENERATION: self.trial.next_generation()}
            self._api.merge("nodes", node, {"metadata": {"labels": selector}})
        cpu = turn.cpu if turn is not None else ""
        probe = self.pod("settle", role="settle", nodeSelector=selector, tolerations=TOLERATE_ALL, cpu=cpu)
        due = self._due(self.deadlines.bind)
        if not self._wait_bound([probe], due):
            selects = f"selects the newest label of {node}" if selector else "fits everywhere"
            reason = f"{probe.name} {selects}, and was bound to no node"
            self._recorder.add("unseen", case=self.clause, rv=probe.rv, reason=reason)
            self._expected("bound", [probe], due)
            self._wait_bound([probe], LATE)
            self._end_early()
        self.trial.schedules()
        seen = (turn.nodes, turn.pods) if turn is not None else (probe.rv, probe.rv)
        proof = probe.name
        if selector and self.node_of(probe) != node:
            until(time.monotonic() + _PROPAGATION)
            proof = f"{_PROPAGATION:g} s, as its selector was ignored"
        elif turn is None:
            until(time.monotonic() + self.freshness)
            proof = f"{probe.name}, and {self.freshness:g} s, as claimed"
        self._recorder.add("seen", rv=min(seen), nodes=seen[0], pods=seen[1], shown_at_rv=self._recorder.rv, pod=proof)
        self.delete([probe])

    def _turn(self) -> Turn | None:
        """A turn of the turnstile; None where there is none, or none that this candidate would pass."""
        reserved, network = self.trial.reserved, self.trial.candidate.claims.network
        if reserved is None:
            return None
        if network is not None and network.on_missing == "reject" and RESERVED not in self._readings(network):
            return None
        return reserved.turn(self.trial.next_generation())

    # -- the end

    def end(self) -> None:
        """The stimulus is over: what follows is not part of the case.

        All logs are read first: a case whose end is on record can be judged even if we are killed the next moment.
        """
        self.trial.attachment.report_exits()
        self._recorder.catch_up()
        for name, lines in self.trial.attachment.log_tails().items():
            self._recorder.add("log", case=self.clause, name=name, lines=lines)
        self._recorder.add("case", case=self.clause, phase="end", early=self._over)

    def trouble(self, text: str) -> None:
        """The harness could not do its part: the clause is `invalid`."""
        self._recorder.add("trouble", case=self.clause, text=text)

    def asserted(self, text: str) -> None:
        """A test of the user's own has found what it does not accept: its clause fails, for this reason."""
        self._recorder.add("asserted", case=self.clause, text=text)

    def restore(self) -> None:
        """Delete what was created, change back what was changed, and let the candidate see it."""
        changed = self.undo()
        # Who has missed a deadline is not waited for again. What he may not have seen is not held against him.
        if changed and not self._over and not self.trial.attachment.ended:
            with contextlib.suppress(CaseOver):
                self.settle()

    def close(self) -> None:
        """`restore`, so that the next case begins in the same world, and with a candidate that has its watches."""
        self.restore()
        if self._was_cut_off and self._over:
            with self.candidate_down():
                pass
