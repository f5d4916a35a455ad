"""`schedproof run`: pytest on the shipped suites, once, several times, or whenever a file changes."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.cli.output import say
from schedproof.cli.saved.conformance import check_publishing, publish, to_publish
from schedproof.foundation.console import open_console, tell
from schedproof.foundation.content import content
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_PASSED
from schedproof.foundation.private import new_results
from schedproof.judge.own import is_own

if TYPE_CHECKING:
    from schedproof.run.document import Report
    from schedproof.run.launch import KeptCluster
    from schedproof.run.request import RunRequest
    from schedproof.run.result import RunResult


def run_suites(arguments: argparse.Namespace) -> int:
    if own := [clause for clause in arguments.clause if is_own(clause)]:
        raise UsageError(
            f"--clause {own[0]}: a test of your own is run by pytest; this command tries the catalogue's clauses",
            remedy=f"pytest --sched-candidate=CANDIDATE --sched-clause={own[0]}",
        )
    check_publishing(arguments)
    from schedproof.report.run.changes import load_report

    # Read before anything is started: this run is compared with it.
    since = load_report(arguments.since) if arguments.since is not None else None
    if arguments.resume is not None:
        return _resume(arguments, since)
    if len(minors := _minors(arguments.kubernetes)) > 1:
        return _run_across(arguments, minors, since)
    if arguments.watch:
        return _watch(arguments, since)
    if arguments.repeat == 1:
        return _run_once(arguments, since=since)[0]
    from schedproof.report.run.repeated import Repeated

    folder, repeated, code = arguments.report or new_results(), Repeated(arguments.repeat), 0
    for number in range(1, arguments.repeat + 1):
        say(repeated.heading)
        repetition = argparse.Namespace(**{**vars(arguments), "report": folder / str(number)})
        code, result = _run_once(repetition, since=since)
        repeated.add(code, result)
        if code == EXIT_INTERRUPTED or (code and arguments.fail_fast):
            break
    return repeated.finish(open_console())


def _minors(text: str | None) -> tuple[str, ...]:
    """The minor versions of Kubernetes that an option names: several with commas, or `all` that are pinned."""
    if text is None or not (text == "all" or "," in text):
        return ()  # the cluster's kind decides about a single one
    from schedproof.binaries.lock import load

    minors = tuple(load().kubernetes) if text == "all" else tuple(dict.fromkeys(text.split(",")))
    for minor in minors:  # before the first run
        load().builds(minor)
    return minors


def _run_across(arguments: argparse.Namespace, minors: tuple[str, ...], since: Report | None) -> int:
    """A run on each minor version, with the same seed, and a report with all of them."""
    if arguments.watch or arguments.repeat != 1 or arguments.conformance is not None:
        raise UsageError(
            "--watch, --repeat and --conformance are for one version of Kubernetes",
            remedy="leave them out, or name one version",
        )
    from schedproof.report.minors.across import Across

    folder = arguments.report or new_results()
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    across = Across(folder)
    for minor in minors:
        say(f"Kubernetes {minor}")
        options = {"kubernetes": minor, "report": folder / minor, "seed": seed}
        code, result = _run_once(argparse.Namespace(**{**vars(arguments), **options}), since=since)
        across.add(minor, code, result)
        if code == EXIT_INTERRUPTED or (code and arguments.fail_fast):
            break
    return across.finish(open_console())


def _resume(arguments: argparse.Namespace, since: Report | None) -> int:
    """Try what an interrupted run has left, and complete its report."""
    of_run = {name: getattr(arguments, name) is not None for name in ("report", "seed", "shard")}
    of_run |= {name: bool(getattr(arguments, name)) for name in ("clause", "profile", "watch", "dry_run")}
    of_run["repeat"] = arguments.repeat > 1
    if asked := [name.replace("_", "-") for name, is_asked in of_run.items() if is_asked]:
        raise UsageError(
            f"--resume goes on with what the run in {arguments.resume} was to try: --{asked[0]} cannot change that",
            remedy=f"leave out --{asked[0]}, or begin a new run",
        )
    from schedproof.report.run.conclusion import conclude
    from schedproof.report.run.html import report_of
    from schedproof.report.run.outputs import write_files
    from schedproof.report.run.terminal import print_conclusion
    from schedproof.run.candidates import find_candidates
    from schedproof.run.instances import add_part, interrupted, new_part
    from schedproof.run.plan import as_tried

    folder = arguments.resume.absolute()
    left = interrupted(folder, as_tried(find_candidates(arguments.candidates), arguments.window))
    if left.cluster != arguments.cluster:
        raise UsageError(f"the run in {folder} was on --cluster {left.cluster}", remedy="name the same")
    say(f"{len(left.untried)} clauses of the run in {folder} are left")
    part = argparse.Namespace(**{**vars(arguments), "report": new_part(folder), "seed": left.seed})
    code, _ = _run_once(part, since=since, untried=left.untried)
    result = add_part(folder)
    write_files(result)
    print_conclusion(conclude(result, report=report_of(folder)), open_console())
    return code if code in (EXIT_ERROR, EXIT_INTERRUPTED) else result.exit_code


def normalize(arguments: argparse.Namespace) -> int:
    if not arguments.profile and not arguments.clause:
        arguments.profile = ["normalization"]
    return run_suites(arguments)


def _watch(arguments: argparse.Namespace, since: Report | None) -> int:
    """Run, and repeat what did not pass whenever a file changes, until the user ends it.

    Each round is compared with the round before; the first with the run that the user names, if any.
    """
    from schedproof.cli.watch import Changes, sources, to_try_again
    from schedproof.clusters.kinds import LIGHT
    from schedproof.run.candidates import find_candidates
    from schedproof.run.launch import KeptCluster

    if arguments.repeat != 1 or arguments.jobs not in (None, 1) or arguments.cluster not in LIGHT:
        raise UsageError(
            f"--watch uses one {' or '.join(LIGHT)} cluster and repeats the run itself",
            remedy="leave out --repeat, --jobs and --cluster",
        )
    folder = (arguments.report or new_results()).absolute()
    folders = sources(find_candidates(arguments.candidates))
    kept, only = KeptCluster(), frozenset[str]()
    code = EXIT_PASSED
    try:
        for number in itertools.count(1):
            changes = Changes(folders, but=folder)
            options = {"report": folder / str(number), "jobs": 1}
            attempt = argparse.Namespace(**{**vars(arguments), **options})
            try:
                code, result = _run_once(attempt, kept, since, only)
            except UsageError as error:  # in a changed file: the next change may fix it
                tell(str(error))
                code, result = EXIT_ERROR, None
            if code == EXIT_INTERRUPTED:
                break
            if result is not None and code != EXIT_ERROR:  # after an error there are no verdicts
                only = to_try_again(result)
                since = result.document()
            scope = f"the clauses that did not pass ({', '.join(sorted(only))})" if only else "everything"
            say(f"waiting for a change below {', '.join(map(str, sorted(folders)))} to try {scope} again; Ctrl-C ends")
            say(f"changed: {', '.join(path.name for path in changes.wait())}")
    except KeyboardInterrupt:
        pass  # the user ends --watch by Ctrl-C
    finally:
        kept.close()
    return code


def _run_once(
    arguments: argparse.Namespace,
    kept: KeptCluster | None = None,
    since: Report | None = None,
    only: frozenset[str] = frozenset(),
    untried: frozenset[tuple[str, str]] | None = None,
) -> tuple[int, RunResult | None]:
    """The exit code, and the results."""
    from schedproof.run.request import RunRequest

    request = RunRequest.from_options(
        lambda name: getattr(arguments, name.replace("-", "_")), arguments.candidates, Path.cwd()
    )
    request = dataclasses.replace(request, only=only, untried=untried)
    if arguments.conformance is not None:
        request = to_publish(request, arguments.release)
    if request.settings.kind.survey is not None or arguments.dry_run:
        _tell_scope(request, dry_run=arguments.dry_run)
    if arguments.dry_run:
        return EXIT_PASSED, None
    jobs = arguments.jobs or _jobs(request)
    code, result = run_request(request, verbosity=arguments.verbosity, jobs=jobs, kept=kept, since=since)
    if arguments.conformance is not None and result is not None and code not in (EXIT_ERROR, EXIT_INTERRUPTED):
        publish(result, arguments.conformance)
    return code, result


def _tell_scope(request: RunRequest, *, dry_run: bool) -> None:
    """Print what a run may touch of a cluster that others run, and what it cannot judge."""
    from schedproof.report.scope import tell as told

    try:
        say(*told(request, dry_run=dry_run))
    except SchedproofError:
        if dry_run:
            raise
        # The run ends with the same error, and has it in its report.


def run_request(
    request: RunRequest, *, verbosity: int, jobs: int = 1, kept: KeptCluster | None = None, since: Report | None = None
) -> tuple[int, RunResult | None]:
    """Run pytest on the shipped suites, and return the exit code and the results.

    Args:
        request: candidates, clauses and settings.
        verbosity: -1 (quiet), 0 or 1.
        jobs: the number of clusters side by side.
        kept: has the cluster, if that outlives this run.
        since: the report of an earlier run, with which this run is compared.
    """
    _leave_pytest_alone()
    import pytest

    from schedproof.report.run.outputs import outputs
    from schedproof.run.events import Event, Finished
    from schedproof.run.handed import Handed

    options = ["-c", str(content("suites", "pytest.ini")), "--noconftest", "-p", "no:cacheprovider"]
    # Without capture, so that the progress of long steps is visible; the suites print nothing.
    options += [f"--ignore={content('suites', 'benchmark')}", "-p", "schedproof.pytest_plugin"]
    options += ["-p", "no:terminal", "-p", "no:faulthandler", "--capture=no"]
    options.append(f"--sched-verbosity={verbosity}")
    if jobs > 1:
        options += ["-p", "xdist.plugin", f"-n{jobs}", "--max-worker-restart=0", "-p", "no:tmpdir"]
    events: list[Event] = []
    handed = Handed(request, [*outputs(verbosity, since), events.append], kept)
    code = pytest.main([*options, str(content("suites"))], plugins=[handed])
    end = events[-1] if events else None
    if isinstance(end, Finished) and (end.result.candidates or code != pytest.ExitCode.USAGE_ERROR):
        return end.exit_code, end.result
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return EXIT_ERROR, None  # pytest has printed the error


def _jobs(request: RunRequest) -> int:
    """The number of clusters side by side that saves time, if only memory limits it."""
    from schedproof.run.durations import Durations
    from schedproof.run.plan import choose_jobs

    settings = request.settings
    if not settings.kind.light or settings.cluster_name or settings.keep_cluster:
        return 1
    return choose_jobs(request.trials, Durations(settings.effort))


def _leave_pytest_alone() -> None:
    """The pytest arguments that keep a user's own options, plugins and settings out: they may deselect everything.

    No ini file or conftest.py of the user is read either, by these options.
    """
    for name in [name for name in os.environ if name.startswith("PYTEST_") and name != "PYTEST_CURRENT_TEST"]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
