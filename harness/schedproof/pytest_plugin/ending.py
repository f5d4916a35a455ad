"""The end of a session: stops processes, writes the reports, and prints the result."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from schedproof.foundation.console import open_console
from schedproof.foundation.private import remove_empty
from schedproof.report.run.conclusion import conclude
from schedproof.report.run.files import REPORT, write_outputs
from schedproof.report.run.terminal import print_conclusion, print_report
from schedproof.run.durations import Durations
from schedproof.run.result import RunResult
from schedproof.run.session import Session


def end(session: Session, benchmarks: Any) -> None:
    """Close the session, and write its files.

    `benchmarks` is pytest-benchmark's session; its storage folder is removed if it is empty.
    """
    number = session.settings.cluster_number
    try:
        session.close()
    finally:
        if not (session.result.is_empty or number):
            Durations(session.settings.effort).keep(session.result.durations)
            write_outputs(session.result)
        if not number:
            remove_empty(session.settings.report)
            if isinstance(folder := getattr(getattr(benchmarks, "storage", None), "path", None), Path):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def summarize(result: RunResult, *, verbosity: int) -> None:
    """Print the result, and the path of the report, which is written when the session has ended."""
    console = open_console()
    print_report(result, console, evidence=False, verbosity=verbosity)
    print_conclusion(conclude(result, report=None if result.is_empty else result.folder / REPORT), console)
