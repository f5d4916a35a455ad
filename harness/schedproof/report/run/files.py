"""Writes report.json, report.html and junit.xml, and soak.json of a soak."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from schedproof.foundation.disk import FREE_SPACE
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import make_private, open_private, write_private
from schedproof.report.run.html import render
from schedproof.report.run.soaked import leak_texts
from schedproof.report.run.terminal import explain
from schedproof.run.leaks import SOAK_SCHEMA, SoakSamples
from schedproof.run.result import RunResult

REPORT = "report.html"
"""The file in a run's folder that users open."""
SOAK = "soak.json"
"""The file with the samples of a soak, of its only candidate."""


def write_files(result: RunResult) -> None:
    """Write the report's three files into the run's folder, and the samples of a soak.

    Raises:
        HostError: the folder cannot be written.
    """
    try:
        make_private(result.folder)
        report = json.dumps(_json(result.document().as_dict()), indent=1, default=str, allow_nan=False)
        write_private(result.folder / "report.json", report + "\n")
        write_private(result.folder / REPORT, render(result))
        for name, tested in result.candidates.items():
            if tested.soak is not None:
                samples = SoakSamples(schema=SOAK_SCHEMA, candidate=name, samples=tested.soak.samples)
                write_private(result.folder / SOAK, json.dumps(samples.as_dict(), indent=1) + "\n")
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


def junit(result: RunResult) -> ET.Element:
    """Build JUnit XML for CI servers: a testsuite for each candidate, a testcase for each clause."""
    root = ET.Element("testsuites", name="schedproof")
    for tested in result.candidates.values():
        suite = ET.SubElement(root, "testsuite", name=tested.candidate.name)
        counts = {"tests": len(tested.verdicts), "failures": 0, "errors": 0, "skipped": 0}
        titles = {clause: cause.title for cause in reversed(tested.causes) for clause in cause.clauses}
        if tested.error is not None:
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="attach")
            ET.SubElement(case, "error", message=_text(tested.error.message)).text = _text(str(tested.error))
            counts["tests"] += 1
            counts["errors"] += 1
        for verdict in tested.verdicts:
            seconds = result.timings.get(f"{tested.candidate.name} {verdict.clause}", 0.0)
            case = ET.SubElement(
                suite, "testcase", classname=f"{tested.candidate.name}.{verdict.clause.partition('/')[0]}",
                name=verdict.clause, time=f"{seconds:.3f}",
            )  # fmt: skip
            if verdict.fails_run:
                kind, count = "failure", "failures"
            elif verdict.unproved:
                kind, count = "error", "errors"
            elif verdict.outcome in ("skipped", "not-claimed", "excluded"):
                kind, count = "skipped", "skipped"
            else:
                continue
            counts[count] += 1
            message = "\n".join(filter(None, (titles.get(verdict.clause), verdict.summary)))
            ET.SubElement(case, kind, type=verdict.code, message=_text(message)).text = _text(
                explain(
                    verdict,
                    result.reproduce(tested.candidate, verdict.clause),
                    result.reproduce_among(tested.candidate, verdict.clause),
                )
            )
        if (soaked := tested.soaked) is not None:
            counts["tests"] += 1
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="leaks")
            if text := "\n".join(leak_texts(soaked)) or soaked.unproved:
                kind, count = ("failure", "failures") if soaked.leaks else ("skipped", "skipped")
                counts[count] += 1
                ET.SubElement(case, kind, message=_text(text)).text = _text(result.soak_again(tested.candidate))
        for name, number in counts.items():
            suite.set(name, str(number))
    return root


def _json(value: Any) -> Any:
    """Replace NaN and infinities, which JSON cannot represent, by "NaN", "+Inf" and "-Inf", as Prometheus does."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    return value


_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> str:
    """Replace characters that XML 1.0 excludes: most control characters, surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
