"""The command line: commands and their options. Larger commands have their own modules."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from schedproof import __version__
from schedproof.cli.completion import complete
from schedproof.cli.output import say
from schedproof.clusters.kinds import DEFAULT, ON_THIS_MACHINE
from schedproof.documents.problems import Problem
from schedproof.documents.suggestions import nearest
from schedproof.foundation.console import INTERRUPTED, tell
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_PASSED
from schedproof.foundation.processes.interrupts import interrupt_by
from schedproof.foundation.streams import steady_streams
from schedproof.run.options import (
    BENCH_OPTIONS,
    CANDIDATE_HELP,
    CLUSTER_OPTIONS,
    CONFORMANCE,
    DRY_RUN,
    JOBS,
    MINUTES,
    OPTIONS,
    RELEASE,
    REPEAT,
    RESUME,
    SINCE,
    SOAK_OPTIONS,
    WATCH,
    add_options,
    folder_name,
)

_EXIT_CODES = """\
exit codes: 0 all required clauses that are claimed passed; 1 one failed, or an exclusion is stale;
2 usage or environment error; 3 nothing failed, but something required was not proved, or was skipped
(--allow-skipped accepts that)"""

_SOAK_EXIT_CODES = """\
exit codes: 0 soaked, no failure, no leak; 1 a required clause failed, or a process leaks; 2 usage or environment error;
3 nothing failed, but something was not proved: a soak of less than 6 minutes, or a candidate whose processes this
machine does not see, allows no statement about leaks (--allow-skipped accepts that)"""

_BENCH_EXIT_CODES = """\
exit codes: 0 everything was measured, no gate failed; 1 a gate failed, or pods were bound where they must not run;
2 usage or environment error; 3 a comparison is invalid, or a gate could not be decided"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    steady_streams()
    code = _main(argv)
    sys.stdout.flush()
    lost = getattr(sys.stdout, "lost", None)
    if lost is None:
        return code
    tell(f"cannot write to standard output: {lost.strerror}")
    return code or EXIT_ERROR


def _main(argv: Sequence[str] | None) -> int:
    parser = command_line()
    complete(parser)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        _refuse(arguments.parser, unknown)
    # CI servers cancel with SIGTERM, and a terminal that is closed sends SIGHUP: let it unwind like Ctrl-C. What is
    # ignored stays so: nohup has SIGHUP so, and a shell without job control SIGINT.
    minded = (number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN)
    interrupt_by(signal.SIGTERM, *minded)
    try:
        return int(arguments.run(arguments))
    except SchedproofError as error:
        tell(str(error))
        return EXIT_ERROR
    except KeyboardInterrupt:
        tell(INTERRUPTED)
        return EXIT_INTERRUPTED
    except Exception:
        # A bug of ours. Python's own exit code of 1 would say that a clause failed.
        tell(f"internal error: please report it\n{traceback.format_exc()}")
        return EXIT_ERROR


