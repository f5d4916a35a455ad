"""Operations of a workload, like those of upstream's scheduler_perf (test/integration/scheduler_perf/operations.go).

Manifests are JSON-able mappings as the API accepts them. They have no name, because many objects are created from each;
only the template of a single node, and those of CreateObjects, may have a name.
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
    """Create `count` nodes from a template; each key of `labels` takes its values in turn, node by node."""

    count: int
    template: Manifest
    labels: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class CreateNamespaces:
    """Create the namespaces `prefix-0` to `prefix-(count - 1)`, with these labels."""

    prefix: str
    count: int
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}-{n}" for n in range(self.count))


@dataclasses.dataclass(frozen=True)
class CreatePods:
    """Create `count` pods in `namespace`: pod n is made from `templates[n % len(templates)]`.

    The templates have no schedulerName: the harness sets it. `wait`: whether all of the pods must be bound before the
    next operation. `measured`: whether a round measures these pods; exactly one operation has it. `burst`: how many
    pods arrive at the same moment, with open-loop arrivals.
    """

    count: int
    templates: tuple[Manifest, ...]
    namespace: str
    measured: bool = False
    wait: bool = True
    burst: int = 1

    def template(self, n: int) -> Manifest:
        """Return the template of pod `n`, counted from 0."""
        return self.templates[n % len(self.templates)]


@dataclasses.dataclass(frozen=True)
class CreateObjects:
    """Create other objects, complete with their names, such as a PriorityClass."""

    manifests: tuple[Manifest, ...]


@dataclasses.dataclass(frozen=True)
class Churn:
    """Create, and with `recreate` also delete, objects while pods are measured (operations.go, churnOp).

    Every `interval` seconds, `create` creates an object of each template, at most `number` times (0: without end);
    `recreate` does so until there are `number` of each, then deletes them one by one, and starts over. Pods among them
    have the candidate's schedulerName.
    """

    mode: ChurnMode
    templates: tuple[Manifest, ...]
    namespace: str
    number: int = 0
    interval: float = 0.5


@dataclasses.dataclass(frozen=True)
class Barrier:
    """Wait until all pods created so far are bound."""


@dataclasses.dataclass(frozen=True)
class DeletePods:
    """Delete all pods in `namespace`, and wait until they are gone."""

    namespace: str


@dataclasses.dataclass(frozen=True)
class ReadingsPattern:
    """The nodes' traffic in Prometheus; a workload without this operation has no readings.

    `all`: `rate` bytes per second on each node. `distinct`: the quietest node has `rate`, the next node twice that, and
    so on, in an order that differs from that of their names.
    """

    rule: Literal["all", "distinct"]
    rate: float

    def of(self, nodes: Sequence[str], *, seed: int = 0) -> dict[str, float]:
        """Return bytes per second by node; `seed` determines the order."""
        if self.rule == "all":
            return dict.fromkeys(nodes, self.rate)
        ranks = list(range(1, len(nodes) + 1))
        random.Random(seed).shuffle(ranks)  # noqa: S311 - a repeatable order, not a secret
        return {node: rank * self.rate for node, rank in zip(nodes, ranks, strict=True)}


Operation: TypeAlias = (
    CreateNodes | CreateNamespaces | CreatePods | CreateObjects | Churn | Barrier | DeletePods | ReadingsPattern
)
