"""What a test of a suite does to the world: pods, nodes, fences. It never judges."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from typing import TYPE_CHECKING, Any

from schedproof.clusters.api import Api, Conflict, Manifest, NotFound
from schedproof.foundation.deadlines import BIND, NODE_READY, OBJECT_GONE, REACTION, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.stimulus.pods import Pod, pod_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schedproof.stimulus.trial import Trial

__all__ = ["Case"]

_GENERATION = "schedproof.dev/generation"
_CORDONED = "node.kubernetes.io/unschedulable"
_FILLER = "schedproof-filler"
_TOLERATE_ALL = [{"operator": "Exists"}]


class Case:
    """The stimulus of one clause against one candidate.

    What it changes, `close` changes back, so that the next case begins in the same world.
    """

    def __init__(self, trial: Trial, clause: str) -> None:
        self.trial = trial
        self.clause = clause
        self.random = random.Random(f"{trial.seed}:{clause}")  # noqa: S311 - reproducible by its seed
        self.scheduler_name = trial.candidate.scheduler_name
        self._recorder = trial.recorder
        self._api: Api = trial.cluster.api
        self._prefix = clause.replace("/", "-")
        self._numbers: dict[str, int] = {}
        self._pods: dict[str, Pod] = {}
        self._restore: dict[str, Manifest] = {}
        self._added: list[str] = []
        self._recorder.add("case", case=clause, phase="begin")

    @property
    def nodes(self) -> list[str]:
        """The cluster's nodes, in an order that changes with the seed."""
        return self.random.sample(list(self.trial.cluster.nodes), len(self.trial.cluster.nodes))

    # -- pods

    def pod(
        self,
        name: str = "probe",
        *,
        role: str = "probe",
        scheduler_name: str = "",
        phase: int = -1,
        **spec: Any,
    ) -> Pod:
        """Create a pod for the candidate (or for `scheduler_name`); see `pod_manifest` for `spec`."""
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        manifest = pod_manifest(f"{self._prefix}-{name}-{number}", scheduler_name or self.scheduler_name, **spec)
        # Before the request: what follows from the pod must not come before it in the timeline.
        at = self._recorder.now()
        created = self._api.create("pods", manifest, self.trial.namespace)
        pod = Pod.created(created)
        self._pods[pod.name] = pod
        extra = {"phase": phase} if phase >= 0 else {}
        self._recorder.add(
            "pod",
            at=at,
            case=self.clause,
            pod=f"{self.trial.namespace}/{pod.name}",
            uid=pod.uid,
            role=role,
            **extra,
        )
        return pod

    def fill(self, node: str, *, leaving_cpu: str) -> None:
        """Occupy a node's CPU with a pod that is bound from the start, but for `leaving_cpu`."""
        from schedproof.oracle.quantity import parse_quantity

        total = parse_quantity(self._node(node)["status"]["allocatable"]["cpu"])
        taken = int((total - parse_quantity(leaving_cpu)) * 1000)
        self.pod(
            "filler",
            role="filler",
            scheduler_name=_FILLER,
            node=node,
            cpu=f"{taken}m",
            tolerations=_TOLERATE_ALL,
        )

    def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, and wait until the watch has shown that they are gone."""
        for pod in pods:
            with contextlib.suppress(NotFound, Conflict):
                self._api.delete("pods", pod.name, self.trial.namespace, uid=pod.uid)
            self._pods.pop(pod.name, None)
        uids = {pod.uid for pod in pods}

        def gone() -> None:
            self._recorder.check()
            if left := uids & self._recorder.pods.keys():
                raise NotYet(f"{len(left)} pods are still there")

        wait_for(gone, OBJECT_GONE, what="deleted pods to go", wake=self._recorder.changed)

    # -- expectations

    def expect_bound(self, pods: Sequence[Pod], deadline: Deadline = BIND) -> None:
        """Give the candidate until `deadline` to bind these pods."""
        self._wait_bound(pods, deadline)
        self._expected("bound", pods, deadline)

    def expect_pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit nowhere.

        The fence: a sentinel pod that is created after them and bound shows that they have had their turn.
        """
        guard = self.pod("sentinel", role="sentinel", **sentinel)
        self.expect_bound([guard])
        self._recorder.add("fence", case=self.clause, pod=f"{self.trial.namespace}/{guard.name}", rv=self._recorder.rv)
        self._expected("pending", pods, BIND)

    def await_condition(self, pods: Sequence[Pod], condition: str, deadline: Deadline) -> None:
        """Give the candidate until `deadline` to say something about these pods in their status."""

        def said() -> None:
            for pod in pods:
                conditions = self._recorder.pods.get(pod.uid, {}).get("status", {}).get("conditions", ())
                if not any(c["type"] == condition and c["status"] == "False" for c in conditions):
                    raise NotYet(f"{pod.name} has no {condition} condition")

        self._patiently(said, deadline, f"the condition {condition}")

    def await_straggler(self) -> None:
        """Give the candidate time to say why the pod that it has had since its start is still pending."""
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

    # -- nodes

    def change_node(
        self,
        node: str,
        *,
        taints: Sequence[Mapping[str, str]] | None = None,
        labels: Mapping[str, str] | None = None,
        unschedulable: bool | None = None,
    ) -> None:
        """Replace taints, add labels, cordon. Call `settle` once all changes are made."""
        self._restore.setdefault(node, self._node(node))
        patch: Manifest = {}
        if labels is not None:
            patch["metadata"] = {"labels": dict(labels)}
        if taints is not None:
            patch.setdefault("spec", {})["taints"] = [dict(taint) for taint in taints]
        if unschedulable is not None:
            patch.setdefault("spec", {})["unschedulable"] = unschedulable
        self._api.merge("nodes", node, patch)
        if unschedulable:
            # The node controller answers with a taint; until then the world is not what it is going to be.
            self._await_taints(node, lambda keys: _CORDONED in keys)

    def _await_taints(self, node: str, wanted: Callable[[set[str]], bool]) -> None:
        def probe() -> None:
            keys = {taint["key"] for taint in self._node(node)["spec"].get("taints", ())}
            if not wanted(keys):
                raise NotYet(f"taints {sorted(keys)}")

        wait_for(probe, NODE_READY, what=f"the node controller to taint {node} as it should")

    def add_node(self, name: str, **capacity: str) -> None:
        """Let a node join, like the others but for `capacity`."""
        template = self.trial.cluster.node_template
        self._added.append(name)
        self.trial.cluster.add_node(
            name, like=dataclasses.replace(template, capacity={**template.capacity, **capacity})
        )

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the world as it is now.

        A node is given a label value that none had before; a probe that selects it is bound by nobody who has not
        seen that change of nodes and this latest of pods, and whoever follows a watch has then seen all before them.
        """
        node = self.trial.cluster.nodes[0]
        generation = self.trial.next_generation()
        self._api.merge("nodes", node, {"metadata": {"labels": {_GENERATION: generation}}})
        probe = self.pod("settle", role="settle", nodeSelector={_GENERATION: generation}, tolerations=_TOLERATE_ALL)
        if self._wait_bound([probe], BIND) and self.node_of(probe) == node:
            self._recorder.add("seen", rv=probe.rv, shown_at_rv=self._recorder.rv, pod=probe.name)
        else:
            reason = (
                f"{probe.name} selects the newest label of {node}, and was bound to {self.node_of(probe) or 'no node'}"
            )
            self._recorder.add("unseen", case=self.clause, rv=probe.rv, reason=reason)
        self.delete([probe])

    def _node(self, name: str) -> Manifest:
        return self._api.get("nodes", name)

    # -- the end

    def end(self) -> None:
        """The stimulus is over: what follows is not part of the case.

        All logs are read first: a case whose end is on record can be judged even if we are killed the next moment.
        """
        self.trial.attachment.report_exits()
        self._recorder.catch_up()
        for name, lines in self.trial.attachment.log_tails().items():
            self._recorder.add("log", case=self.clause, name=name, lines=lines)
        self._recorder.add("case", case=self.clause, phase="end")

    def trouble(self, text: str) -> None:
        """The harness could not do its part: the clause is `invalid`."""
        self._recorder.add("trouble", case=self.clause, text=text)

    def restore(self) -> None:
        """Delete what was created, change back what was changed, and let the candidate see it."""
        changed = bool(self._restore or self._pods or self._added)
        self.delete(list(self._pods.values()))
        while self._added:
            self.trial.cluster.remove_node(self._added.pop())
        while self._restore:
            name, before = self._restore.popitem()
            labels = before["metadata"]["labels"]
            gone = self._node(name)["metadata"]["labels"].keys() - labels.keys() - {_GENERATION}
            spec = {key: before["spec"].get(key) for key in ("taints", "unschedulable")}
            self._api.merge("nodes", name, {"metadata": {"labels": dict.fromkeys(gone)}, "spec": spec})
            self._await_taints(name, lambda keys: _CORDONED not in keys)
        if changed and not self.trial.attachment.ended:
            self.settle()

    def close(self) -> None:
        """`restore`, so that the next case begins in the same world."""
        self.restore()
