"""Worked examples of a plugin's decisions at its extension points."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from schedproof.documents.model import AnyText, Anything, Flag, Listed, Mapped, Such, Wrong, rule

Texts = Annotated[Mapping[str, AnyText], Such("{example.com/kind: batch}")]
"""Labels or annotations."""


@dataclasses.dataclass(frozen=True)
class PartOfMetadata(Mapped):
    labels: Texts = dataclasses.field(default_factory=dict)
    annotations: Texts = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class PartOfPod(Mapped):
    """Some fields of a pod."""

    metadata: PartOfMetadata = dataclasses.field(default_factory=PartOfMetadata)
    spec: Annotated[Anything, Such("{priorityClassName: system-node-critical}")] = dataclasses.field(
        default_factory=dict
    )
    """fields of a pod's spec"""

    def document(self) -> dict[str, Any]:
        """The fields that are given, as a part of a manifest."""
        metadata = {name: texts for name, texts in dataclasses.asdict(self.metadata).items() if texts}
        return {name: part for name, part in (("metadata", metadata), ("spec", dict(self.spec))) if part}


@dataclasses.dataclass(frozen=True)
class FilterExample(Mapped):
    """Whether a pod fits on a node with these labels."""

    fits: Flag
    """whether the pod is scheduled there"""
    pod: PartOfPod = dataclasses.field(default_factory=PartOfPod)
    """the fields that matter"""
    node_labels: Texts = dataclasses.field(default_factory=dict)
    """of one node; the pod is for that node alone"""


@dataclasses.dataclass(frozen=True)
class ScoreExample(Mapped):
    """The labels of the node that a pod prefers (`better`) to a node that differs only in its labels (`worse`)."""

    better: Texts
    worse: Texts
    pod: PartOfPod = dataclasses.field(default_factory=PartOfPod)
    """the fields that matter"""

    def opposes(self, other: ScoreExample) -> bool:
        """Whether the other example is of a different pod with the opposite preference."""
        return self.pod != other.pod and (self.better, self.worse) == (other.worse, other.better)

    @rule
    def _differ(self, _: object) -> Iterator[Wrong]:
        if self.better == self.worse:
            fix = "write the labels in which the nodes differ"
            yield Wrong("contradiction", "better and worse have the same labels", fix)


@dataclasses.dataclass(frozen=True)
class OrderExample(Mapped):
    """The order in which two pending pods leave the queue."""

    first: PartOfPod
    """the fields that matter"""
    then: PartOfPod
    """the fields that matter"""

    @rule
    def _differ(self, _: object) -> Iterator[Wrong]:
        if self.first == self.then:
            fix = "write the field that puts the first pod before the second"
            yield Wrong("contradiction", "both pods are the same", fix)


@dataclasses.dataclass(frozen=True)
class PointClaims(Mapped):
    """The examples of each extension point; empty if none are claimed."""

    filter: Annotated[Listed[FilterExample], Such("{node-labels: {zone: closed}, fits: false}")] = ()
    """whether its Filter plugins let a pod onto a node, `{pod: {metadata, spec}, node-labels: {NAME: text}, fits:
    false}`; what is left out does not matter. Where the same pod fits by another example, the node is changed into that
    one, and the pod must be scheduled then; likewise where another pod fits on that node, and differs in its labels and
    annotations alone
    """
    prefilter: Annotated[Listed[FilterExample], Such("{node-labels: {zone: closed}, fits: false}")] = ()
    """the same of its PreFilter plugins"""
    score: Annotated[Listed[ScoreExample], Such("{pod: {...}, better: {...}, worse: {...}}")] = ()
    """to which nodes a pod goes by its Score plugins, of nodes that are alike but for these labels, `{pod: {metadata,
    spec}, better: {NAME: text}, worse: {NAME: text}}`
    """
    queue_sort: Annotated[Listed[OrderExample], Such("{first: {...}, then: {...}}")] = ()
    """of two pods that wait, the one that its QueueSort plugin has decided on first, `{first: {metadata, spec}, then:
    {metadata, spec}}`
    """

    @property
    def opposed(self) -> tuple[int, int] | None:
        """The indices of the first two examples in `score` with opposite preferences; None if there are none."""
        pairs = itertools.combinations(enumerate(self.score), 2)
        return next(((n, m) for (n, example), (m, other) in pairs if example.opposes(other)), None)
