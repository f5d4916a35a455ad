"""The operations of an upstream test case (test/integration/scheduler_perf/operations.go), and their conversion."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from schedproof.benchmark.workloads.operations import (
    MOST,
    Barrier,
    Churn,
    ChurnMode,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Manifest,
    Operation,
)
from schedproof.benchmark.workloads.scheduler_perf_templates import BASE_NODE, Templates
from schedproof.documents.model import Camel, Flag, Listed, Such, Text, Whole, Written, Wrong, refuse

ELSEWHERE = "run this case with upstream's own scheduler_perf; docs/workloads.md lists what can be imported"
PENDING = "initial pods that stay pending are not supported"

_DRA, _TOGETHER = (
    "dynamic resource allocation is not supported",
    "pods of several operations cannot be measured together",
)
REFUSED: Final[Mapping[str, str]] = {
    "allocResourceClaims": _DRA, "createResourceClaims": _DRA, "createResourceDriver": _DRA,
    "updateAny": "updating objects while pods are measured is not supported",
    "sleep": "a pause does not prove that anything has happened",
    "startCollectingMetrics": _TOGETHER, "stopCollectingMetrics": _TOGETHER,
}  # fmt: skip
"""Operations of upstream's that are not supported, and why."""


@dataclasses.dataclass(frozen=True)
class Case:
    """The context of an operation: the templates and parameters of its case."""

    templates: Templates
    params: Mapping[str, Any]


# -- types of fields


def unsupported(why: str, *, but: Callable[[Any], bool] = lambda value: value is False) -> BeforeValidator:
    """Refuse all values, with a reason, but those that are supported."""

    def check(value: Any) -> Any:
        if not but(value):
            refuse([Wrong("not-supported", why, ELSEWHERE)])
        return value

    return BeforeValidator(check)


def template(read: Callable[[Templates, str], Manifest]) -> BeforeValidator:
    """Read the template file that a field names."""

    def manifest(value: Any, info: Any) -> Manifest:
        if not isinstance(value, Written) or not value.strip():
            raise PydanticCustomError("string_type", "a path")
        return read(info.context.templates, value)

    return BeforeValidator(manifest)


def _parameter(value: Any, info: Any) -> Any:
    """The value of the parameter that is named, such as "$initNodes"."""
    if not isinstance(value, str) or not value.strip():
        raise PydanticCustomError("string_type", "a name")
    name, params = value.removeprefix("$"), info.context.params
    fix = f"params: {{{name}: 500}}"
    if name not in params:
        refuse([Wrong("unknown-parameter", f"the workload has no parameter {name}", fix)])
    if type(params[name]) is not int or not 0 <= params[name] <= MOST:
        message = f"the parameter {name} is {params[name]}, expected a whole number from 0 to {MOST}"
        refuse([Wrong("out-of-range", message, fix)])
    return params[name]


_Count = Annotated[Whole, Field(ge=0, le=MOST), Such("1")]
_Namespace = Annotated[Text, Such("init")]
_PATH = Such("../templates/pod-default.yaml", "a non-empty string")
_OnlyLabels = Annotated[Any, unsupported("only labels can be added to nodes")]
_NoVolumes = Annotated[Any, unsupported("creating volumes and claims for each pod is not supported")]
_NoSteadyState = Annotated[Any, unsupported("deleting and recreating pods while they are measured is not supported")]
_OneObject = Annotated[Any, unsupported("creating several objects from a template is not supported")]
_AllAwaited = Annotated[Any, unsupported("it would wait for some of the pods only")]
_AllDeleted = Annotated[Any, unsupported("it would delete some of the pods only")]
_DeletedBefore = Annotated[Any, unsupported("deleting pods while others are measured is not supported")]


