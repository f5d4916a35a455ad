"""`schedproof schema FILE`: JSON Schemas of the files that users write and that runs leave, for editors and other
tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from schedproof.benchmark.results import BenchDocument
from schedproof.benchmark.workloads.reader import workload_schema
from schedproof.candidate.descriptor.candidate_schema import candidate_schema
from schedproof.clusters.spec import cluster_schema
from schedproof.documents.json_schema import Schema, document_schema
from schedproof.history.saved import history_schema
from schedproof.judge.claimable import CLAIMABLE
from schedproof.report.conformance.document import ConformanceReport
from schedproof.run.document import Report
from schedproof.run.leaks import SoakSamples

SCHEMAS: Mapping[str, Callable[[], Schema]] = MappingProxyType(
    {
        "candidate": lambda: candidate_schema(CLAIMABLE), "cluster": cluster_schema, "workload": workload_schema,
        "report": lambda: document_schema(Report, "report.json"),
        "soak": lambda: document_schema(SoakSamples, "soak.json"),
        "bench": lambda: document_schema(BenchDocument, "bench.json"), "history": history_schema,
        "conformance": lambda: document_schema(ConformanceReport, "a conformance report", field="apiVersion"),
    }
)  # fmt: skip
"""The schemas of files that users write, and of files of a run. That of a history describes a line."""


def schema_text(name: str) -> str:
    """A schema as formatted JSON."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False)
