"""Converts the operations of an upstream test case (test/integration/scheduler_perf/operations.go)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from schedproof.benchmark.workloads.operations import (
    CHURN_MODES,
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Operation,
)
from schedproof.benchmark.workloads.scheduler_perf_templates import BASE_NODE, BASE_POD, Templates
from schedproof.documents.fields import Field, Section
from schedproof.documents.problems import Problem

ELSEWHERE = "run this case with upstream's own scheduler_perf; docs/workloads.md lists what can be imported"

_MOST = 1_000_000
_REFUSED: Final = {
    "allocResourceClaims": "dynamic resource allocation is not supported",
    "createResourceClaims": "dynamic resource allocation is not supported",
    "createResourceDriver": "dynamic resource allocation is not supported",
    "updateAny": "updating objects while pods are measured is not supported",
    "sleep": "a pause does not prove that anything has happened",
    "startCollectingMetrics": "pods of several operations cannot be measured together",
    "stopCollectingMetrics": "pods of several operations cannot be measured together",
}
_PENDING = "initial pods that stay pending are not supported"
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "createNodes": ("count", "countParam", "nodeTemplatePath", "nodeAllocatableStrategy", "labelNodePrepareStrategy",
                    "uniqueNodeLabelStrategy"),
    "createNamespaces": ("prefix", "count", "countParam", "namespaceTemplatePath"),
    "createPods": ("count", "countParam", "steadyState", "steadyStateParam", "duration", "durationParam",
                   "collectMetrics", "namespace", "podTemplatePath", "skipWaitToCompletion",
                   "persistentVolumeTemplatePath", "persistentVolumeClaimTemplatePath"),
    "createPodSets": ("count", "countParam", "namespacePrefix", "createPodsOp"),
    "createAny": ("count", "countParam", "namespace", "templatePath"),
    "churn": ("mode", "number", "intervalMilliseconds", "namespace", "templatePaths"),
    "barrier": ("namespaces", "labelSelector", "stageRequirement"),
    "deletePods": ("namespace", "labelSelector", "skipWaitToCompletion", "deletePodsPerSecond"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Scope:
    """The context of an operation: the case's name and parameters, and the folder that paths are relative to."""

    case: str
    folder: Path
    params: Mapping[str, Field]
    default_template: Field
    """The path of createPods' default template; may be absent."""


def read_operations(listed: Field, scope: Scope, problems: list[Problem]) -> tuple[Operation, ...]:
    """Read the operations, preceded by the PriorityClasses that their pods need."""
    reader = _Reader(scope, problems)
    operations = [step for n, item in enumerate(listed.items("- opcode: createNodes")) for step in reader.read(item, n)]
    reader.check_waits()
    used = json.dumps(listed.plain())
    for name, param in scope.params.items():
        if f'"${name}"' not in used:
            param.complain(
                "not-supported",
                "no operation uses this parameter: it is for Go code that upstream runs together with this case",
                ELSEWHERE,
            )
    return (*reader.templates.priority_classes(), *operations)


