"""Measure how often comparisons are wrong, with many comparisons of candidates whose true difference is known.

`stock` compared with itself must show no difference; `delayed`, which waits 2 ms in each scheduling cycle, must be
found slower every time:

    python tools/study_benchmarks.py stock fixtures/candidates/benchmark/delayed --comparisons 20

"""

from __future__ import annotations

import argparse
import collections
import secrets
import statistics
import sys
import tempfile
from pathlib import Path

from schedproof.benchmark.bench import Bench
from schedproof.benchmark.compare.comparing import comparisons
from schedproof.benchmark.compare.ratio import FEWEST_BLOCKS
from schedproof.benchmark.request import Request, prepare
from schedproof.benchmark.results import MODES
from schedproof.foundation.progress import ConsoleProgress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", nargs="+", metavar="CANDIDATE")
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=FEWEST_BLOCKS, help="rounds of each comparison")
    parser.add_argument("--mode", choices=MODES, default="one-at-a-time")
    parser.add_argument("--workload", default="basic")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        request = Request(
            candidates=arguments.candidates, folder=Path(folder), seed=arguments.seed,
            rounds=arguments.rounds * arguments.comparisons, modes=[arguments.mode], workloads=[arguments.workload],
            nodes=[arguments.nodes], pods=arguments.pods,
        )  # fmt: skip
        bench = Bench(prepare(request, {}, ConsoleProgress()), ConsoleProgress())
        bench.run()
    write = sys.stdout.write
    write(
        f"{arguments.mode}: {arguments.comparisons} comparisons of {arguments.rounds} blocks, seed {arguments.seed}\n"
    )
    found = collections.defaultdict(list)
    for number in range(arguments.comparisons):
        blocks = range(number * arguments.rounds, (number + 1) * arguments.rounds)
        rounds = [round_ for round_ in bench.rounds if round_.block in blocks]
        for comparison in comparisons(rounds, bench.plan.baseline, seed=arguments.seed + number):
            found[comparison.candidate, comparison.metric].append(comparison)
    for (candidate, metric), compared in found.items():
        verdicts = collections.Counter(comparison.verdict for comparison in compared)
        ratios = [comparison.ratio for comparison in compared if comparison.ratio is not None]
        middle = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "none"
        write(f"  {candidate}, {metric}: {dict(verdicts)}; ratios {middle}\n")
    invalid = collections.Counter(reason.partition(":")[0] for round_ in bench.rounds for reason in round_.invalid)
    write(f"  {len(bench.rounds)} rounds in {bench.seconds:.0f} s; invalid: {dict(invalid)}\n")


if __name__ == "__main__":
    main()
