"""Reads a schedproof workload: fixtures/workloads/*.yaml, or the user's. The reference page is docs/workloads.md."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from schedproof.benchmark.workloads.operations import MOST, Step
from schedproof.benchmark.workloads.workload import Workload, disorder
from schedproof.documents.json_schema import DRAFT, Schema, schema_of
from schedproof.documents.model import Camel, File, Listed, Such, Text, Whole, Wrong, matching, rule
from schedproof.documents.problems import Problem
from schedproof.documents.reading import raw, read
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import Value, read_document
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

_NONE: Mapping[str, int] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class Metadata(Camel):
    name: Annotated[
        Text,
        matching(
            r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?",
            "expected lower-case letters, digits and dashes, at most 53",
            "such as basic",
        ),
        Such("basic"),
        Field(title="lower-case letters, digits, dashes; at most 53"),
    ]
    """the name in reports"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkloadSpec(Camel):
    description: Annotated[Text, Such("what it stresses")]
    """what the workload tests, in a sentence"""
    parameters: Annotated[
        Mapping[str, Annotated[Whole, Field(ge=0, le=MOST), Such("500")]], Such("{nodes: 500, pods: 1000}")
    ] = dataclasses.field(default_factory=dict)
    """numbers that the command line can override"""
    operations: Annotated[
        Listed[Annotated[Step, Field(json_schema_extra={"minProperties": 1, "maxProperties": 1})]],
        Such("createNodes: {...}"),
    ]
    """operations, executed in this order; the last operation creates the measured pods"""

    @rule
    def _ordered(self, _: object) -> Iterator[Wrong]:
        if problem := disorder([step.given[0] for step in self.operations]):
            fix = "docs/workloads.md describes the operations of a workload"
            yield Wrong("contradiction", problem, fix, ("operations",))


@dataclasses.dataclass(frozen=True)
class WorkloadFile(File):
    """What is scheduled in a benchmark."""

    kind: Literal["Workload"]
    """what the file describes"""
    metadata: Metadata
    spec: WorkloadSpec


def workload_schema() -> Schema:
    """The JSON Schema of workloads: fixtures/workloads/*.yaml, or the user's."""
    return {"$schema": DRAFT, **schema_of(WorkloadFile), "title": "Workload (schedproof/v1)"}


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
    values = _values(document, parameters, source)
    file = read(WorkloadFile, document, problems, context=values)
    operations = tuple(step.given[0] for step in file.spec.operations)
    return Workload(file.metadata.name, " ".join(file.spec.description.split()), source, operations)


def _values(document: Value, chosen: Mapping[str, int], source: str) -> Mapping[str, int]:
    """The parameters by name: those that are chosen, else the defaults of a file whose fields may be wrong."""
    found = raw(document)
    for name in ("spec", "parameters"):
        found = found.get(name) if isinstance(found, dict) else None
    written = found if isinstance(found, dict) else {}
    defaults = {name: value if isinstance(value, int) and 0 <= value <= MOST else 0 for name, value in written.items()}
    for name, value in chosen.items():
        if name not in defaults:
            raise UsageError(
                f"{source}: the workload has no parameter {name!r}", remedy=did_you_mean(name, list(defaults))
            )
        if not 0 <= value <= MOST:
            raise UsageError(
                f"{source}: the parameter {name} is {value}, expected 0 to {MOST}", remedy=f"such as {name}=500"
            )
    return defaults | dict(chosen)
