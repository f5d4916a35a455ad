"""The command line. Thin: `run` is pytest on the shipped suites with our own way of showing it."""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedproof import __version__
from schedproof.foundation.content import content
from schedproof.foundation.errors import SchedproofError
from schedproof.options import BENCH_OPTIONS, CANDIDATE_HELP, add_options, given

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

_EXIT_CODES = """\
exit codes: 0 all required clauses that are claimed passed; 1 one failed, or an exclusion is stale;
2 usage or environment error; 3 nothing failed, but something required could not be proved"""

_BENCH_EXIT_CODES = """\
exit codes: 0 everything was measured, no gate failed; 1 a gate failed, or pods are where they must not be;
2 usage or environment error; 3 a comparison is invalid, or a gate could not be decided"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    # CI servers cancel with SIGTERM: let it unwind like Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(arguments.run(arguments))
    except SchedproofError as error:
        print(f"schedproof: {error}", file=sys.stderr)  # noqa: T201 - the one place that speaks of errors
        return 2
    except KeyboardInterrupt:
        print("schedproof: interrupted; everything that it started is gone", file=sys.stderr)  # noqa: T201
        return 130


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="schedproof", description="Holds a Kubernetes scheduler to its promises.")
    parser.add_argument("--version", action="version", version=f"schedproof {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    judging: dict[str, Any] = {"epilog": _EXIT_CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    benching = {**judging, "epilog": _BENCH_EXIT_CODES}
    run = commands.add_parser("run", help="try and judge candidates on a cluster", **judging)
    run.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
    add_options(run.add_argument, prefix="")
    run.set_defaults(run=_run)

    judge = commands.add_parser("judge", help="judge a saved run again, without any cluster", **judging)
    judge.add_argument("folder", type=Path, metavar="DIR", help="a run's report folder, or one candidate's in it")
    judge.set_defaults(run=_judge)

    normalize = commands.add_parser("normalize", help="property-test the scores of one or more candidates", **judging)
    normalize.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
    add_options(normalize.add_argument, prefix="")
    normalize.set_defaults(run=_normalize)

    replay = commands.add_parser("replay", help="ask a case again that broke a clause of scores", **judging)
    replay.add_argument("id", metavar="ID", help="as the report gives it")
    replay.set_defaults(run=_replay)

    bench = commands.add_parser("bench", help="compare how fast candidates schedule", **benching)
    bench.add_argument("candidates", nargs="+", metavar="CANDIDATE", help=CANDIDATE_HELP)
    add_options(bench.add_argument, prefix="", options=BENCH_OPTIONS)
    bench.set_defaults(run=_bench)

    init = commands.add_parser("init", help="write a working scheduler of your own, to be edited from there")
    init.add_argument("kind", metavar="KIND", help="extender, controller or plugin")
    init.add_argument("folder", type=Path, metavar="DIR", help="a folder that is empty or does not exist yet")
    init.set_defaults(run=_init)

    cluster = commands.add_parser("cluster", help="clusters to try things on").add_subparsers(required=True)
    up = cluster.add_parser("up", help="keep an embedded cluster running, as long as this command runs")
    add_options(up.add_argument, prefix="", only=("cluster-file", "nodes", "binary"))
    up.set_defaults(run=_cluster_up)

    doctor = commands.add_parser("doctor", help="say what this machine has and lacks, and how to get it")
    doctor.add_argument("--cluster", choices=("embedded", "kind"), default="embedded", help="for which cluster")
    doctor.add_argument("--binary", action="append", default=[], metavar="NAME=PATH", help="as for run")
    doctor.set_defaults(run=_doctor)

    clean = commands.add_parser(
        "clean", help="remove what killed runs have left; with --cluster-name also a kept cluster"
    )
    add_options(clean.add_argument, prefix="", only=("cluster-name", "kubeconfig", "context"))
    clean.set_defaults(run=_clean)

    image = commands.add_parser("node-image", help="build kind's images without a registry, ahead of time")
    image.add_argument("--output", type=Path, metavar="FILE", help="also write them there, as one archive")
    image.set_defaults(run=_node_image)

    clauses = commands.add_parser("clauses", help="list what candidates are held to")
    clauses.set_defaults(run=_clauses)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    # A user's own pytest plugins and configuration are for the user's own tests.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    from schedproof import pytest_plugin
    from schedproof.report.live import LiveReport

    options = ["-c", str(content("suites", "pytest.ini")), "--noconftest", "-p", "no:cacheprovider"]
    # Nothing is captured: the suites print nothing, and whoever waits is to see the progress of long steps.
    options += [f"--ignore={content('suites', 'benchmark')}"]
    options += ["-p", "no:terminal", "-p", "no:faulthandler", "--capture=no"]
    options += given(lambda name: getattr(arguments, name.replace("-", "_")), prefix="sched-")
    options += [f"--sched-candidate={candidate}" for candidate in arguments.candidates]
    live = LiveReport(pytest_plugin.result_of)
    code = pytest.main([*options, str(content("suites"))], plugins=[pytest_plugin, live])
    return live.finish(code)


def _normalize(arguments: argparse.Namespace) -> int:
    if not arguments.profile and not arguments.clause:
        arguments.profile = ["normalization"]
    return _run(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    from schedproof.stimulus.scoring import saved_cases

    saved = saved_cases().get(arguments.id)
    again = [saved.scorer, f"--clause={saved.clause}", f"--surface={saved.surface}", f"--replay={saved.id}"]
    return _run(_parser().parse_args(["run", *again]))


def _bench(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from schedproof.benching import run_bench
    from schedproof.foundation.progress import ConsoleProgress
    from schedproof.report.bench.terminal import print_bench

    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    folder = (arguments.report or Path("schedproof-results") / stamp).absolute()
    asked = given(lambda name: getattr(arguments, name.replace("-", "_")), prefix="", options=BENCH_OPTIONS)
    command = shlex.join(["schedproof", "bench", *arguments.candidates, *asked])
    _, document = run_bench(vars(arguments), folder, command, ConsoleProgress())
    print_bench(document, Console(), folder)
    return int(document["run"]["exit_code"])


def _judge(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from schedproof.report.rejudge import rejudge
    from schedproof.report.terminal import print_report

    result = rejudge(arguments.folder)
    print_report(result, Console())
    return result.exit_code


def _init(arguments: argparse.Namespace) -> int:
    from schedproof.scaffold import scaffold

    name = scaffold(arguments.kind, arguments.folder)
    print(  # noqa: T201
        f"{arguments.folder} holds the {arguments.kind} {name}, which works as it is. Next:\n"
        f"  cd {shlex.quote(str(arguments.folder))}\n"
        "  schedproof run .   # judge it on a real cluster\n"
        "  pytest             # the same clauses as tests\n"
        "Then edit it; README.md says what is where."
    )
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.doctor import diagnose
    from schedproof.metrics.fabric import probe_fabric

    checks = diagnose(
        cluster=arguments.cluster, explicit=explicit_binaries(arguments.binary), sandbox_probe=probe_fabric
    )
    table = Table(show_header=True)
    for column in ("", "what", "found"):
        table.add_column(column)
    for check in checks:
        table.add_row("[green]ok[/]" if check.ok else "[red]no[/]", check.name, check.found)
    console = Console()
    console.print(table)
    for check in checks:
        if check.remedy:
            console.print(f"{check.name}: {check.remedy}", markup=False, highlight=False, soft_wrap=True)
    return 0 if all(check.ok for check in checks) else 2


def _cluster_up(arguments: argparse.Namespace) -> int:
    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.cluster_up import keep_up
    from schedproof.foundation.progress import ConsoleProgress
    from schedproof.launch import Settings

    settings = Settings(
        report=Path(), cluster_file=arguments.cluster_file, nodes=arguments.nodes,
        binaries=explicit_binaries(arguments.binary),
    )  # fmt: skip
    keep_up(settings, ConsoleProgress(), lambda text: print(text, flush=True))  # noqa: T201
    return 0


def _clean(arguments: argparse.Namespace) -> int:
    removed = 0
    for what in _left(arguments):
        print(f"removed {what}")  # noqa: T201
        removed += 1
    print(f"{removed} leftovers removed" if removed else "nothing was left")  # noqa: T201
    return 0


def _left(arguments: argparse.Namespace) -> Iterator[object]:
    """What is removed, as it is."""
    from schedproof.containers import leftovers as containers
    from schedproof.foundation.leftovers import remove_leftovers

    yield from remove_leftovers()
    if arguments.kubeconfig is not None:
        from schedproof.clusters.existing import clean_existing

        yield from clean_existing(arguments.kubeconfig, arguments.context or "")
    yield from containers.remove_leftovers([arguments.cluster_name] if arguments.cluster_name else [])


def _node_image(arguments: argparse.Namespace) -> int:
    from schedproof.binaries.lock import DEFAULT_KUBERNETES
    from schedproof.containers.image_choice import write_archive
    from schedproof.foundation.progress import ConsoleProgress

    print(write_archive(DEFAULT_KUBERNETES, arguments.output, ConsoleProgress()))  # noqa: T201
    return 0


def _clauses(_arguments: argparse.Namespace) -> int:
    from schedproof.judge.catalogue import CATALOGUE

    for clause in CATALOGUE.values():
        print(f"{clause.id}: {clause.guarantee}" + (" (recommended)" if clause.level == "recommended" else ""))  # noqa: T201
    return 0
