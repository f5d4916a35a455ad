"""Tries the worked examples that a plugin claims for its extension points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.candidate.points import FilterExample, OrderExample, PartOfPod, PointClaims, ScoreExample
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.view import CandidateView

_OTHERS = 15
"""Pods that rank behind the first pod. A scheduler without an order picks the first pod three times in a row by chance
in 1 of 4,096 tries."""
_BATCHES = 4
"""Starts of a scheduler with a pair of pods; see `PointStimulus.try_batch`."""
_PAIR = "schedproof.dev/pair"


class PointStimulus:
    """Tries the worked examples in `claimed`."""

    def __init__(
        self,
        context: Context,
        pods: PodChanges,
        nodes: NodeChanges,
        expect: Expectations,
        view: CandidateView,
        candidate: CandidateChanges,
        chance: Chance,
    ) -> None:
        self.claimed: PointClaims = context.trial.candidate.claims.points
        self._deadlines = context.deadlines
        self._pods, self._nodes, self._candidate = pods, nodes, candidate
        self._expect, self._view, self._chance = expect, view, chance

    def try_filter(self, examples: Sequence[FilterExample]) -> None:
        """Create a pod for each example that selects a node with the example's labels.

        A pod that does not fit waits. If the same pod fits by another example, the node gets that example's labels, and
        then a pod may choose between a node of each kind. If a pod that differs only in labels and annotations fits on
        the node, a waiting pod is given these.
        """
        node, *others = self._nodes.names
        for example in examples:
            pod, labels = self._try(node, example), example.node_labels
            better = next((other for other in examples if other.fits and other.pod == example.pod), None)
            if not example.fits and better is not None:
                self._label(node, labels, better.node_labels)
                labels = better.node_labels
                self._expect.bound([pod], self._deadlines.requeue)
            self._pods.delete([pod])
            self._label(node, labels, {})
            if not example.fits:
                self._try_updates(node, example, examples)
            if not example.fits and better is not None and others:
                self._try_beside(node, example, others[0], better)

    def _try(self, node: str, example: FilterExample) -> Pod:
        """Create the example's pod for this node, and expect its outcome. The node keeps the example's labels."""
        self._label(node, {}, example.node_labels)
        self._view.settle()
        pod = self._for(node, example.pod)
        (self._expect.bound if example.fits else self._expect.unwilling)([pod])
        return pod

    def _try_updates(self, node: str, example: FilterExample, examples: Sequence[FilterExample]) -> None:
        """Let the example's pod wait for a node, then give it the labels and annotations of a pod that fits there."""
        spec = example.pod.spec
        for other in examples:
            if not other.fits or other.node_labels != example.node_labels or other.pod.spec != spec:
                continue
            pod = self._try(node, example)
            self._pods.patch(pod, {"metadata": _changed(example.pod, other.pod)})
            self._expect.bound([pod], self._deadlines.requeue)
            self._pods.delete([pod])
            self._label(node, example.node_labels, {})

    def _try_beside(self, node: str, example: FilterExample, other: str, better: FilterExample) -> None:
        """Create a pod that selects two nodes: by the examples, it does not fit on `node` and fits on `other`.

        A plugin that returns an error for the first keeps the pod off both.
        """
        pair = {
            name: {**labels, _PAIR: "yes"}
            for name, labels in ((node, example.node_labels), (other, better.node_labels))
        }
        for name, labels in pair.items():
            self._label(name, {}, labels)
        self._view.settle()
        pod = self._where({_PAIR: "yes"}, example.pod)
        self._expect.bound([pod])
        self._pods.delete([pod])
        for name, labels in pair.items():
            self._label(name, labels, {})

    def _label(self, node: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        if changed := {**dict.fromkeys(before), **after}:
            self._nodes.change(node, labels=changed)

    def try_score(self, example: ScoreExample, number: int) -> None:
        """Make each node the better node in turn, and have a few pods bound each time.

        A random choice passes all of it with a probability below `RANDOM_LIMIT`.
        """
        nodes = self._nodes.names
        each = -(-self._chance.probes(1) // len(nodes))
        for best in nodes:
            for node in nodes:
                self._nodes.change(node, labels=example.better if node == best else example.worse)
            self._view.settle()
            for _ in range(each):
                pod = self._scored(example, number, cpu="50m")
                self._expect.bound([pod])
                self._pods.delete([pod])

    def try_score_updates(self, examples: Sequence[ScoreExample], pair: tuple[int, int]) -> None:
        """Change a pending pod of an example into that of another example with the opposite preference; and vice versa.

        Then the pod tolerates the taint that kept it off all nodes. If the pods differ in more than labels and
        annotations, nothing is tried: most of a pod's spec is immutable.
        """
        first, second = (examples[number] for number in pair)
        if first.pod.spec != second.pod.spec:
            return
        nodes, reserved = self._nodes.names, "schedproof.dev/reserved"
        taint, tolerated = {"key": reserved, "effect": "NoSchedule"}, {"key": reserved, "operator": "Exists"}
        for index, node in enumerate(nodes):
            better = examples[pair[index * 2 // len(nodes)]].better
            self._nodes.change(node, labels=better, taints=[taint])
        self._view.settle()
        for before, after in (pair, pair[::-1]):
            pod = self._of(examples[before].pod, "scored", phase=after, cpu="50m")
            self._expect.pending([pod], tolerations=[tolerated])
            self._pods.patch(pod, {"metadata": _changed(examples[before].pod, examples[after].pod)})
            self._pods.tolerate(pod, tolerated)
            self._expect.bound([pod], self._deadlines.requeue)
            self._pods.delete([pod])

    def try_batch(self, examples: Sequence[ScoreExample], pair: tuple[int, int], first: str) -> None:
        """Let two pods with opposite preferences wait at `_BATCHES` starts of the scheduler; no node has room for both.

        Only then does kube-scheduler reuse its result for the previous pod: the node of that pod is full, and the next
        node in its list is the next best. There are two pods, because in either order of the informer the second is
        taken for the first; of four, two of a kind might come first, for which the rest of the list is right.
        Other pods stay pending; `first` is a PriorityClass that has these two decided in a row, before the others.
        There are several turns, because results older than half a second (maxBatchAge) are not reused. The pods are not
        varied: kube-scheduler's own plugins sign resources, tolerations and affinities, and pods that differ in them
        are no batch.
        """
        left, right = (examples[number] for number in pair)
        nodes = self._nodes.names
        for index, node in enumerate(nodes):
            self._nodes.change(node, labels=left.better if index < len(nodes) // 2 else right.better)
        self._view.settle()
        for _ in range(_BATCHES):
            with self._candidate.down():
                share = self._nodes.share("cpu", 0.6)
                pods = [self._scored(examples[n], n, cpu=share, priorityClassName=first, plain=True) for n in pair]
            self._expect.bound(pods)
            self._pods.delete(pods)

    def _scored(self, example: ScoreExample, number: int, **more: Any) -> Pod:
        return self._of(example.pod, "scored", phase=number, **more)

    def try_order(self, example: OrderExample, *, phase: int, reverse: bool) -> None:
        """Let a pod that ranks first, and many pods that rank behind it, wait for the same room on a node.

        The candidate is down meanwhile, so that it knows all pods before it decides. There are many, because a
        candidate without an order decides in the order of its informer's map: of two pods, half the time as claimed.
        `reverse`: the pod that ranks first is created last instead of first.
        """
        node = self._nodes.names[phase % len(self._nodes.names)]
        filler = self._pods.fill(node, cpu=self._nodes.share("cpu", 1 / 8))
        roles = [("first", example.first), *[("then", example.then)] * _OTHERS]
        with self._candidate.down():
            pods = [
                self._for(node, pod, role=role, phase=phase, cpu=self._nodes.share("cpu", 1 / 10))
                for role, pod in (reversed(roles) if reverse else roles)
            ]
        self._expect.so_many_bound(pods, 1)
        self._pods.delete([*pods, filler])

    def _for(self, node: str, pod: PartOfPod, role: str = "example", **more: Any) -> Pod:
        return self._where({"kubernetes.io/hostname": node}, pod, role, **more)

    def _where(self, labels: Mapping[str, str], pod: PartOfPod, role: str = "example", **more: Any) -> Pod:
        selector = {**(pod.spec.get("nodeSelector") or {}), **labels}
        return self._of(pod, role, nodeSelector=selector, **{"cpu": "50m", **more})

    def _of(self, pod: PartOfPod, role: str, **more: Any) -> Pod:
        return self._pods.create(
            role, role=role, claimed=True, labels=pod.metadata.labels or None, annotations=pod.metadata.annotations,
            **{**pod.spec, **more},
        )  # fmt: skip


def _changed(before: PartOfPod, after: PartOfPod) -> dict[str, Any]:
    """Return a merge patch of a pod's metadata that replaces its labels and annotations by those of `after`."""
    old, new = before.metadata, after.metadata
    return {
        "labels": {**dict.fromkeys(old.labels), **new.labels},
        "annotations": {**dict.fromkeys(old.annotations), **new.annotations},
    }