def _refuse(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """End with the unknown arguments, and similar options."""
    known = [flag for action in parser._actions for flag in action.option_strings]
    near = nearest(unknown[0].partition("=")[0], known)
    fix = f"did you mean {near}?" if near else f"`{parser.prog} --help` lists the options"
    parser.error(f"unrecognized arguments: {' '.join(unknown)}\n  fix: {fix}")


_COMMANDS = {
    "judge a scheduler": {
        "run": ("test candidates on a cluster and judge them", "schedproof run candidate.yaml --clause core/binds"),
        "judge": ("judge a saved run again, without any cluster", "schedproof judge schedproof-results/TIME"),
        "merge": (
            "join the reports of the shards of a run, for example of a CI matrix",
            "schedproof merge shard-1 shard-2 shard-3 --report merged",
        ),
        "verify": (
            "verify a conformance report, by the evidence of its run",
            "schedproof verify conformance.yaml --evidence schedproof-results/TIME",
        ),
        "compare": (
            "compare two runs: which failures are fixed, new, or still there",
            "schedproof compare schedproof-results/EARLIER schedproof-results/LATER",
        ),
        "normalize": ("property-test the scores of one or more candidates", "schedproof normalize . --surface python"),
        "soak": (
            "let a candidate schedule generated worlds for some minutes, and look for leaks of its processes",
            "schedproof soak candidate.yaml --minutes 10",
        ),
        "replay": ("repeat a saved case of scores, or a world, that failed", "schedproof replay 5d0c2a81"),
        "submit": (
            "run in the cluster itself, as a Job, and fetch the report",
            "schedproof submit candidate.yaml --kubeconfig FILE --image REF",
        ),
        "bench": ("compare how fast candidates schedule", "schedproof bench my-plugin --workload basic --rounds 10"),
    },
    "write one": {
        "init": (
            "write a working scheduler to start from", "schedproof init extender my-scheduler"
        ),
        "check": ("check a candidate and show what it claims, without a cluster", "schedproof check candidate.yaml"),
        "migrate-config": (
            "print a scheduler configuration of a removed API version as v1, with what changed and why",
            "schedproof migrate-config scheduler.yaml",
        ),
        "cluster": ("start a cluster for experiments", "schedproof cluster up --nodes 3"),
    },
    "reference": {
        "clauses": ("list the clauses that candidates are judged by", "schedproof clauses --candidate . --json"),
        "explain": (
            "show what a clause guarantees, how it is tested, and what breaks it", "schedproof explain network/flip"
        ),
        "schema": ("print the JSON Schema of a file, for editors and other tools", "schedproof schema candidate"),
        "candidates": ("list the shipped candidates", "schedproof candidates defects/"),
    },
    "manage this machine": {
        "doctor": (
            "check this machine for what runs need, and say how to get what is missing",
            "schedproof doctor --cluster kind",
        ),
        "prefetch": (
            "download or build what runs need ahead of time, for example for a CI image",
            "schedproof prefetch . --cluster kind",
        ),
        "clean": (
            "remove leftovers of killed runs; with --cluster-name also a kept cluster", "schedproof clean"
        ),
        "node-image": (
            "build kind's images without a registry, ahead of time", "schedproof node-image --output images.tar"
        ),
    },
}  # fmt: skip
"""By group: what each command does, and an example of it."""


def command_line() -> argparse.ArgumentParser:
    """All commands, with their options."""
    parser = argparse.ArgumentParser(
        prog="schedproof", description="Holds a Kubernetes scheduler to its promises.", epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"schedproof {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    known = {name: of for group in _COMMANDS.values() for name, of in group.items()}

    def command(name: str, run: Callable[[argparse.Namespace], int], epilog: str = "") -> argparse.ArgumentParser:
        text, example = known[name]
        added = commands.add_parser(
            name, description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"{epilog}\n\nexample: {example}".lstrip(), allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        added.set_defaults(run=run, parser=added)
        return added

    for name, run in (("run", _run), ("normalize", _normalize)):
        running = command(name, run, _EXIT_CODES)
        running.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
        where = running.add_argument_group("where it runs")
        add_options(where.add_argument, prefix="", options=(*CLUSTER_OPTIONS, JOBS))
        what = running.add_argument_group("what is tested and reported")
        add_options(
            what.add_argument, prefix="", options=[option for option in OPTIONS if option not in CLUSTER_OPTIONS]
        )
        add_options(what.add_argument, prefix="", options=(CONFORMANCE, DRY_RUN, RELEASE, REPEAT, RESUME, SINCE, WATCH))
        _add_verbosity(running)

    soaking = command("soak", _soak, _SOAK_EXIT_CODES)
    soaking.add_argument("candidate", metavar="CANDIDATE", help=CANDIDATE_HELP)
    soaking.add_argument(
        f"--{MINUTES.name}", required=True, type=MINUTES.type, metavar=MINUTES.metavar, help=MINUTES.help
    )
    add_options(soaking.add_argument, prefix="", options=SOAK_OPTIONS)
    _add_verbosity(soaking)

    judge = command("judge", _judge, _EXIT_CODES)
    judge.add_argument(
        "folder", type=Path, metavar="DIR", help="report folder of a run, or the folder of one candidate in it"
    )
    judge.add_argument(
        "--report",
        type=folder_name,
        metavar="DIR",
        help="write report.json, report.html and junit.xml again, into this folder",
    )
    _add_verbosity(judge)

    add_options(judge.add_argument, prefix="", options=(CONFORMANCE,))

    verifying = command(
        "verify", _verify, "exit codes: 0 verified; 1 refused; 2 wrong input; 3 not proved: no evidence was given"
    )
    verifying.add_argument("file", type=Path, metavar="FILE", help="what `--conformance FILE` has written")
    verifying.add_argument(
        "--evidence", type=Path, metavar="DIR", help="report folder of its run, or the folder of the candidate in it"
    )

    merge = command("merge", _merge, _EXIT_CODES)
    merge.add_argument(
        "folders", nargs="+", type=Path, metavar="DIR", help="report folder of a run with --shard; one for each shard"
    )
    merge.add_argument(
        "--report", type=folder_name, metavar="DIR", help="the new folder (default: schedproof-results/TIME)"
    )
    _add_verbosity(merge)

    comparing = command("compare", _compare, "exit codes: 0 no new failures; 1 new failures; 2 wrong input")
    for name, text in (
        ("before", "the earlier run's folder, its report.json, or its conformance report"),
        ("after", "the later run's, likewise"),
    ):
        comparing.add_argument(name, type=Path, metavar="REPORT", help=text)

    replay = command("replay", _replay, _EXIT_CODES)
    replay.add_argument("id", metavar="ID", help="id of the case, as the report shows it")

    from schedproof.submission.options import RUN_OPTIONS, SUBMIT_OPTIONS

    submit = command("submit", _submit, _EXIT_CODES)
    submit.add_argument("candidate", nargs="?", metavar="CANDIDATE", help=CANDIDATE_HELP)
    add_options(submit.add_argument, prefix="", options=SUBMIT_OPTIONS)
    add_options(submit.add_argument_group("of the run in the cluster").add_argument, prefix="", options=RUN_OPTIONS)

    bench = command("bench", _bench, _BENCH_EXIT_CODES)
    bench.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
    add_options(bench.add_argument, prefix="", options=BENCH_OPTIONS)

    init = command("init", _init)
    init.add_argument("kind", metavar="KIND", help="extender, controller or plugin")
    init.add_argument("folder", type=Path, metavar="DIR", help="a folder that is empty or does not exist yet")

    check = command("check", _check, "exit codes: 0 no problems; 2 problems were found")
    check.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
    check.add_argument("--json", action="store_true", help="print the problems as JSON, with their codes")

    cluster = command("cluster", _cluster_up).add_subparsers(required=True, metavar="COMMAND")
    up = cluster.add_parser("up", help="keep an embedded cluster running until this command ends", allow_abbrev=False)
    up.set_defaults(parser=up)
    add_options(up.add_argument, prefix="", only=("cluster-file", "nodes", "kubernetes", "binary"))

    clauses = command("clauses", _clauses)
    text = f"{CANDIDATE_HELP}; shows which clauses it claims"
    clauses.add_argument("--candidate", action="append", default=[], metavar="CANDIDATE", help=text)
    clauses.add_argument("--json", action="store_true", help="as JSON, with sources, features and capabilities")

    explain = command("explain", _explain)
    explain.add_argument("clauses", nargs="*", metavar="CLAUSE", help="id of a clause, such as network/flip")
    text = "what this minor version of Kubernetes, such as 1.37, asks of a scheduler: its feature gates"
    explain.add_argument("--minor", metavar="MINOR", help=text)

    migrate = command("migrate-config", _migrate_config)
    migrate.add_argument("file", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration")

    schema = command("schema", _schema)
    files = ("candidate", "cluster", "workload", "report", "soak", "bench", "history", "conformance")
    schema.add_argument("file", choices=files, metavar="FILE", help=f"one of {', '.join(files)} (one line of it)")

    candidates = command("candidates", _candidates)
    candidates.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="only candidates whose name contains this text"
    )

    doctor = command("doctor", _doctor)
    doctor.add_argument("--cluster", choices=ON_THIS_MACHINE, default=DEFAULT, help="kind of cluster to prepare for")
    add_options(doctor.add_argument, prefix="", only=("kubernetes",))
    doctor.add_argument("--binary", action="append", default=[], metavar="NAME=PATH", help="as for `schedproof run`")

    prefetch = command("prefetch", _prefetch)
    prefetch.add_argument("candidates", nargs="*", metavar="CANDIDATE", help="also compile this plugin")
    prefetch.add_argument("--cluster", choices=ON_THIS_MACHINE, default=DEFAULT, help="kind of cluster to prepare for")
    add_options(prefetch.add_argument, prefix="", only=("kubernetes",))

    clean = command("clean", _clean)
    add_options(clean.add_argument, prefix="", only=("cluster-name", "kubeconfig", "context"))

    image = command("node-image", _node_image)
    add_options(image.add_argument, prefix="", only=("kubernetes",))
    image.add_argument("--output", type=Path, metavar="FILE", help="also write the images to this file, as one archive")
    return parser


def _overview() -> str:
    lines = []
    for group, commands in _COMMANDS.items():
        lines.append(f"{group}:")
        lines += [f"  {name:<12}{text}\n{'':14}{example}" for name, (text, example) in commands.items()]
    return "\n".join([*lines, "", "`schedproof COMMAND --help` lists the options of a command."])


def _add_verbosity(parser: argparse.ArgumentParser) -> None:
    amounts = parser.add_mutually_exclusive_group()
    for flags, value, text in (
        (("-q", "--quiet"), -1, "show only what failed, a line each, and the verdict"),
        (("-v", "--verbose"), 1, "show also what passed, what is not claimed, and every decision"),
    ):
        amounts.add_argument(*flags, dest="verbosity", action="store_const", const=value, default=0, help=text)


# Each command imports what it needs: together they take several times as long as the shortest of them.


def _run(arguments: argparse.Namespace) -> int:
    from schedproof.cli.run import run_suites

    return run_suites(arguments)


def _normalize(arguments: argparse.Namespace) -> int:
    from schedproof.cli.run import normalize

    return normalize(arguments)


def _soak(arguments: argparse.Namespace) -> int:
    from schedproof.cli.soak import soak

    return soak(arguments)


def _judge(arguments: argparse.Namespace) -> int:
    from schedproof.cli.saved.judge import judge_again

    return judge_again(arguments)


def _verify(arguments: argparse.Namespace) -> int:
    from schedproof.cli.saved.conformance import verify_report

    return verify_report(arguments)


def _merge(arguments: argparse.Namespace) -> int:
    from schedproof.cli.saved.judge import merge_shards

    return merge_shards(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from schedproof.cli.saved.compare import compare

    return compare(arguments)


def _bench(arguments: argparse.Namespace) -> int:
    from schedproof.cli.bench import run_benchmarks

    return run_benchmarks(arguments)


def _submit(arguments: argparse.Namespace) -> int:
    from schedproof.submission.command import submit

    return submit(arguments, say)


def _doctor(arguments: argparse.Namespace) -> int:
    from schedproof.cli.doctor.show import show_diagnosis

    return show_diagnosis(arguments)


def _clean(arguments: argparse.Namespace) -> int:
    from schedproof.cli.clean import clean_up

    return clean_up(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    from schedproof.stimulus.scoring.searches import saved_cases

    saved = saved_cases().get(arguments.id)
    # The case is what is wanted: its readings, and the scores that they are given.
    surface = [f"--surface={saved.surface}"] if saved.surface else []
    again = [saved.scorer, f"--clause={saved.clause}", *surface, f"--replay={saved.id}", "-v"]
    return _run(command_line().parse_args(["run", *again]))


def _init(arguments: argparse.Namespace) -> int:
    from schedproof.cli.init import installed_from, scaffold

    origin = installed_from()
    wheel = f" Its CI job installs {origin}: commit that wheel beside it." if origin.startswith("./") else ""
    name = scaffold(arguments.kind, arguments.folder)
    print(  # noqa: T201
        f"{arguments.folder} holds the {arguments.kind} {name}, which works as it is. Next:\n"
        f"  cd {shlex.quote(str(arguments.folder))}\n"
        "  schedproof run .   # judge it on a real cluster\n"
        "  pytest             # the same clauses as tests\n"
        f"Then edit it; README.md describes its files.{wheel}"
    )
    return 0


def _cluster_up(arguments: argparse.Namespace) -> int:
    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.cli.cluster_up import keep_up
    from schedproof.clusters.registration import ClusterOptions
    from schedproof.foundation.progress import ConsoleProgress

    options = ClusterOptions(
        cluster_file=arguments.cluster_file, nodes=arguments.nodes, kubernetes=arguments.kubernetes,
        binaries=explicit_binaries(arguments.binary),
    )  # fmt: skip
    keep_up(options, ConsoleProgress(), lambda text: print(text, flush=True))  # noqa: T201
    return 0


def _prefetch(arguments: argparse.Namespace) -> int:
    from schedproof.binaries.lock import DEFAULT_KUBERNETES
    from schedproof.cli.prefetch import prefetch
    from schedproof.foundation.progress import ConsoleProgress
    from schedproof.run.candidates import find_candidates

    kubernetes = arguments.kubernetes or DEFAULT_KUBERNETES
    for line in prefetch(find_candidates(arguments.candidates), arguments.cluster, kubernetes, ConsoleProgress()):
        say(line)
    return 0


def _node_image(arguments: argparse.Namespace) -> int:
    from schedproof.binaries.lock import DEFAULT_KUBERNETES
    from schedproof.clusters.node_image.image_choice import write_archive
    from schedproof.foundation.progress import ConsoleProgress

    print(write_archive(arguments.kubernetes or DEFAULT_KUBERNETES, arguments.output, ConsoleProgress()))  # noqa: T201
    return 0


def _clauses(arguments: argparse.Namespace) -> int:
    from schedproof.cli.clauses import clause_lines, clauses_document
    from schedproof.run.candidates import find_candidates

    candidates = find_candidates(arguments.candidate)
    if arguments.json:
        say(json.dumps(clauses_document(candidates), indent=1))
        return 0
    for candidate in candidates:
        say(*clause_lines(candidate))
    if not candidates:
        say(*clause_lines())
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    from schedproof.cli.explain import explain_minor, explanation
    from schedproof.judge.catalogue import find_clause
    from schedproof.judge.own import is_own

    if own := [clause for clause in arguments.clauses if is_own(clause)]:
        raise UsageError(
            f"{own[0]} is a test of your own; only its docstring explains it",
            remedy="name a clause of the catalogue: `schedproof clauses` lists them",
        )
    if not (arguments.clauses or arguments.minor):
        raise UsageError("nothing to explain", remedy="name a clause, or --minor MINOR")
    texts = ["\n".join(explanation(find_clause(clause))) for clause in arguments.clauses]
    if arguments.minor:
        texts.append("\n".join(explain_minor(arguments.minor)))
    say("\n\n".join(texts))
    return 0


def _migrate_config(arguments: argparse.Namespace) -> int:
    from schedproof.cli.migrate_config import migrate_config

    say(migrate_config(arguments.file))
    return EXIT_PASSED


def _schema(arguments: argparse.Namespace) -> int:
    from schedproof.cli.schemas import schema_text

    say(schema_text(arguments.file))
    return EXIT_PASSED


def _candidates(arguments: argparse.Namespace) -> int:
    from schedproof.cli.candidates import not_shipped, shipped

    found = list(shipped(arguments.text))
    elsewhere = not_shipped()
    if not found:
        remedy = "`schedproof candidates` lists them all" + (f"; {elsewhere}" if elsewhere else "")
        raise UsageError(f"no shipped candidate has {arguments.text!r} in its name", remedy=remedy)
    width = max(len(candidate.name) for candidate in found)
    say(*(f"{candidate.name:<{width}}  {candidate.kind:<10}  {candidate.about}" for candidate in found))
    if elsewhere:
        say("", elsewhere)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from schedproof.cli.check import check, problems_of
    from schedproof.run.candidates import find_candidates

    problems: list[Problem] = []
    for text in arguments.candidates:
        try:
            lines = [line for candidate in find_candidates([text]) for line in check(candidate)]
        except UsageError as error:  # the next one may have more to say
            problems += problems_of(error, text)
            if not arguments.json:
                tell(str(error))
        else:
            if not arguments.json:
                say(*lines)
    if arguments.json:
        say(json.dumps([problem.as_dict() for problem in problems], indent=1))
    return EXIT_ERROR if problems else EXIT_PASSED
