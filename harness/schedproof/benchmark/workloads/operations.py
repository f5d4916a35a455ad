"""The steps of a workload, as those of upstream's scheduler_perf (test/integration/scheduler_perf/operations.go).

Manifests are JSON-able mappings as the API takes them. They bear no name, as many objects are made of one; only
a single node's may.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

Manifest: TypeAlias = "Mapping[str, Any]"
ChurnMode = Literal["create", "recreate"]
CHURN_MODES: tuple[ChurnMode, ...] = get_args(ChurnMode)


@dataclasses.dataclass(frozen=True)
class CreateNodes:
    """`count` nodes of one template; each key of `labels` gets its values in turn, node by node."""

    count: int
    template: Manifest
    labels: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class CreateNamespaces:
    """The namespaces `prefix-0` to `prefix-(count - 1)`, with these labels."""

    prefix: str
    count: int
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}-{n}" for n in range(self.count))


@dataclasses.dataclass(frozen=True)
class CreatePods:
    """`count` pods in `namespace`: pod n is made of `templates[n % len(templates)]`.

    The templates name no scheduler: the harness does. `wait` is whether all of them are to be bound before
    the next operation. Those `measured` are what a round is about; there is exactly one such operation.
    `burst`, with open-loop arrivals, is how many of them arrive at the same moment.
    """

    count: int
    templates: tuple[Manifest, ...]
    namespace: str
    measured: bool = False
    wait: bool = True
    burst: int = 1

    def template(self, n: int) -> Manifest:
        """Of pod `n`, counted from 0."""
        return self.templates[n % len(self.templates)]


@dataclasses.dataclass(frozen=True)
class CreateObjects:
    """Other objects, complete with their names, such as a PriorityClass."""

    manifests: tuple[Manifest, ...]


@dataclasses.dataclass(frozen=True)
class Churn:
    """Objects that come, and in `recreate` go, while pods are measured (operations.go, churnOp).

    Every `interval` seconds: `create` makes one of each template, `number` times at most (0: without end);
    `recreate` makes one of each until there are `number` of each, then deletes them one by one, and starts over.
    They are the candidate's: pods among them bear its schedulerName.
    """

    mode: ChurnMode
    templates: tuple[Manifest, ...]
    namespace: str
    number: int = 0
    interval: float = 0.5


@dataclasses.dataclass(frozen=True)
class Barrier:
    """Until all pods that were created before are bound."""


@dataclasses.dataclass(frozen=True)
class DeletePods:
    """All pods in `namespace`, until they are gone."""

    namespace: str


@dataclasses.dataclass(frozen=True)
class ReadingsPattern:
    """What Prometheus tells about the nodes' traffic; without these there are no readings at all.

    `all`: `rate` bytes per second on each node. `distinct`: the quietest has `rate`, the next twice that, and so
    on, in an order that is not that of their names.
    """

    rule: Literal["all", "distinct"]
    rate: float

    def of(self, nodes: Sequence[str], *, seed: int = 0) -> dict[str, float]:
        """Bytes per second by node; `seed` chooses the order."""
        if self.rule == "all":
            return dict.fromkeys(nodes, self.rate)
        ranks = list(range(1, len(nodes) + 1))
        random.Random(seed).shuffle(ranks)  # noqa: S311 - an order to be repeated, not a secret
        return {node: rank * self.rate for node, rank in zip(nodes, ranks, strict=True)}


Operation: TypeAlias = (
    CreateNodes | CreateNamespaces | CreatePods | CreateObjects | Churn | Barrier | DeletePods | ReadingsPattern
)
