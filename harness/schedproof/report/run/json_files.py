"""report.json, and soak.json of a soak."""

from __future__ import annotations

import json
import math

from schedproof.documents.part import replace_infinite
from schedproof.foundation.private import write_private
from schedproof.run.leaks import SOAK_SCHEMA, SoakSamples
from schedproof.run.result import RunResult

SOAK = "soak.json"
"""The file with the samples of a soak, of its only candidate."""


def write_json(result: RunResult) -> None:
    """Write report.json into the run's folder, and the samples of a soak."""
    report = replace_infinite(result.document().as_dict(), _as_prometheus)
    write_private(result.folder / "report.json", json.dumps(report, indent=1, allow_nan=False) + "\n")
    for name, tested in result.candidates.items():
        if tested.soak is not None:
            samples = SoakSamples(schema=SOAK_SCHEMA, candidate=name, samples=tested.soak.samples)
            write_private(result.folder / SOAK, samples.model_dump_json(by_alias=True, indent=1) + "\n")


def _as_prometheus(value: float) -> str:
    """NaN and infinities as Prometheus writes them."""
    return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
