"""What a test of a suite does to the world: pods, fences, and what becomes of them. It never judges."""

from __future__ import annotations

import contextlib
import random
import time
from typing import TYPE_CHECKING, Any, NoReturn

from schedproof.foundation.deadlines import BIND, FIRST_SCRAPE, REACTION, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.metrics.readings import traffic_query
from schedproof.stimulus.gate import BindingGate
from schedproof.stimulus.node_changes import GENERATION
from schedproof.stimulus.pod_changes import TOLERATE_ALL, PodChanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schedproof.candidates.claims import NetworkClaims
    from schedproof.stimulus.pods import Pod
    from schedproof.stimulus.trial import Trial

__all__ = ["Case", "CaseOver"]

_PROPAGATION = 2.0
"""Seconds within which a watch has told everybody of a change, by far."""
_CATCHING_UP = 100
"""Pods. Each takes milliseconds to be bound: on a busy machine a watch is behind by some tenths of a second."""
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
        self._over = False
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
        attachment.resume()
        self._recorder.add("resumed", case=self.clause)

    def hold_bindings(self) -> BindingGate:
        """A context in which Bindings can be held or refused. Needs the capability `hold-bindings`."""
        return BindingGate(self.trial.cluster, self.trial.namespace)

    # -- expectations

    def expect_bound(self, pods: Sequence[Pod], deadline: Deadline = BIND) -> None:
        """Give the candidate until `deadline` to bind these pods.

        Raises:
            CaseOver: it did not.
        """
        bound = self._wait_bound(pods, deadline)
        self._expected("bound", pods, deadline)
        if not bound:
            self._end_early()

    def expect_pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit nowhere."""
        self.fence(**sentinel)
        self._expected("pending", pods, BIND)

    def expect_unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule as things are."""
        self.fence(**sentinel)
        self._expected("unwilling", pods, BIND)

    def fence(self, **sentinel: Any) -> None:
        """A sentinel pod that is created now and bound shows that what was created before it has had its turn."""
        guard = self.pod("sentinel", role="sentinel", **sentinel)
        self.expect_bound([guard])
        self._recorder.add("fence", case=self.clause, pod=f"{self.trial.namespace}/{guard.name}", rv=self._recorder.rv)

    def expect_so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Give the candidate its time to bind `count` of these pods, whichever it likes; the others are to stay."""

        def bound() -> None:
            if (so_far := sum(bool(self.node_of(pod)) for pod in pods)) < count:
                raise NotYet(f"{so_far} of {count} are bound")

        if self._patiently(bound, BIND, "pods to be bound"):
            self.fence(**sentinel)
        in_order = sorted(pods, key=lambda pod: not self.node_of(pod))
        self._expected("bound", in_order[:count], BIND)
        self._expected("pending", in_order[count:], BIND)
        if not self.node_of(in_order[count - 1]):
            self._end_early()

    def await_condition(self, pods: Sequence[Pod], condition: str, deadline: Deadline) -> None:
        """Give the candidate until `deadline` to say something about these pods in their status."""

        def said() -> None:
            for pod in pods:
                if not self._denied(pod, condition):
                    raise NotYet(f"{pod.name} has no {condition} condition")

        self._patiently(said, deadline, f"the condition {condition}")

    def await_decision(self, pod: Pod, deadline: Deadline) -> None:
        """Give the candidate until `deadline` to bind a pod, or to say in its status why it does not."""

        def decided() -> None:
            if not self.node_of(pod) and not self.unwillingness(pod):
                raise NotYet(f"{pod.name} is not bound, and nobody says why")

        self._patiently(decided, deadline, "a decision")

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
        created, until the candidate has caught up.
        """

        def decided() -> Pod:
            pod = self.pod(name, **spec)
            self.await_decision(pod, REACTION)
            return pod

        pods = (decided() for _ in range(_CATCHING_UP))
        waiting = next((pod for pod in pods if not self.node_of(pod)), None)
        if waiting is None:
            reason = f"{_CATCHING_UP} pods, one after the other, were bound to nodes that were gone"
            self._recorder.add("unseen", case=self.clause, rv=self._recorder.rv, reason=reason)
            self._end_early()
        return waiting

    def last_round(self) -> None:
        """What is left to see before a run is over.

        Two pods to bind, in case that nothing else was tried; and why the pod that it has had since its start pends.
        """
        with contextlib.suppress(CaseOver):
            self.expect_bound([self.pod("last", cpu="100m") for _ in range(2)])
        self.await_condition([self.trial.straggler], "PodScheduled", REACTION)

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

        self._patiently(told, deadline, "events")

    def _end_early(self) -> NoReturn:
        self._over = True
        raise CaseOver(self.clause)

    def _wait_bound(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        def bound() -> None:
            waiting = [pod.name for pod in pods if not self.node_of(pod)]
            if waiting:
                raise NotYet(f"not bound: {', '.join(waiting[:5])} ({len(waiting)} of {len(pods)})")

        return self._patiently(bound, deadline, "pods to be bound")

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
                "expect", case=self.clause, pod=f"{self.trial.namespace}/{pod.name}", uid=pod.uid, outcome=outcome,
                rv=self._recorder.rv, within=deadline.seconds, deadline=deadline.name,
            )  # fmt: skip

    def node_of(self, pod: Pod) -> str:
        """Where the watch has shown it; "" while it is not bound."""
        return str(self._recorder.pods.get(pod.uid, {}).get("spec", {}).get("nodeName", ""))

    # -- the world

    def keep_calm(self) -> None:
        """Do nothing for a while. What the candidate does meanwhile is on record."""
        self._recorder.add("calm", case=self.clause, seconds=_CALM)
        until(time.monotonic() + _CALM)

    def add_node(self, name: str, **capacity: str) -> None:
        super().add_node(name, **capacity)
        network = self.trial.candidate.claims.network
        if network is not None and network.on_missing == "reject":
            # As it claims, it has nothing to do with the node before Prometheus knows of it; and nothing but a change
            # of the cluster makes kube-scheduler ask again.
            self._await_readings(name, network)
            until(time.monotonic() + network.staleness)
            self.settle()

    def _await_readings(self, node: str, claims: NetworkClaims) -> None:
        query = traffic_query(claims.metric, claims.device.format(device=self.trial.cluster.device), claims.window)
        reader = self.trial.readers.at(self.trial.cluster.prometheus_url)

        def probe() -> None:
            if node not in reader.traffic(query):
                raise NotYet(f"{query} has nothing of {node}")

        wait_for(probe, FIRST_SCRAPE, what=f"Prometheus to know of {node}")

    def remove_all_nodes(self) -> None:
        self._recorder.add("emptied", case=self.clause)
        super().remove_all_nodes()

    @property
    def settling_node(self) -> str:
        """The node by which it is shown what the candidate has seen."""
        return self.trial.cluster.nodes[0]

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the world as it is now.

        A node is given a label value that none had before; a probe that selects it is bound by nobody who has not
        seen that change of nodes and this latest of pods, and whoever follows a watch has then seen all before them.
        Who binds it elsewhere has no regard for selectors, which is not what the case is about: he gets some time.
        Where nodes are not to be changed, only pods have: a probe that selects no node shows that they were seen.
        """
        node, selector = "", {}
        if "change-nodes" in self.trial.cluster.capabilities:
            node, selector = self.settling_node, {GENERATION: self.trial.next_generation()}
            self._api.merge("nodes", node, {"metadata": {"labels": selector}})
        probe = self.pod("settle", role="settle", nodeSelector=selector, tolerations=TOLERATE_ALL)
        if not self._wait_bound([probe], BIND):
            selects = f"selects the newest label of {node}" if selector else "fits everywhere"
            reason = f"{probe.name} {selects}, and was bound to no node"
            self._recorder.add("unseen", case=self.clause, rv=probe.rv, reason=reason)
            self._expected("bound", [probe], BIND)
            self._end_early()
        shown = not selector or self.node_of(probe) == node
        if not shown:
            until(time.monotonic() + _PROPAGATION)
        pod = probe.name if shown else f"{_PROPAGATION:g} s, as its selector was ignored"
        self._recorder.add("seen", rv=probe.rv, shown_at_rv=self._recorder.rv, pod=pod)
        self.delete([probe])

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

    def restore(self) -> None:
        """Delete what was created, change back what was changed, and let the candidate see it."""
        changed = self.undo()
        # Who has missed a deadline is not waited for again. What he may not have seen is not held against him.
        if changed and not self._over and not self.trial.attachment.ended:
            with contextlib.suppress(CaseOver):
                self.settle()

    def close(self) -> None:
        """`restore`, so that the next case begins in the same world."""
        self.restore()
