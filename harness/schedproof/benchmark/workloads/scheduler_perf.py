"""Imports upstream's benchmarks as workloads, under upstream's names.

Upstream is test/integration/scheduler_perf of kubernetes/kubernetes; a performance-config.yaml is a list of test
cases (scheduler_perf.go, testCase), each with a template of operations and with workloads that fill in its
parameters. Each pair, such as `SchedulingBasic/500Nodes`, becomes a Workload here. A case that cannot be expressed is
refused, with all operations and fields that are not supported; docs/workloads.md lists them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict

from schedproof.benchmark.workloads.operations import Manifest, Operation
from schedproof.benchmark.workloads.scheduler_perf_operations import (
    ELSEWHERE,
    OPERATIONS,
    PENDING,
    REFUSED,
    Case,
    converted,
    template,
    unsupported,
)
from schedproof.benchmark.workloads.scheduler_perf_templates import BASE_POD, Templates
from schedproof.benchmark.workloads.workload import Workload, disorder
from schedproof.documents.model import Anything, Camel, Flag, Listed, Mapped, Number, Such, Text, Wrong, shown
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.reading import located, raw, read
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import Mark, Value, read_document
from schedproof.foundation.errors import UsageError

M = TypeVar("M", bound=Mapped)

_FILE = "performance-config.yaml"

_OPCODES = (*OPERATIONS, *REFUSED)

_LOCKED: Final = {
    "DynamicResourceAllocation": True,
    "InPlacePodVerticalScaling": True,
    "NodeInclusionPolicyInPodTopologySpread": True,
    "SchedulerQueueingHints": True,
}
_DEFAULTS: Final = {
    "NodeDeclaredFeatures": True,
    "OpportunisticBatching": True,
    "SchedulerAsyncAPICalls": False,
    "SchedulerAsyncPreemption": True,
}
"""Of Kubernetes 1.36 (pkg/features/kube_features.go), for the gates that upstream's cases set."""


_Gates = Annotated[Mapping[str, Flag], Such("{SchedulerAsyncAPICalls: true}")]
_Labels = Annotated[Listed[Text], Such("[performance]")]
_Selector = Annotated[
    Any,
    unsupported(
        "only thresholds of the throughput are supported",
        but=lambda value: isinstance(value, dict) and value.get("name") == "SchedulingThroughput",
    ),
]
_NotByTopic = unsupported("thresholds by topic are not supported", but=lambda value: not isinstance(value, dict))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _PerfWorkload(Camel):
    """One of the workloads of a test case."""

    name: Annotated[Text, Such("500Nodes")]
    params: Annotated[Anything, Such("{initNodes: 500}")] = dataclasses.field(default_factory=dict)
    labels: _Labels = ()
    threshold: Annotated[Number, _NotByTopic, Such("270")] | None = None
    threshold_metric_selector: _Selector = None
    feature_gates: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _TestCase(Camel):
    name: Annotated[Text, Such("SchedulingBasic")]
    workload_template: Annotated[tuple[Any, ...], Such("[{opcode: createNodes}]")]
    workloads: Any
    labels: _Labels = ()
    default_pod_template_path: Annotated[Manifest, template(Templates.pod)] | None = None
    default_threshold_metric_selector: _Selector = None
    metrics_collector_config: Any = None
    scheduler_config_path: Annotated[Any, unsupported("a candidate brings its own configuration")] = None
    feature_gates: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Gated(Camel):
    """The feature gates of a test case or of a workload, which are read even if its other fields are refused."""

    __pydantic_config__ = ConfigDict({**Camel.__pydantic_config__, "extra": "ignore"})

    feature_gates: _Gates = dataclasses.field(default_factory=dict)


class SchedulerPerf:
    """The cases of a performance-config.yaml, given by its path or its folder.

    Raises:
        UsageError: the file is missing or invalid.
    """

    def __init__(self, path: Path) -> None:
        self.file = path / _FILE if path.is_dir() else path
        self._cases = _cases(self.file)

    @property
    def names(self) -> list[str]:
        """Names such as `SchedulingBasic/500Nodes`, in the order of the file, including cases that are refused."""
        return list(self._cases)

    def workload(self, name: str) -> Workload:
        """Return the case of this name, as upstream runs it.

        Raises:
            UsageError: there is no such case; or it cannot be expressed, with the unsupported operations and fields.
        """
        if name not in self._cases:
            raise UsageError(f"{self.file}: there is no case {name!r}", remedy=did_you_mean(name, self.names))
        return _Import(name, *self._cases[name], self.file).workload(_source(self.file))


def import_case(path: Path, name: str) -> Workload:
    """Import a case of a file or folder; see `SchedulerPerf`."""
    return SchedulerPerf(path).workload(name)


def _cases(file: Path) -> dict[str, tuple[Value, Value]]:
    """By name, each pair of a test case and a workload."""
    problems: list[Problem] = []
    document = read_document(file, problems)
    found = [
        (f"{_at(case, 'name').written}/{_at(workload, 'name').written}", case, workload)
        for case in _items(document)
        for workload in _items(_at(case, "workloads"))
    ]
    if not found:
        message = "expected a list of test cases, each with its workloads"
        problems.append(located(document, Wrong("wrong-type", message, f"name upstream's {_FILE}")))
    if problems:
        raise DescriptorError(problems)
    return {name: (case, workload) for name, case, workload in found}


