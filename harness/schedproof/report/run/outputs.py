"""The outputs of a run: handlers of its events, each in a module of its own."""

from __future__ import annotations

from collections.abc import Callable

from schedproof.foundation.disk import writing_report
from schedproof.report.run.github import annotate, append_summary
from schedproof.report.run.html import write_html
from schedproof.report.run.json_files import write_json
from schedproof.report.run.junit import write_junit
from schedproof.report.run.live import LiveReport
from schedproof.run.document import Report
from schedproof.run.events import Event, Finished, Handler
from schedproof.run.result import RunResult


def outputs(verbosity: int | None = None, since: Report | None = None) -> list[Handler]:
    """Choose the outputs of a run. What the terminal names is written before.

    Args:
        verbosity: of the terminal: -1 (quiet), 0 or 1; None if pytest's own terminal reports.
        since: the report of an earlier run, with which the terminal compares this run.
    """
    files = [_at_end(write) for write in (write_json, write_html, write_junit, append_summary, annotate)]
    return files if verbosity is None else [*files, LiveReport(verbosity, since)]


def write_files(result: RunResult) -> None:
    """Write the files of a run that has ended. Raises HostError if its folder cannot be written."""
    for output in outputs():
        output(Finished(result))


def _at_end(write: Callable[[RunResult], None]) -> Handler:
    """Return the output that writes the result of a run, unless it is empty."""

    def output(event: Event) -> None:
        if isinstance(event, Finished) and not event.result.is_empty:
            with writing_report(event.result.folder):
                write(event.result)

    return output