class _Reader:
    def __init__(self, scope: Scope, problems: list[Problem]) -> None:
        self._scope, self._problems = scope, problems
        self.templates = Templates(scope.folder, problems)
        self._unawaited: list[Field] = []

    def read(self, item: Field, number: int) -> list[Operation]:
        """Convert an upstream operation; returns an empty list if it is refused, after adding the problem."""
        opcode = item.entries("{opcode: createNodes}").get("opcode", item)
        name = str(opcode.value.data)
        field = Field(self._problems, f"{self._scope.case}: {name}", item.value.place, item.value)
        if name in _REFUSED:
            field.complain("not-supported", _REFUSED[name], ELSEWHERE)
            return []
        if name not in _FIELDS:
            opcode.choice((*_FIELDS, *_REFUSED))
            return []
        section = field.section("opcode", *_FIELDS[name])
        # Upstream's default namespace (executor.go).
        default = f"namespace-{number}"
        match name:
            case "createNodes":
                return [self._nodes(section)]
            case "createNamespaces":
                return [self._namespaces(section)]
            case "createPods":
                return [self._pods(section, _text(section, "namespace", default))]
            case "createPodSets":
                return self._pod_sets(section)
            case "createAny":
                return self._objects(section)
            case "churn":
                return [self._churn(section, default)]
            case "barrier":
                return [self._barrier(section)]
            case _:
                return [self._delete(section)]

    def check_waits(self) -> None:
        """Refuse pods that no barrier waits for before pods are measured."""
        for field in self._unawaited:
            field.complain("not-supported", _PENDING, ELSEWHERE)

    def _nodes(self, section: Section) -> Operation:
        _refuse(section, "nodeAllocatableStrategy", "uniqueNodeLabelStrategy", why="only labels can be added to nodes")
        labels: dict[str, tuple[str, ...]] = {}
        if "labelNodePrepareStrategy" in section:
            strategy = section["labelNodePrepareStrategy"].section("labelKey", "labelValues")
            labels[strategy["labelKey"].text("zone")] = strategy["labelValues"].texts("[zone1]")
        template = BASE_NODE
        if "nodeTemplatePath" in section:
            template = self.templates.node(section["nodeTemplatePath"])
        return CreateNodes(self._count(section), template, labels)

    def _namespaces(self, section: Section) -> Operation:
        labels: dict[str, str] = {}
        if "namespaceTemplatePath" in section:
            manifest = self.templates.plain(section["namespaceTemplatePath"], "Namespace")
            labels = (manifest.get("metadata") or {}).get("labels") or {}
        return CreateNamespaces(section["prefix"].text("sched"), self._count(section), labels)

    def _pods(self, section: Section, namespace: str) -> CreatePods:
        _refuse(
            section, "persistentVolumeTemplatePath", "persistentVolumeClaimTemplatePath",
            why="creating volumes and claims for each pod is not supported",
        )  # fmt: skip
        _refuse(
            section, "steadyState", "steadyStateParam", "duration", "durationParam",
            why="deleting and recreating pods while they are measured is not supported",
        )  # fmt: skip
        own = "podTemplatePath" in section
        path = section["podTemplatePath"] if own else self._scope.default_template
        template = self.templates.pod(path) if path.given else BASE_POD
        waits = not ("skipWaitToCompletion" in section and section["skipWaitToCompletion"].flag())
        measured = "collectMetrics" in section and section["collectMetrics"].flag()
        if not waits:
            self._unawaited.append(section["skipWaitToCompletion"])
        return CreatePods(self._count(section), (template,), namespace, measured=measured, wait=waits)

    def _pod_sets(self, section: Section) -> list[Operation]:
        prefix = section["namespacePrefix"].text("init-ns")
        inner = section["createPodsOp"].section("opcode", *_FIELDS["createPods"])
        step = self._pods(inner, prefix)
        return [dataclasses.replace(step, namespace=f"{prefix}-{n}") for n in range(self._count(section))]

    def _objects(self, section: Section) -> list[Operation]:
        _refuse(section, "count", "countParam", why="creating several objects from a template is not supported")
        namespace = _text(section, "namespace", "")
        manifest = self.templates.named(section["templatePath"], namespace)
        return [CreateObjects((manifest,))] if manifest else []

    def _churn(self, section: Section, namespace: str) -> Operation:
        paths = section["templatePaths"].items("[../templates/pod-default.yaml]")
        interval = Churn.interval
        if "intervalMilliseconds" in section:
            interval = section["intervalMilliseconds"].integer(1, _MOST, "500") / 1000
        return Churn(
            mode=section["mode"].choice(CHURN_MODES),
            templates=tuple(self.templates.churned(path) for path in paths),
            namespace=_text(section, "namespace", namespace),
            number=section["number"].integer(0, _MOST, "1") if "number" in section else 0,
            interval=interval,
        )

    def _barrier(self, section: Section) -> Operation:
        _refuse(section, "namespaces", "labelSelector", why="it would wait for some of the pods only")
        if _text(section, "stageRequirement", "Scheduled") != "Scheduled":
            section["stageRequirement"].complain("not-supported", _PENDING, ELSEWHERE)
        self._unawaited.clear()
        return Barrier()

    def _delete(self, section: Section) -> Operation:
        _refuse(section, "labelSelector", why="it would delete some of the pods only")
        _refuse(
            section, "skipWaitToCompletion", "deletePodsPerSecond",
            why="deleting pods while others are measured is not supported",
        )  # fmt: skip
        return DeletePods(section["namespace"].text("init"))

    def _count(self, section: Section) -> int:
        """Return the parameter that `countParam` names ("$initNodes"), or else `count`."""
        if "countParam" not in section:
            return section["count"].integer(0, _MOST, "1") if "count" in section else 0
        field = section["countParam"]
        name = field.text("$initNodes").removeprefix("$")
        if name not in self._scope.params:
            field.complain("unknown-parameter", f"the workload has no parameter {name}", f"params: {{{name}: 500}}")
            return 0
        return self._scope.params[name].integer(0, _MOST, "500")


def _text(section: Section, name: str, default: str) -> str:
    return section[name].text(default or "init") if name in section else default


def _refuse(section: Section, *names: str, why: str) -> None:
    for name in names:
        if name in section and section[name].value.data is not False:
            section[name].complain("not-supported", why, ELSEWHERE)
