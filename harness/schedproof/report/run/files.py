"""Writes what a run leaves: report.json, report.html and junit.xml, soak.json of a soak, a CI job's summary."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

from schedproof.documents.part import replace_infinite
from schedproof.foundation.disk import FREE_SPACE
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import make_private, open_private, write_private
from schedproof.report.run.github import append_summary
from schedproof.report.run.html import render
from schedproof.report.run.junit import junit
from schedproof.run.leaks import SOAK_SCHEMA, SoakSamples
from schedproof.run.result import RunResult

REPORT = "report.html"
"""The file in a run's folder that users open."""
SOAK = "soak.json"
"""The file with the samples of a soak, of its only candidate."""


def write_outputs(result: RunResult) -> None:
    """Write the files of a run, and the summary of a CI job where there is one. Raises what `write_files` raises."""
    write_files(result)
    append_summary(result)


def write_files(result: RunResult) -> None:
    """Write the report's three files into the run's folder, and the samples of a soak.

    Raises:
        HostError: the folder cannot be written.
    """
    try:
        make_private(result.folder)
        report = replace_infinite(result.document().as_dict(), _as_prometheus)
        write_private(result.folder / "report.json", json.dumps(report, indent=1, allow_nan=False) + "\n")
        write_private(result.folder / REPORT, render(result))
        for name, tested in result.candidates.items():
            if tested.soak is not None:
                samples = SoakSamples(schema=SOAK_SCHEMA, candidate=name, samples=tested.soak.samples)
                write_private(result.folder / SOAK, samples.model_dump_json(by_alias=True, indent=1) + "\n")
        with open(result.folder / "junit.xml", "wb", opener=open_private) as file:
            ET.ElementTree(junit(result)).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise HostError(
            f"cannot write the report to {result.folder}: {error.strerror}",
            remedy=FREE_SPACE,
        ) from error


def report_of(folder: Path) -> Path | None:
    """Return the path of a folder's report.html, relative if it is below the working directory; None if missing."""
    file = folder / REPORT
    if not file.exists():
        return None
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _as_prometheus(value: float) -> str:
    """NaN and infinities as Prometheus writes them."""
    return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
