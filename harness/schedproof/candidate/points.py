"""Worked examples of a plugin's decisions at its extension points."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class FilterExample:
    """Whether a pod fits on a node with these labels. `pod` has the relevant fields of `metadata` and `spec`."""

    fits: bool
    pod: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    node_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"fits": self.fits, "pod": dict(self.pod), "node_labels": dict(self.node_labels)}


@dataclasses.dataclass(frozen=True)
class ScoreExample:
    """The labels of the node that a pod prefers (`better`) to a node that differs only in its labels (`worse`)."""

    pod: Mapping[str, Any]
    better: Mapping[str, str]
    worse: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        return {"pod": dict(self.pod), "better": dict(self.better), "worse": dict(self.worse)}

    def opposes(self, other: ScoreExample) -> bool:
        """Whether the other example is of a different pod with the opposite preference."""
        return self.pod != other.pod and (self.better, self.worse) == (other.worse, other.better)


@dataclasses.dataclass(frozen=True)
class OrderExample:
    """The order in which two pending pods leave the queue."""

    first: Mapping[str, Any]
    then: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"first": dict(self.first), "then": dict(self.then)}


@dataclasses.dataclass(frozen=True)
class PointClaims:
    """The examples of each extension point; empty if none are claimed."""

    filter: tuple[FilterExample, ...] = ()
    prefilter: tuple[FilterExample, ...] = ()
    score: tuple[ScoreExample, ...] = ()
    queue_sort: tuple[OrderExample, ...] = ()

    @property
    def opposed(self) -> tuple[int, int] | None:
        """The indices of the first two examples in `score` with opposite preferences; None if there are none."""
        pairs = itertools.combinations(enumerate(self.score), 2)
        return next(((n, m) for (n, example), (m, other) in pairs if example.opposes(other)), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            field.name: [example.as_dict() for example in getattr(self, field.name)]
            for field in dataclasses.fields(self)
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PointClaims:
        """The inverse of `as_dict`. Histories saved before these claims existed have none."""
        return cls(
            tuple(FilterExample(**example) for example in data.get("filter", ())),
            tuple(FilterExample(**example) for example in data.get("prefilter", ())),
            tuple(ScoreExample(**example) for example in data.get("score", ())),
            tuple(OrderExample(**example) for example in data.get("queue_sort", ())),
        )
