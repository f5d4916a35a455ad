"""What a run tells GitHub Actions: a summary of the job, as Markdown, and an annotation for each cause."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from schedproof.foundation.console import tell
from schedproof.foundation.counted import counted
from schedproof.report.run.conclusion import conclude
from schedproof.run.result import CandidateResult, RunResult

_MOST = 20
"""The most causes of a candidate: GitHub limits the summaries of a job to 1 MiB; the report has all causes."""
_OUTCOMES = ("passed", "failed", "invalid", "skipped", "excluded")


def append_summary(result: RunResult) -> None:
    """Append the summary to the file in `$GITHUB_STEP_SUMMARY`, if set. A write error does not fail the run."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write("\n".join([*_lines(result), ""]))
    except OSError as error:
        tell(f"cannot write the job's summary to {name}: {error.strerror}")


def annotate(result: RunResult) -> None:
    """Print a workflow command for each cause, which the runner shows as an annotation; nothing elsewhere."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for name, tested in result.candidates.items():
        for cause in tested.causes[:_MOST]:
            file, title = _property(str(tested.candidate.path)), _property(f"{name}: {cause.title}")
            level = "error" if any(verdict.fails_run for verdict in cause.verdicts) else "warning"
            print(f"::{level} file={file},title={title}::{_command(cause.text)}", flush=True)  # noqa: T201


def _command(text: str) -> str:
    """Escape a value of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _command(text).replace(":", "%3A").replace(",", "%2C")


def _lines(result: RunResult) -> Iterator[str]:
    yield f"### schedproof: {_text(str(conclude(result)))}"
    yield ""
    yield f"| candidate | {' | '.join(_OUTCOMES)} |"
    yield f"|---|{'---:|' * len(_OUTCOMES)}"
    for name, tested in result.candidates.items():
        counts = [sum(verdict.outcome == outcome for verdict in tested.verdicts) for outcome in _OUTCOMES]
        yield f"| {_text(name)} | {' | '.join(map(str, counts))} |"
    yield ""
    for name, tested in result.candidates.items():
        yield from _failures(name, tested)


def _failures(name: str, tested: CandidateResult) -> Iterator[str]:
    if tested.error is not None:
        yield f"- {_text(name)} did not start: {_text(tested.error.message)}"
    causes = tested.causes
    for cause in causes[:_MOST]:
        clauses = ", ".join(f"`{clause}`" for clause in cause.clauses)
        yield f"- {_text(name)}: **{_text(cause.title)}**: {_text(cause.text)} ({clauses})"
    if len(causes) > _MOST:
        yield f"- and {counted(len(causes) - _MOST, 'cause')} more"


def _text(text: str) -> str:
    """Put text from outside on a single line, escaped for Markdown and HTML."""
    return re.sub(r"([\\`*_{}\[\]<>()#|~&!@])", r"\\\1", " ".join(text.split()))
