"""Operations of a workload, like those of upstream's scheduler_perf (test/integration/scheduler_perf/operations.go).

They are the models of a workload file as well. Manifests are JSON-able mappings as the API accepts them. They have no
name, because many objects are created from each; only the template of a single node, and those of CreateObjects, may
have a name.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import core_schema

from schedproof.benchmark.workloads.manifests import churned, node_template, other_object, pod_template
from schedproof.documents.model import (
    AnyText,
    Anything,
    Camel,
    Duration,
    Flag,
    Listed,
    Number,
    Such,
    Text,
    Whole,
    Wrong,
    matching,
    refuse,
    rule,
    shown,
)
from schedproof.documents.suggestions import did_you_mean

Manifest: TypeAlias = Mapping[str, Any]
ChurnMode = Literal["create", "recreate"]
MOST = 1_000_000
"""The largest count of anything."""


# -- types of fields


@dataclasses.dataclass(frozen=True, eq=False)
class Counted(Such):
    """Metadata of a whole number: in a file, it may be the name of a parameter in braces."""

    example: str = "500"
    least: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_before_validator_function(self._filled, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        title = "whole number, or the name of a parameter in braces"
        return {"title": title, "anyOf": [handler(schema), {"type": "string", "pattern": r"^\{.*\}$"}]}

    def _filled(self, value: Any, info: core_schema.ValidationInfo) -> Any:
        """The value of the parameter, if it is one; the file's context is its parameters by name."""
        if isinstance(value, dict) and len(value) == 1:
            fix = f'quote it: "{{{next(iter(value))}}}"'
            refuse([Wrong("wrong-type", "YAML reads bare braces as a mapping", fix)])
        if info.context is None or not isinstance(value, str) or not (braced := re.fullmatch(r"\{(.*)\}", value)):
            return value
        name, parameters = braced[1], info.context
        if name not in parameters:
            fix = did_you_mean(name, list(parameters))
            refuse([Wrong("unknown-parameter", f"unknown parameter {shown(name)}", fix)])
        if parameters[name] < self.least:
            message = f"{name} is {parameters[name]}, expected at least {self.least}"
            refuse([Wrong("out-of-range", message, f"such as {name}={self.least}")])
        return parameters[name]


Count = Annotated[Whole, Field(ge=0, le=MOST), Counted()]

Namespace = Annotated[
    Text,
    matching(
        r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "expected lower-case letters, digits and dashes", "such as initial"
    ),
    Field(title="lower-case letters, digits, dashes"),
]


def _checked(check: Callable[[Manifest], Manifest]) -> AfterValidator:
    """Take, of a manifest in a file, what `check` returns."""
    return AfterValidator(lambda manifest, info: manifest if info.context is None else check(manifest))


def _schema(description: str, **fields: Any) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "object", "properties": fields, "required": ["apiVersion", "kind"], "description": description}
    )


_SUCH = Such("{apiVersion: v1, ...}")
_V1: dict[str, Any] = {"apiVersion": {"const": "v1"}}
_COMPLETE = _schema("a complete object, as for `kubectl apply`", kind={"type": "string"})

NodeTemplate = Annotated[
    Anything, _checked(node_template), _SUCH, _schema("a Node without a name", **_V1, kind={"const": "Node"})
]
PodTemplate = Annotated[
    Anything, _checked(pod_template), _SUCH, _schema("a Pod without a name", **_V1, kind={"const": "Pod"})
]
ChurnedTemplate = Annotated[Anything, _checked(churned), _SUCH, _COMPLETE]
NamedObject = Annotated[Anything, _checked(other_object), _SUCH, _COMPLETE]
_SEVERAL = Such("{apiVersion: v1, kind: Pod, ...}")


# -- operations


@dataclasses.dataclass(frozen=True)
class CreateNodes(Camel):
    """Create `count` nodes from a template; each key of `labels` takes its values in turn, node by node."""

    count: Count
    """how many"""
    template: NodeTemplate
    labels: Annotated[
        Mapping[str, Annotated[Listed[Text], Such("[a, b]")]], Such("{topology.kubernetes.io/zone: [a, b]}")
    ] = dataclasses.field(default_factory=dict)
    """by key: the values that the nodes take in turn"""


