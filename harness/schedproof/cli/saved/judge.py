"""`schedproof judge` judges a saved run again, without any cluster; `schedproof merge` judges its shards as one run."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.cli.output import say
from schedproof.cli.saved.conformance import publish, require_place
from schedproof.foundation.console import open_console
from schedproof.foundation.private import new_results

if TYPE_CHECKING:
    from schedproof.run.result import RunResult


def judge_again(arguments: argparse.Namespace) -> int:
    from schedproof.report.run.outputs import write_files
    from schedproof.run.rejudge import rejudge

    if arguments.conformance is not None:
        require_place(arguments.conformance)
    result = rejudge(arguments.folder)
    if arguments.report is not None:
        # A killed run has left its histories, and no report.
        write_files(dataclasses.replace(result, folder=arguments.report))
    if arguments.conformance is not None:
        publish(result, arguments.conformance)
    return _report(result, arguments.report or arguments.folder, arguments.verbosity)


def merge_shards(arguments: argparse.Namespace) -> int:
    from schedproof.report.run.outputs import write_files
    from schedproof.run import instances

    result, missing = instances.merge_shards(arguments.folders, (arguments.report or new_results()).absolute())
    write_files(result)
    note = f"not tried: what is of the missing shards {', '.join(map(str, missing))}" if missing else ""
    return _report(result, result.folder, arguments.verbosity, note=note)


def _report(result: RunResult, folder: Path, verbosity: int, *, note: str = "") -> int:
    """Print a result, a note on it, and a conclusion that names the report's folder; return the exit code."""
    from schedproof.report.run.conclusion import conclude
    from schedproof.report.run.html import report_of
    from schedproof.report.run.terminal import print_conclusion, print_report

    console = open_console()
    print_report(result, console, verbosity=verbosity)
    if note:
        say(note)
    print_conclusion(conclude(result, report=report_of(folder)), console)
    return result.exit_code
