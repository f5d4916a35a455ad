"""`schedproof compare`: failures that are fixed, new, or still there between two runs."""

from __future__ import annotations

import argparse

from schedproof.cli.output import say
from schedproof.foundation.errors import UsageError
from schedproof.foundation.exit_codes import EXIT_FAILED, EXIT_PASSED


def compare(arguments: argparse.Namespace) -> int:
    """Print the changes between two runs, or two conformance reports; return 1 if there are new failures."""
    if {file.suffix for file in (arguments.before, arguments.after)} <= {".yaml", ".yml"}:
        return _compare_published(arguments)
    from schedproof.report.run.changes import changes, describe_changes, load_report

    found = changes(load_report(arguments.before), load_report(arguments.after))
    if not found:
        raise UsageError(
            f"{arguments.before} and {arguments.after} have no candidate in common",
            remedy="compare runs of the same candidate: candidates are matched by metadata.name",
        )
    for changed in found:
        for line in describe_changes(changed):
            say(line)
    return EXIT_FAILED if any(changed.new for changed in found) else EXIT_PASSED


def _compare_published(arguments: argparse.Namespace) -> int:
    from schedproof.report.conformance.changes import describe, newly_failed
    from schedproof.report.conformance.verification import load_conformance

    before, after = load_conformance(arguments.before), load_conformance(arguments.after)
    say(*describe(before, after))
    return EXIT_FAILED if newly_failed(before, after) else EXIT_PASSED
