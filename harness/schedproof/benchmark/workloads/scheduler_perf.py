"""Imports upstream's benchmarks as workloads, under upstream's names.

Upstream is test/integration/scheduler_perf of kubernetes/kubernetes; a performance-config.yaml is a list of test
cases (scheduler_perf.go, testCase), each with a template of operations and with workloads that fill in its
parameters. Each pair, such as `SchedulingBasic/500Nodes`, becomes a Workload here. A case that cannot be expressed is
refused, with all operations and fields that are not supported; docs/workloads.md lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from schedproof.benchmark.workloads.scheduler_perf_operations import ELSEWHERE, Scope, read_operations
from schedproof.benchmark.workloads.workload import Workload, disorder
from schedproof.documents.fields import Field, Section
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import read_document
from schedproof.foundation.errors import UsageError

_FILE = "performance-config.yaml"
_TEST_CASE = (
    "name", "featureGates", "metricsCollectorConfig", "workloadTemplate", "workloads", "schedulerConfigPath",
    "defaultPodTemplatePath", "labels", "defaultThresholdMetricSelector",
)  # fmt: skip
_WORKLOAD = ("name", "params", "labels", "threshold", "thresholdMetricSelector", "featureGates")

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


class SchedulerPerf:
    """The cases of a performance-config.yaml, given by its path or its folder.

    Raises:
        UsageError: the file is missing or invalid.
    """

    def __init__(self, path: Path) -> None:
        self.file = path / _FILE if path.is_dir() else path
        problems: list[Problem] = []
        self._cases = {name: (case, workload) for name, case, workload in _cases(self.file, problems)}
        if problems:
            raise DescriptorError(problems)

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
        problems: list[Problem] = []
        workload = _workload(name, *self._cases[name], self.file, problems)
        if problems:
            raise DescriptorError(problems)
        return workload


def cases(path: Path) -> list[str]:
    """Return the names of the cases in a file or folder; see `SchedulerPerf`."""
    return SchedulerPerf(path).names


def import_case(path: Path, name: str) -> Workload:
    """Import a case of a file or folder; see `SchedulerPerf`."""
    return SchedulerPerf(path).workload(name)


def _cases(file: Path, problems: list[Problem]) -> Iterator[tuple[str, Field, Field]]:
    document = read_document(file, problems)
    for test_case in Field(problems, "", document.place, document).items("- name: SchedulingBasic"):
        section = test_case.section(*_TEST_CASE)
        name = section["name"].text("SchedulingBasic")
        for workload in section["workloads"].items("- name: 500Nodes"):
            yield f"{name}/{workload.section(*_WORKLOAD)['name'].text('500Nodes')}", test_case, workload


def _workload(name: str, test_case: Field, workload: Field, file: Path, problems: list[Problem]) -> Workload:
    # The paths of problems begin with upstream's name of the case, instead of its number in the list.
    case = Field(problems, f"{name}: testCase", test_case.value.place, test_case.value).section(*_TEST_CASE)
    own = Field(problems, f"{name}: workload", workload.value.place, workload.value).section(*_WORKLOAD)
    if "schedulerConfigPath" in case:
        case["schedulerConfigPath"].complain("not-supported", "a candidate brings its own configuration", ELSEWHERE)
    params = own["params"].entries("{initNodes: 500}") if "params" in own else {}
    scope = Scope(name, file.parent, params, case["defaultPodTemplatePath"])
    operations = read_operations(case["workloadTemplate"], scope, problems)
    if not problems and (problem := disorder(operations)):
        case["workloadTemplate"].complain("not-supported", problem, ELSEWHERE)
    return Workload(
        name=name,
        description=f"{name} of upstream's scheduler_perf",
        source=_source(file),
        operations=operations,
        feature_gates=_gates(case, own),
        threshold=_threshold(case, own),
        labels=(*_labels(case), *_labels(own)),
    )


def _gates(case: Section, own: Section) -> dict[str, bool]:
    """Return the feature gates that upstream sets differently from Kubernetes' defaults.

    The workload's gates take precedence over those of its test case. Opportunistic batching is off unless a case
    enables it (scheduler_perf.go, setupTestCase).
    """
    gates: dict[str, bool] = {"OpportunisticBatching": False}
    for section in (case, own):
        own_gates = (
            section["featureGates"].entries("{SchedulerAsyncAPICalls: true}") if "featureGates" in section else {}
        )
        gates |= {gate: value.flag() for gate, value in own_gates.items()}
    for gate, value in gates.items():
        if _LOCKED.get(gate, value) != value:
            (own if "featureGates" in own else case)["featureGates"].complain(
                "not-supported",
                f"{gate}: {str(value).lower()} is not possible: Kubernetes 1.36 has locked it (upstream emulates 1.33)",
                "use a case of this size that does not set the gate, if there is one",
            )
    return {gate: value for gate, value in gates.items() if {**_DEFAULTS, **_LOCKED}.get(gate) != value}


def _threshold(case: Section, own: Section) -> float | None:
    for section, name in ((case, "defaultThresholdMetricSelector"), (own, "thresholdMetricSelector")):
        if name in section and section[name].plain_mapping("{name: SchedulingThroughput}").get("name") != (
            "SchedulingThroughput"
        ):
            section[name].complain("not-supported", "only thresholds of the throughput are supported", ELSEWHERE)
    if "threshold" not in own:
        return None
    if isinstance(own["threshold"].value.data, dict):
        own["threshold"].complain("not-supported", "thresholds by topic are not supported", ELSEWHERE)
        return None
    return float(own["threshold"].number("270"))


def _labels(section: Section) -> tuple[str, ...]:
    return section["labels"].texts("[performance]") if "labels" in section else ()


def _source(file: Path) -> str:
    """Return the path from the root of Kubernetes' sources if the path shows it: the rest is specific to a machine."""
    parts: list[Any] = list(file.parts)
    roots = [n for n, part in enumerate(parts) if part.startswith("kubernetes@")]
    return "/".join(parts[roots[-1] :]) if roots else str(file)
