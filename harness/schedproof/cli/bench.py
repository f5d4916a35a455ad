"""`schedproof bench`: measures, reports, and returns the exit code of gates and comparisons."""

from __future__ import annotations

import argparse
import shlex

from schedproof.foundation.console import open_console
from schedproof.foundation.private import new_results, remove_empty
from schedproof.run.options import BENCH_OPTIONS, given


def run_benchmarks(arguments: argparse.Namespace) -> int:
    from schedproof.benchmark.running import run_bench
    from schedproof.foundation.progress import ConsoleProgress
    from schedproof.report.bench.files import write_outputs
    from schedproof.report.bench.terminal import print_bench

    folder = (arguments.report or new_results()).absolute()
    asked = given(lambda name: getattr(arguments, name.replace("-", "_")), prefix="", options=BENCH_OPTIONS)
    command = shlex.join(["schedproof", "bench", *arguments.candidates, *asked])
    try:
        _, document = run_bench(vars(arguments), folder, command, ConsoleProgress(), write_outputs)
    finally:
        remove_empty(folder)
    print_bench(document, open_console(), folder)
    assert document.run.exit_code is not None
    return document.run.exit_code