def _at(value: Value, name: str) -> Value:
    """The field of a mapping; absent if there is none."""
    data = value.data
    return data[name].value if isinstance(data, dict) and name in data else Value(value.place, Mark.ABSENT)


def _items(value: Value) -> list[Value]:
    return value.data if isinstance(value.data, list) else []


class _Import:
    """The import of one case. The paths of its problems begin with its name, instead of its number in the list."""

    def __init__(self, name: str, case: Value, own: Value, file: Path) -> None:
        self._name, self._case, self._own = name, case, own
        params = raw(_at(own, "params"))
        self._context = Case(Templates(file.parent), params if isinstance(params, dict) else {})
        self._problems: list[Problem] = []

    def workload(self, source: str) -> Workload:
        case, own = self._read(_TestCase, self._case, "testCase"), self._read(_PerfWorkload, self._own, "workload")
        gates = self._gates()
        self._check_parameters()
        operations = self._operations((case and case.default_pod_template_path) or BASE_POD)
        if not self._problems and (problem := disorder(operations)):
            self._refuse(self._case, "testCase", problem, "workloadTemplate")
        if self._problems or case is None or own is None:
            raise DescriptorError(self._problems)
        return Workload(
            self._name, f"{self._name} of upstream's scheduler_perf", source, operations, feature_gates=gates,
            threshold=None if own.threshold is None else float(own.threshold), labels=(*case.labels, *own.labels),
        )  # fmt: skip

    def _read(self, model: type[M], value: Value, path: str) -> M | None:
        try:
            return read(model, value, context=self._context, path=f"{self._name}: {path}")
        except DescriptorError as error:
            self._problems += error.problems
            return None

    def _refuse(self, value: Value, path: str, why: str, *at: str, fix: str = ELSEWHERE) -> None:
        self._problems.append(located(value, Wrong("not-supported", why, fix, at), f"{self._name}: {path}"))

    def _gates(self) -> dict[str, bool]:
        """Return the feature gates that upstream sets differently from Kubernetes' defaults.

        The workload's gates take precedence over those of its test case. Opportunistic batching is off unless a case
        enables it (scheduler_perf.go, setupTestCase).
        """
        gates = {"OpportunisticBatching": False}
        for value, path in ((self._case, "testCase"), (self._own, "workload")):
            gated = self._read(_Gated, value, path)
            gates |= gated.feature_gates if gated else {}
        own = _at(self._own, "featureGates").data is not Mark.ABSENT
        for gate, on in gates.items():
            if _LOCKED.get(gate, on) != on:
                why = (
                    f"{gate}: {str(on).lower()} is not possible: Kubernetes 1.36 has locked it (upstream emulates 1.33)"
                )
                fix = "use a case of this size that does not set the gate, if there is one"
                where, path = (self._own, "workload") if own else (self._case, "testCase")
                self._refuse(where, path, why, "featureGates", fix=fix)
        return {gate: on for gate, on in gates.items() if {**_DEFAULTS, **_LOCKED}.get(gate) != on}

    def _check_parameters(self) -> None:
        used = json.dumps(raw(_at(self._case, "workloadTemplate")), default=str)
        for name in self._context.params:
            if f'"${name}"' not in used:
                why = "no operation uses this parameter: it is for Go code that upstream runs together with this case"
                self._refuse(self._own, "workload", why, "params", name)

    def _operations(self, pod: Manifest) -> tuple[Operation, ...]:
        """Read the operations, preceded by the PriorityClasses that their pods need."""
        operations: list[Operation] = []
        unawaited: list[Any] = []
        for number, item in enumerate(_items(_at(self._case, "workloadTemplate"))):
            name = _at(item, "opcode").written
            if name in REFUSED:
                self._refuse(item, name, REFUSED[name])
            elif name not in OPERATIONS:
                wrong = Wrong(
                    "unknown-value", f"unknown value {shown(name)}", did_you_mean(name, _OPCODES), ("opcode",)
                )
                self._problems.append(located(item, wrong, f"{self._name}: testCase.workloadTemplate[{number}]"))
            elif step := self._read(OPERATIONS[name], item, name):
                # Upstream's default namespace (executor.go).
                operations += converted(step, f"namespace-{number}", pod)
            if name == "barrier":
                unawaited.clear()
            elif name in ("createPods", "createPodSets"):
                outer = ("createPodsOp",) if name == "createPodSets" else ()
                pods = _at(item, *outer) if outer else item
                if _at(pods, "skipWaitToCompletion").data is True:
                    unawaited.append((item, name, PENDING, *outer, "skipWaitToCompletion"))
        for pending in unawaited:
            self._refuse(*pending)
        return (*self._context.templates.priority_classes(), *operations)


def _source(file: Path) -> str:
    """Return the path from the root of Kubernetes' sources if the path shows it: the rest is specific to a machine."""
    parts: list[Any] = list(file.parts)
    roots = [n for n, part in enumerate(parts) if part.startswith("kubernetes@")]
    return "/".join(parts[roots[-1] :]) if roots else str(file)
