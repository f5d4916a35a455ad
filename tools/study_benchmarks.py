"""How often comparisons are wrong: many of them in one run, of candidates whose true difference is known.

`stock` against itself must show none; `delayed`, which waits 2 ms in each scheduling cycle, must be found every time:

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
    parser.add_argument("--rounds", type=int, default=FEWEST_BLOCKS, help="in each comparison")
    parser.add_argument("--mode", choices=MODES, default="one-at-a-time")
    parser.add_argument("--workload", default="basic")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        request = Request(
            candidates=asked.candidates, folder=Path(folder), seed=asked.seed,
            rounds=asked.rounds * asked.comparisons, modes=[asked.mode], workloads=[asked.workload],
            nodes=[asked.nodes], pods=asked.pods,
        )  # fmt: skip
        bench = Bench(prepare(request, {}, ConsoleProgress()), ConsoleProgress())
        bench.run()
    say = sys.stdout.write
    say(f"{asked.mode}: {asked.comparisons} comparisons of {asked.rounds} blocks, seed {asked.seed}\n")
    found = collections.defaultdict(list)
    for number in range(asked.comparisons):
        blocks = range(number * asked.rounds, (number + 1) * asked.rounds)
        rounds = [one for one in bench.rounds if one.block in blocks]
        for one in comparisons(rounds, bench.plan.baseline, seed=asked.seed + number):
            found[one.candidate, one.metric].append(one)
    for (candidate, metric), compared in found.items():
        verdicts = collections.Counter(one.verdict for one in compared)
        ratios = [one.ratio for one in compared if one.ratio is not None]
        middle = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "none"
        say(f"  {candidate}, {metric}: {dict(verdicts)}; ratios {middle}\n")
    invalid = collections.Counter(reason.partition(":")[0] for one in bench.rounds for reason in one.invalid)
    say(f"  {len(bench.rounds)} rounds in {bench.seconds:.0f} s; invalid: {dict(invalid)}\n")


if __name__ == "__main__":
    main()
