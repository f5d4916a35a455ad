"""Stimuli for what a plugin claims to decide at its extension points, by its own worked examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.candidate.points import FilterExample, OrderExample, PointClaims, ScoreExample
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.sight import Sight
from schedproof.stimulus.traffic.chance import Chance

_OTHERS = 15
"""Pods that come after the first one. A scheduler that decides in any order takes the first one three times in a
row by chance in one of 4,096 tries."""
_BATCHES = 4
"""Starts of a scheduler with a pair of pods; see `PointStimulus.try_batch`."""
_PAIR = "schedproof.dev/pair"


class PointStimulus:
    """Tries what a plugin claims of its points, by its worked examples: those in `claimed`."""

    def __init__(
        self,
        context: Context,
        pods: PodChanges,
        nodes: NodeChanges,
        expect: Expectations,
        sight: Sight,
        candidate: CandidateChanges,
        chance: Chance,
    ) -> None:
        self.claimed: PointClaims = context.trial.candidate.claims.points
        self._deadlines = context.deadlines
        self._pods, self._nodes, self._candidate = pods, nodes, candidate
        self._expect, self._sight, self._chance = expect, sight, chance

    def try_filter(self, examples: Sequence[FilterExample]) -> None:
        """A pod for each example, on the one node that it is for.

        One that does not fit waits; where it fits by another example, the node is changed into that one, and then there
        is a choice of two nodes, one of each kind. Where another pod fits on that node, which differs in its labels and
        annotations alone, one that waits is given those.
        """
        node, *others = self._nodes.names
        for example in examples:
            pod, labels = self._try(node, example), example.node_labels
            better = next((one for one in examples if one.fits and one.pod == example.pod), None)
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
        """A pod of an example, on the node that it is for; the node keeps the example's labels."""
        self._label(node, {}, example.node_labels)
        self._sight.settle()
        pod = self._for(node, example.pod)
        (self._expect.bound if example.fits else self._expect.unwilling)([pod])
        return pod

    def _try_updates(self, node: str, example: FilterExample, examples: Sequence[FilterExample]) -> None:
        """A pod waits on a node by an example. Then it is given the labels and annotations of one that fits there."""
        spec = example.pod.get("spec")
        for other in examples:
            if not other.fits or other.node_labels != example.node_labels or other.pod.get("spec") != spec:
                continue
            pod = self._try(node, example)
            self._pods.patch(pod, {"metadata": _changed(example.pod, other.pod)})
            self._expect.bound([pod], self._deadlines.requeue)
            self._pods.delete([pod])
            self._label(node, example.node_labels, {})

    def _try_beside(self, node: str, example: FilterExample, other: str, better: FilterExample) -> None:
        """A pod that may go to a node where it does not fit by an example, and to another one, where it does.

        A plugin that answers an error for the first keeps the pod off both.
        """
        pair = {
            one: {**labels, _PAIR: "yes"} for one, labels in ((node, example.node_labels), (other, better.node_labels))
        }
        for one, labels in pair.items():
            self._label(one, {}, labels)
        self._sight.settle()
        pod = self._where({_PAIR: "yes"}, example.pod)
        self._expect.bound([pod])
        self._pods.delete([pod])
        for one, labels in pair.items():
            self._label(one, labels, {})

    def _label(self, node: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        if changed := {**dict.fromkeys(before), **after}:
            self._nodes.change(node, labels=changed)

    def try_score(self, example: ScoreExample, number: int) -> None:
        """Each node is the better one in turn, and a pod is asked for a few times.

        A chooser at random passes all of it with a chance below `RANDOM_LIMIT`.
        """
        nodes = self._nodes.names
        each = -(-self._chance.probes(1) // len(nodes))
        for best in nodes:
            for node in nodes:
                self._nodes.change(node, labels=example.better if node == best else example.worse)
            self._sight.settle()
            for _ in range(each):
                pod = self._scored(example, number, cpu="50m")
                self._expect.bound([pod])
                self._pods.delete([pod])

    def try_score_updates(self, examples: Sequence[ScoreExample], pair: tuple[int, int]) -> None:
        """A pod of one of two examples that prefer the opposite waits, and is made one of the other; and vice versa.

        Then it tolerates what kept it off all nodes. Where the pods differ in more than labels and annotations, nothing
        is tried: most of a pod's spec cannot be changed.
        """
        one, other = (examples[number] for number in pair)
        if one.pod.get("spec") != other.pod.get("spec"):
            return
        nodes, reserved = self._nodes.names, "schedproof.dev/reserved"
        taint, tolerated = {"key": reserved, "effect": "NoSchedule"}, {"key": reserved, "operator": "Exists"}
        for index, node in enumerate(nodes):
            better = examples[pair[index * 2 // len(nodes)]].better
            self._nodes.change(node, labels=better, taints=[taint])
        self._sight.settle()
        for before, after in (pair, pair[::-1]):
            pod = self._of(examples[before].pod, "scored", phase=after, cpu="50m")
            self._expect.pending([pod], tolerations=[tolerated])
            self._pods.patch(pod, {"metadata": _changed(examples[before].pod, examples[after].pod)})
            self._pods.tolerate(pod, tolerated)
            self._expect.bound([pod], self._deadlines.requeue)
            self._pods.delete([pod])

    def try_batch(self, examples: Sequence[ScoreExample], pair: tuple[int, int], first: str) -> None:
        """Two pods that prefer the opposite wait when the scheduler starts; no node has room for two. Several times.

        Only then does kube-scheduler take up what it found for the pod before: that one's node is full, and the next of
        its list is the next best. There are two pods, because in whichever order an informer gives them the second one
        is taken for the first one; of four, two of each might come before the others, where the list's tail is right.
        Others wait for good; `first` is a PriorityClass that has these two decided one after the other, before them.
        There are several turns, because nothing is taken up that is older than half a second (maxBatchAge).
        """
        one, other = (examples[number] for number in pair)
        nodes = self._nodes.names
        for index, node in enumerate(nodes):
            self._nodes.change(node, labels=one.better if index < len(nodes) // 2 else other.better)
        self._sight.settle()
        for _ in range(_BATCHES):
            with self._candidate.down():
                share = self._nodes.share("cpu", 0.6)
                pods = [self._scored(examples[n], n, cpu=share, priorityClassName=first) for n in pair]
            self._expect.bound(pods)
            self._pods.delete(pods)

    def _scored(self, example: ScoreExample, number: int, **more: Any) -> Pod:
        return self._of(example.pod, "scored", phase=number, **more)

    def try_order(self, example: OrderExample, *, phase: int, reverse: bool) -> None:
        """Let a pod that is to come first, and many that are to come after it, wait for the same room on one node.

        The candidate is down meanwhile, so that it knows all of them before it decides. There are many, because one
        without an order of its own decides in the order of its informer's map: of two pods, half the time as claimed.
        `reverse`: the one that is to come first is the youngest one, instead of the oldest one.
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

    def _for(self, node: str, pod: Mapping[str, Any], role: str = "example", **more: Any) -> Pod:
        return self._where({"kubernetes.io/hostname": node}, pod, role, **more)

    def _where(self, labels: Mapping[str, str], pod: Mapping[str, Any], role: str = "example", **more: Any) -> Pod:
        selector = {**((pod.get("spec") or {}).get("nodeSelector") or {}), **labels}
        return self._of(pod, role, nodeSelector=selector, **{"cpu": "50m", **more})

    def _of(self, pod: Mapping[str, Any], role: str, **more: Any) -> Pod:
        metadata = pod.get("metadata") or {}
        return self._pods.create(
            role, role=role, labels=metadata.get("labels"), annotations=metadata.get("annotations") or {},
            **{**(pod.get("spec") or {}), **more},
        )  # fmt: skip


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch of a pod's metadata, which makes its labels and annotations those of another one."""
    old, new = before.get("metadata") or {}, after.get("metadata") or {}
    return {
        field: {**dict.fromkeys(old.get(field) or {}), **(new.get(field) or {})} for field in ("labels", "annotations")
    }
