"""Writes report.json, report.html and junit.xml, and soak.json of a soak."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from schedproof.documents.part import replace_infinite
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


def junit(result: RunResult) -> ET.Element:
    """Build JUnit XML for CI servers: a testsuite for each candidate, a testcase for each clause."""
    root = ET.Element("testsuites", name="schedproof")
    for tested in result.candidates.values():
        suite = ET.SubElement(root, "testsuite", name=tested.candidate.name)
        titles = {clause: cause.title for cause in reversed(tested.causes) for clause in cause.clauses}
        if tested.error is not None:
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="attach")
            ET.SubElement(case, "error", message=_text(tested.error.message)).text = _text(str(tested.error))
        for verdict in tested.verdicts:
            seconds = result.timings.get(f"{tested.candidate.name} {verdict.clause}", 0.0)
            case = ET.SubElement(
                suite, "testcase", classname=f"{tested.candidate.name}.{verdict.clause.partition('/')[0]}",
                name=verdict.clause, time=f"{seconds:.3f}",
            )  # fmt: skip
            if verdict.fails_run:
                kind = "failure"
            elif verdict.unproved:
                kind = "error"
            elif verdict.outcome in ("skipped", "not-claimed", "excluded"):
                kind = "skipped"
            else:
                continue
            message = "\n".join(filter(None, (titles.get(verdict.clause), verdict.summary)))
            ET.SubElement(case, kind, type=verdict.code, message=_text(message)).text = _text(
                explain(
                    verdict,
                    result.reproduce(tested.candidate, verdict.clause),
                    result.reproduce_among(tested.candidate, verdict.clause),
                )
            )
        if (soaked := tested.soaked) is not None:
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="leaks")
            if text := "\n".join(leak_texts(soaked)) or soaked.unproved:
                kind = "failure" if soaked.leaks else "skipped"
                ET.SubElement(case, kind, message=_text(text)).text = _text(result.soak_again(tested.candidate))
        for name, tag in (("tests", "*"), ("failures", "*/failure"), ("errors", "*/error"), ("skipped", "*/skipped")):
            suite.set(name, str(len(suite.findall(tag))))
    return root


def _as_prometheus(value: float) -> str:
    """NaN and infinities as Prometheus writes them."""
    return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"


_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> str:
    """Replace characters that XML 1.0 excludes: most control characters, surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