# -- operations


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerfOperation(Camel):
    opcode: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Counted(PerfOperation):
    count: _Count = 0
    count_param: Annotated[int, BeforeValidator(_parameter), Such("$initNodes", "a non-empty string")] | None = None

    @property
    def number(self) -> int:
        return self.count if self.count_param is None else self.count_param


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Labels(Camel):
    label_key: Annotated[Text, Such("zone")]
    label_values: Annotated[Listed[Text], Such("[zone1]")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Nodes(_Counted):
    node_template_path: Annotated[Manifest, template(Templates.node), _PATH] | None = None
    label_node_prepare_strategy: _Labels | None = None
    node_allocatable_strategy: _OnlyLabels = None
    unique_node_label_strategy: _OnlyLabels = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Namespaces(_Counted):
    prefix: Annotated[Text, Such("sched")]
    namespace_template_path: Annotated[Manifest, template(Templates.namespace), _PATH] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Pods(_Counted):
    namespace: _Namespace = ""
    pod_template_path: Annotated[Manifest, template(Templates.pod), _PATH] | None = None
    collect_metrics: Flag = False
    skip_wait_to_completion: Flag = False
    persistent_volume_template_path: _NoVolumes = None
    persistent_volume_claim_template_path: _NoVolumes = None
    steady_state: _NoSteadyState = None
    steady_state_param: _NoSteadyState = None
    duration: _NoSteadyState = None
    duration_param: _NoSteadyState = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _PodSets(_Counted):
    namespace_prefix: Annotated[Text, Such("init-ns")]
    create_pods_op: _Pods


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Any(PerfOperation):
    template_path: Annotated[Manifest, template(Templates.single), _PATH]
    namespace: _Namespace = ""
    count: _OneObject = None
    count_param: _OneObject = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Churn(PerfOperation):
    mode: ChurnMode
    template_paths: Annotated[
        Listed[Annotated[Manifest, template(Templates.churned), _PATH]], Such("[../templates/pod-default.yaml]")
    ]
    namespace: _Namespace = ""
    number: _Count = 0
    interval_milliseconds: Annotated[Whole, Field(ge=1, le=MOST), Such("500")] = 500


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Barrier(PerfOperation):
    namespaces: _AllAwaited = None
    label_selector: _AllAwaited = None
    stage_requirement: Annotated[Any, unsupported(PENDING, but=lambda value: value == "Scheduled")] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Delete(PerfOperation):
    namespace: Annotated[Text, Such("init")]
    label_selector: _AllDeleted = None
    skip_wait_to_completion: _DeletedBefore = None
    delete_pods_per_second: _DeletedBefore = None


OPERATIONS: Final[Mapping[str, type[PerfOperation]]] = {
    "createNodes": _Nodes, "createNamespaces": _Namespaces, "createPods": _Pods, "createPodSets": _PodSets,
    "createAny": _Any, "churn": _Churn, "barrier": _Barrier, "deletePods": _Delete,
}  # fmt: skip


def converted(step: PerfOperation, namespace: str, pod: Manifest) -> list[Operation]:
    """Return what an operation is here; `namespace` and `pod`: upstream's default, and the case's default template."""
    match step:
        case _Nodes(label_node_prepare_strategy=labels):
            values = {labels.label_key: labels.label_values} if labels else {}
            return [CreateNodes(step.number, step.node_template_path or BASE_NODE, values)]
        case _Namespaces():
            metadata = (step.namespace_template_path or {}).get("metadata") or {}
            return [CreateNamespaces(step.prefix, step.number, metadata.get("labels") or {})]
        case _Pods():
            waits, templates = not step.skip_wait_to_completion, (step.pod_template_path or pod,)
            namespace = step.namespace or namespace
            return [CreatePods(step.number, templates, namespace, measured=step.collect_metrics, wait=waits)]
        case _PodSets():
            inner = dataclasses.replace(step.create_pods_op, namespace="")
            names = (f"{step.namespace_prefix}-{n}" for n in range(step.number))
            return [pods for name in names for pods in converted(inner, name, pod)]
        case _Any(template_path=manifest):
            own = {"namespace": step.namespace} if step.namespace else {}
            return [CreateObjects(({**manifest, "metadata": {**manifest["metadata"], **own}},))]
        case _Churn(interval_milliseconds=interval):
            namespace = step.namespace or namespace
            return [Churn(step.mode, step.template_paths, namespace, number=step.number, interval=interval / 1000)]
        case _Delete():
            return [DeletePods(step.namespace)]
    return [Barrier()]
