"""`schedproof judge` judges a saved run again, without any cluster; `schedproof merge` judges its shards as one run."""

from __future__ import annotations

import argparse
import dataclasses

from schedproof.cli.output import say
from schedproof.foundation.console import open_console
from schedproof.foundation.private import new_results


def judge_again(arguments: argparse.Namespace) -> int:
    from schedproof.report.run.conclusion import conclude
    from schedproof.report.run.html import report_of
    from schedproof.report.run.outputs import write_files
    from schedproof.report.run.terminal import print_conclusion, print_report
    from schedproof.run.rejudge import rejudge

    result, console = rejudge(arguments.folder), open_console()
    if arguments.report is not None:
        # A killed run has left its histories, and no report.
        write_files(dataclasses.replace(result, folder=arguments.report))
    print_report(result, console, verbosity=arguments.verbosity)
    print_conclusion(conclude(result, report=report_of(arguments.report or arguments.folder)), console)
    return result.exit_code


def merge_shards(arguments: argparse.Namespace) -> int:
    from schedproof.report.run.conclusion import conclude
    from schedproof.report.run.html import report_of
    from schedproof.report.run.outputs import write_files
    from schedproof.report.run.terminal import print_conclusion, print_report
    from schedproof.run import instances

    result, missing = instances.merge_shards(arguments.folders, (arguments.report or new_results()).absolute())
    write_files(result)
    console = open_console()
    print_report(result, console, verbosity=arguments.verbosity)
    if missing:
        say(f"not tried: what is of the missing shards {', '.join(map(str, missing))}")
    print_conclusion(conclude(result, report=report_of(result.folder)), console)
    return result.exit_code
