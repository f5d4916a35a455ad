"""Worked examples of what a plugin decides at its extension points."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class FilterExample:
    """Whether a pod fits on a node with these labels. `pod` has what matters of `metadata` and `spec`."""

    fits: bool
    pod: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    node_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"fits": self.fits, "pod": dict(self.pod), "node_labels": dict(self.node_labels)}


@dataclasses.dataclass(frozen=True)
class ScoreExample:
    """To which labels of nodes, that are alike otherwise, a pod goes where there are others."""

    pod: Mapping[str, Any]
    better: Mapping[str, str]
    worse: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        return {"pod": dict(self.pod), "better": dict(self.better), "worse": dict(self.worse)}

    def opposes(self, other: ScoreExample) -> bool:
        """Whether another pod prefers the one where this one prefers the other."""
        return self.pod != other.pod and (self.better, self.worse) == (other.worse, other.better)


@dataclasses.dataclass(frozen=True)
class OrderExample:
    """Of two pods that wait, which is decided on first."""

    first: Mapping[str, Any]
    then: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"first": dict(self.first), "then": dict(self.then)}


@dataclasses.dataclass(frozen=True)
class PointClaims:
    """What is claimed of each point; empty where nothing is."""

    filter: tuple[FilterExample, ...] = ()
    prefilter: tuple[FilterExample, ...] = ()
    score: tuple[ScoreExample, ...] = ()
    queue_sort: tuple[OrderExample, ...] = ()

    @property
    def opposed(self) -> tuple[int, int] | None:
        """The numbers of two examples of scores by which one pod prefers what another does not."""
        pairs = itertools.combinations(enumerate(self.score), 2)
        return next(((n, m) for (n, one), (m, other) in pairs if one.opposes(other)), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            field.name: [example.as_dict() for example in getattr(self, field.name)]
            for field in dataclasses.fields(self)
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PointClaims:
        """The inverse of `as_dict`; of histories that were saved before there were such claims, nothing."""
        return cls(
            tuple(FilterExample(**example) for example in data.get("filter", ())),
            tuple(FilterExample(**example) for example in data.get("prefilter", ())),
            tuple(ScoreExample(**example) for example in data.get("score", ())),
            tuple(OrderExample(**example) for example in data.get("queue_sort", ())),
        )
