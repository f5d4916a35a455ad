"""Reads a schedproof workload: fixtures/workloads/*.yaml, or the user's. The reference page is docs/workloads.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from schedproof.benchmark.workloads.operations_reader import read_operation
from schedproof.benchmark.workloads.workload import Workload, disorder
from schedproof.documents.fields import Field, matching
from schedproof.documents.json_schema import API_VERSION
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import read_document
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

_NAME = matching(
    r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?",
    "expected lower-case letters, digits and dashes, at most 53",
    "such as basic",
)
_NONE: Mapping[str, int] = MappingProxyType({})
_LARGEST = 1_000_000


def shipped_workloads() -> list[str]:
    """Return the names of the workloads in fixtures/workloads: `basic`, `network-aware` and so on."""
    return sorted(file.stem for file in content("fixtures", "workloads").glob("*.yaml"))


def load_workload(path_or_name: str | Path, *, parameters: Mapping[str, int] = _NONE) -> Workload:
    """Load a workload from a file, or by the name of a shipped workload; a file takes precedence.

    `parameters` override the file's defaults, such as `{"nodes": 5000}`.

    Raises:
        UsageError: there is no such file or workload; the workload has no such parameter; or the file is invalid (then
            with all problems, each with its line).
    """
    text = str(path_or_name)
    path, source = Path(text), text
    if not path.is_file():
        if text not in shipped_workloads():
            raise UsageError(
                f"no workload {text!r}: there is no such file, and no workload of that name is shipped",
                remedy=did_you_mean(text, shipped_workloads()),
            )
        path = content("fixtures", "workloads", f"{text}.yaml")
        source = f"fixtures/workloads/{text}.yaml"
    problems: list[Problem] = []
    document = read_document(path, problems)
    workload = _workload(Field(problems, "", document.place, document), source, parameters)
    if problems:
        raise DescriptorError(problems)
    return workload


def _workload(document: Field, source: str, chosen: Mapping[str, int]) -> Workload:
    top = document.section("apiVersion", "kind", "metadata", "spec")
    top["apiVersion"].choice((API_VERSION,))
    top["kind"].choice(("Workload",))
    name = top["metadata"].section("name")["name"].text("basic", _NAME)
    spec = top["spec"].section("description", "parameters", "operations")
    description = " ".join(spec["description"].text("what it stresses").split())
    defaults = _parameters(spec["parameters"]) if "parameters" in spec else {}
    values = defaults | _chosen(chosen, defaults, source)
    listed = spec["operations"].items("createNodes: {...}")
    operations = tuple(
        operation for field in listed if (operation := read_operation(field, values)) is not None
    )  # fmt: skip
    if spec.sound and (problem := disorder(operations)):
        spec["operations"].complain(
            "contradiction", problem, "docs/workloads.md describes the operations of a workload"
        )
    return Workload(name, description, source, operations)


def _parameters(field: Field) -> dict[str, int]:
    return {
        name: value.integer(0, _LARGEST, "500") for name, value in field.entries("{nodes: 500, pods: 1000}").items()
    }


def _chosen(chosen: Mapping[str, int], defaults: Mapping[str, int], source: str) -> dict[str, int]:
    for name, value in chosen.items():
        if name not in defaults:
            raise UsageError(
                f"{source}: the workload has no parameter {name!r}", remedy=did_you_mean(name, list(defaults))
            )
        if not 0 <= value <= _LARGEST:
            raise UsageError(
                f"{source}: the parameter {name} is {value}, expected 0 to {_LARGEST}", remedy=f"such as {name}=500"
            )
    return dict(chosen)
