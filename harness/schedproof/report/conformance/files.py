"""The files of a published report: YAML, the same as an attestation, and a badge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from schedproof.foundation.disk import writing_report
from schedproof.report.conformance.document import ConformanceReport
from schedproof.report.conformance.writing import conformance_report
from schedproof.report.templating import render
from schedproof.run.result import RunResult

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_RESULTS = {"success": "PASSED", "partial": "WARNED", "failure": "FAILED"}
_COLORS = {"success": "#2e7d32", "partial": "#a15c00", "failure": "#b3261e"}


def write_conformance(result: RunResult, file: Path) -> list[Path]:
    """Write the report of a run, and return the files.

    Raises:
        UsageError: the run is not of one candidate that says what it is.
        HostError: a file cannot be written.
    """
    report = conformance_report(result)
    texts = {
        file: as_yaml(report),
        file.with_suffix(".intoto.json"): json.dumps(attestation(report), indent=1) + "\n",
        file.with_suffix(".svg"): badge(report),
    }
    with writing_report(file.absolute().parent):
        for path, text in texts.items():
            path.write_text(text)
    return list(texts)


def as_yaml(report: ConformanceReport) -> str:
    """The report as its file has it."""
    text: str = yaml.safe_dump(report.as_dict(), sort_keys=False, width=120, allow_unicode=True)
    return text


def attestation(report: ConformanceReport) -> dict[str, Any]:
    """The report as an in-toto statement with the predicate test-result, to be signed by the project.

    Its subject is the evidence: a project that has an artifact adds that as another subject.
    """
    of = report.implementation
    tests = {
        f"{word.lower()}Tests": [profile.name for profile in report.profiles if profile.result == result]
        for result, word in _RESULTS.items()
    }
    return {
        "_type": _STATEMENT,
        "subject": [
            {"name": f"{of.project} {of.version}: evidence", "digest": {"sha256": _hex(report.evidence.digest)}}
        ],
        "predicateType": _PREDICATE,
        "predicate": {
            "result": _RESULTS[overall(report)],
            "configuration": [{"name": "candidate.yaml", "digest": {"sha256": _hex(of.configuration)}}],
            "url": of.url,
            **tests,
            "conformanceReport": report.as_dict(),
        },
    }


def badge(report: ConformanceReport) -> str:
    """An SVG that says which profiles hold, and by which version of Kubernetes."""
    said = {
        "success": ", ".join(profile.name for profile in report.profiles),
        "partial": "not proved in full",
        "failure": "fails " + ", ".join(profile.name for profile in report.profiles if profile.result == "failure"),
    }[overall(report)]
    left, right = "schedproof", f"{said} · {report.kubernetes.version}"
    widths = [14 + round(6.6 * len(text)) for text in (left, right)]
    return render("conformance/badge.svg", left=left, right=right, widths=widths, color=_COLORS[overall(report)])


def overall(report: ConformanceReport) -> str:
    """The worst result of all profiles; `partial` if there are none."""
    results = {profile.result for profile in report.profiles} or {"partial"}
    return next(result for result in ("failure", "partial", "success") if result in results)


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")
