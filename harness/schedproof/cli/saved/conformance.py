"""Conformance reports: `schedproof verify`, and what `--conformance FILE` of `run` and `judge` writes."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.cli.output import say
from schedproof.foundation.errors import UsageError
from schedproof.foundation.exit_codes import EXIT_FAILED, EXIT_PASSED, EXIT_UNPROVED

if TYPE_CHECKING:
    from schedproof.run.request import RunRequest
    from schedproof.run.result import RunResult


def verify_report(arguments: argparse.Namespace) -> int:
    """Print what a report says, and whether it is so; return the exit code."""
    from schedproof.report.conformance.verification import verify

    verified = verify(arguments.file, arguments.evidence)
    of = verified.report.implementation
    say(f"{of.organization} {of.project} {of.version}, Kubernetes {verified.report.kubernetes.version}:")
    for profile in verified.report.profiles:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in profile.statistics.items())
        say(f"  {profile.name}: {profile.result} ({counts})")
    if verified.problems:
        say(*(f"  wrong: {problem}" for problem in verified.problems))
        say(f"REFUSED: {arguments.file} does not say what its run has shown")
        return EXIT_FAILED
    if not verified.judged:
        say("NOT PROVED: it does not contradict itself; --evidence DIR, the report folder of its run, proves it")
        return EXIT_UNPROVED
    say("VERIFIED: its evidence was judged again, with the same verdicts")
    return EXIT_PASSED


def check_publishing(arguments: argparse.Namespace) -> None:
    """Refuse options with which there could be no conformance report in the end.

    Raises:
        UsageError: that is so.
    """
    if arguments.conformance is None:
        if arguments.release is not None:
            raise UsageError("--release is the version in a published report", remedy="add --conformance FILE")
        return
    for name in ("watch", "dry_run", "shard", "resume"):
        if getattr(arguments, name):
            raise UsageError(
                f"--{name.replace('_', '-')} makes no whole run, of which a report is published",
                remedy="publish with `schedproof judge DIR --conformance FILE` once the run is complete",
            )
    if arguments.repeat > 1 or len(arguments.candidates) != 1:
        raise UsageError(
            "a conformance report is of one run of one candidate", remedy="run them one by one, each with its own file"
        )
    require_place(arguments.conformance)


def to_publish(request: RunRequest, release: str | None) -> RunRequest:
    """Return the request of a run of which a report is published, with the version that the report names.

    Raises:
        UsageError: the candidate does not say what it is.
    """
    from schedproof.candidate.descriptor.descriptor import is_fixed
    from schedproof.report.conformance.writing import stated

    (candidate,) = request.candidates
    if release is not None and not is_fixed(release):
        raise UsageError(f"--release {release}: another version tomorrow", remedy="name a tag, a commit, or a digest")
    about = candidate.implementation
    if about is not None and release:
        about = dataclasses.replace(about, version=release)
    about = stated(about, str(candidate.path.parent))
    return dataclasses.replace(request, candidates=[dataclasses.replace(candidate, implementation=about)])


def require_place(file: Path) -> None:
    """Refuse a file that cannot be written.

    Raises:
        UsageError: its folder does not exist.
    """
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise UsageError(f"--conformance {file}: not a file in an existing folder", remedy="name a new file")


def publish(result: RunResult, file: Path) -> None:
    """Write the report of a run, and beside it the same as an attestation and as a badge."""
    from schedproof.report.conformance.files import write_conformance

    say(*(f"wrote {written}" for written in write_conformance(result, file)))