@dataclasses.dataclass(frozen=True)
class CreateNamespaces(Camel):
    """Create the namespaces `prefix-0` to `prefix-(count - 1)`, with these labels."""

    prefix: Annotated[Namespace, Such("team")]
    """the prefix of their names"""
    count: Count
    """how many"""
    labels: Annotated[Mapping[str, Annotated[AnyText, Such("a")]], Such("{team: a}")] = dataclasses.field(
        default_factory=dict
    )
    """labels of each namespace"""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}-{n}" for n in range(self.count))


class _FromTemplates(Camel):
    """What creates objects from `templates` in turn; in a file, a single one may be in `template` instead."""

    template: Manifest | None
    templates: tuple[Manifest, ...]

    def __post_init__(self) -> None:
        if self.template is not None and not self.templates:
            object.__setattr__(self, "templates", (self.template,))

    @rule
    def _either_form(self, _: object) -> Iterator[Wrong]:
        if not self.templates:
            fix = f"add it, such as `template: {_SUCH.example}`"
            yield Wrong("missing-field", "missing: expected a mapping", fix, ("template",))
        elif self.template is not None and self.templates[0] is not self.template:
            yield Wrong("contradiction", "not allowed together with template", "keep one of the two", ("templates",))


@dataclasses.dataclass(frozen=True)
class CreatePods(_FromTemplates):
    """Create `count` pods in `namespace`: pod n is made from `templates[n % len(templates)]`.

    The templates have no schedulerName: the harness sets it. `wait`: whether all of the pods must be bound before the
    next operation. `measured`: whether a round measures these pods; exactly one operation has it. `burst`: how many
    pods arrive at the same moment, with open-loop arrivals.
    """

    count: Count
    """how many"""
    template: PodTemplate | None = dataclasses.field(default=None, kw_only=True)
    templates: Annotated[Listed[PodTemplate], _SEVERAL] = ()
    """instead of `template`: several templates, used in turn"""
    namespace: Annotated[Namespace, Such("initial")] = ""
    """the namespace; by default `measured` for measured pods, else `initial`"""
    measured: Flag = False
    """whether the candidate schedules these pods, and is measured"""
    wait: Flag = True
    """whether to wait until the pods are bound; false leaves that to a `barrier`"""
    burst: Annotated[Whole, Field(ge=1, le=MOST), Counted(least=1)] = 1
    """how many pods arrive at once, in open-loop mode"""

    @model_validator(mode="before")
    @classmethod
    def _in_a_namespace(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context is None or not isinstance(data, dict) or data.get("namespace") is not None:
            return data
        return {**data, "namespace": "measured" if data.get("measured") is True else "initial"}

    @rule
    def _measured_or_not(self, _: object) -> Iterator[Wrong]:
        if self.measured and not self.wait:
            message = "not allowed with measured: measured pods are always waited for"
            yield Wrong("contradiction", message, "leave it out", ("wait",))
        if self.burst != 1 and not self.measured:
            yield Wrong("contradiction", "only allowed with measured: true", "leave it out", ("burst",))


@dataclasses.dataclass(frozen=True)
class CreateObjects(Camel):
    """Create other objects, complete with their names, such as a PriorityClass."""

    manifests: Annotated[Listed[NamedObject], Such("{apiVersion: ..., kind: ..., metadata: {name: ...}}")]
    """objects, with their names"""


@dataclasses.dataclass(frozen=True)
class Churn(_FromTemplates):
    """Create, and with `recreate` also delete, objects while pods are measured (operations.go, churnOp).

    Every `interval` seconds, `create` creates an object of each template, at most `number` times (0: without end);
    `recreate` does so until there are `number` of each, then deletes them one by one, and starts over. Pods among them
    have the candidate's schedulerName.
    """

    mode: ChurnMode
    """create objects, or create and delete them"""
    number: Count = dataclasses.field(default=0, kw_only=True)
    """in mode recreate: the largest number of objects of each template"""
    interval: Annotated[float, Duration("200ms", minimum=0.001)] = dataclasses.field(default=0.5, kw_only=True)
    """the time between two changes"""
    template: ChurnedTemplate | None = dataclasses.field(default=None, kw_only=True)
    templates: Annotated[Listed[ChurnedTemplate], _SEVERAL] = ()
    """instead of `template`: several templates, used in turn"""
    namespace: Annotated[Namespace, Such("churn")] = "churn"
    """the namespace"""

    @rule
    def _so_many(self, _: object) -> Iterator[Wrong]:
        if self.mode == "recreate" and self.number == 0:
            message = "missing: mode recreate needs the largest number of objects"
            yield Wrong("missing-field", message, "number: 1", ("number",))


@dataclasses.dataclass(frozen=True)
class Barrier(Camel):
    """Wait until all pods created so far are bound."""


@dataclasses.dataclass(frozen=True)
class DeletePods(Camel):
    """Delete all pods in `namespace`, and wait until they are gone."""

    namespace: Annotated[Namespace, Such("initial")]
    """the namespace"""


@dataclasses.dataclass(frozen=True)
class ReadingsPattern(Camel):
    """The nodes' traffic in Prometheus; a workload without this operation has no readings.

    `all`: so many bytes per second on each node. `distinct`: the quietest node has this rate, the next node twice that,
    and so on, in an order that differs from that of their names.
    """

    all: Annotated[Number, Such("0")] | None = None
    """bytes per second of every node"""
    distinct: Annotated[Number, Such("1000000")] | None = None
    """bytes per second of the quietest node; the next node has twice as many, and so on"""

    @rule
    def _one_pattern(self, _: object) -> Iterator[Wrong]:
        if (self.all is None) == (self.distinct is None):
            yield Wrong("wrong-number", "expected one of all and distinct", "such as `distinct: 1000000`")
        elif self.distinct is not None and self.distinct <= 0:
            message = "expected a number above 0: otherwise all readings are equal"
            yield Wrong("contradiction", message, "such as 1000000 bytes per second", ("distinct",))

    def of(self, nodes: Sequence[str], *, seed: int = 0) -> dict[str, float]:
        """Return bytes per second by node; `seed` determines the order."""
        if self.distinct is None:
            return dict.fromkeys(nodes, self.all or 0.0)
        ranks = list(range(1, len(nodes) + 1))
        random.Random(seed).shuffle(ranks)  # noqa: S311 - a repeatable order, not a secret
        return {node: rank * self.distinct for node, rank in zip(nodes, ranks, strict=True)}


Operation: TypeAlias = (
    CreateNodes | CreateNamespaces | CreatePods | CreateObjects | Churn | Barrier | DeletePods | ReadingsPattern
)


@dataclasses.dataclass(frozen=True)
class Step(Camel):
    """An item of a workload file's operations: exactly one of them."""

    create_nodes: CreateNodes | None = None
    """nodes `node-1` and so on"""
    create_namespaces: CreateNamespaces | None = None
    """namespaces `prefix-0` and so on; namespaces of other operations are created without this"""
    create_pods: CreatePods | None = None
    """pods without a schedulerName, which the harness sets"""
    create_objects: CreateObjects | None = None
    """other objects, such as a PriorityClass"""
    churn: Churn | None = None
    """objects created and deleted while pods are measured; the candidate schedules pods among them"""
    barrier: Annotated[Barrier, Such("{}", "no fields")] | None = None
    """waits until all pods created so far are bound"""
    delete_pods: DeletePods | None = None
    """deletes all pods of a namespace"""
    readings: ReadingsPattern | None = None
    """the nodes' readings in Prometheus: one of `all` and `distinct`"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """An operation is given by its name alone, as `barrier:` is."""
        return (
            {name: {} if value is None else value for name, value in data.items()} if isinstance(data, dict) else data
        )

    @rule
    def _exactly_one(self, _: object) -> Iterator[Wrong]:
        if len(self.given) != 1:
            message = f"expected one operation in an item, found {len(self.given) or 'none'}"
            yield Wrong("wrong-number", message, "write each operation as its own item, with its own dash")

    @property
    def given(self) -> list[Operation]:
        fields = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [operation for operation in fields if operation is not None]
