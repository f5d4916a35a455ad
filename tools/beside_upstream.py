"""Run one scheduler_perf case with upstream's benchmark and with schedproof's, in turn: throughput and wall time.

Upstream's benchmark is compiled from the pinned module into a folder of its own on the first call, which takes some
minutes.

    python tools/beside_upstream.py --case SchedulingBasic/500Nodes --times 3

"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.driver import BINARY
from schedproof.benchmark.rounds import Order, measure
from schedproof.benchmark.stage import Stage
from schedproof.benchmark.workloads.scheduler_perf import import_case
from schedproof.binaries.cache import cache_dir
from schedproof.binaries.lock import DEFAULT_KUBERNETES, load
from schedproof.binaries.resolve import paths
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.scheduler_config import SERVED_VERSION
from schedproof.candidate.shipped import find_candidate
from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.foundation.progress import ConsoleProgress

PACKAGE = "k8s.io/kubernetes/test/integration/scheduler_perf/misc"


def compiled(folder: Path) -> Path:
    """Return the program of upstream's benchmark, compiled if it does not exist yet."""
    program = folder / "scheduler_perf"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        module = load().builds(DEFAULT_KUBERNETES)["kube-scheduler"].folder
        for name in ("go.mod", "go.sum"):
            shutil.copy(module / name, folder / name)
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
        subprocess.run(["go", "test", "-c", "-o", program, PACKAGE], cwd=folder, env=environment, check=True)
    return program


def sources() -> Path:
    """Return the source folder of upstream's benchmark, where it reads its cases and templates."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    version = load().builds(DEFAULT_KUBERNETES)["kube-scheduler"].version
    return Path(cache) / f"k8s.io/kubernetes@{version}" / PACKAGE.removeprefix("k8s.io/kubernetes/")


def upstream(program: Path, case: str, etcd: Path) -> float:
    """Return upstream's average throughput, in pods per second."""
    command = [
        program, "-test.run=^$", f"-test.bench=BenchmarkPerfScheduling/{case}$", "-test.benchtime=1ns",
        "-test.timeout=60m", "-perf-scheduling-label-filter=",
    ]  # fmt: skip
    environment = {**os.environ, "PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=sources(), env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"([\d.]+) SchedulingThroughput/Average", done.stdout)
    assert found, done.stdout[-2_000:]
    return float(found[1])


def as_upstream() -> Candidate:
    """Return the stock scheduler with the default percentageOfNodesToScore: of 5,000 nodes it scores a tenth."""
    stock = find_candidate("stock")
    configuration = {
        "apiVersion": SERVED_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": stock.scheduler_name}],
    }
    return dataclasses.replace(stock, scheduler_config=configuration)


def ours(case: str, binaries: dict[str, Path]) -> float:
    """Return the throughput of one drain without its first tenth, in pods per second, of a separate kube-scheduler."""
    with tempfile.TemporaryDirectory() as scratch:
        workload = import_case(sources() / "performance-config.yaml", case)
        cluster = MinimalEmbeddedCluster(DEFAULT_KUBERNETES, binaries, Path(scratch))
        stage = Stage(workload, cluster, binaries[BINARY], Path(scratch), seed=1)
        try:
            contestant = Contestant(stage, "stock", as_upstream(), Path(scratch) / "stock")
            done = measure(stage, contestant, Order("drain", 0, 0, 1))
            contestant.close()
        finally:
            stage.close()
        assert len(done.bound) == workload.pods
        assert not done.wrong
        return done.throughput


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="SchedulingBasic/500Nodes")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    assert EMBEDDED.minimal is not None
    binaries = paths((*EMBEDDED.minimal.binaries, BINARY), DEFAULT_KUBERNETES, {}, ConsoleProgress())
    program = compiled(cache_dir() / "upstream")
    write = sys.stdout.write
    for number in range(arguments.times):
        begin = time.monotonic()
        theirs = upstream(program, arguments.case, binaries["etcd"])
        middle = time.monotonic()
        our = ours(arguments.case, binaries)
        end = time.monotonic()
        write(
            f"{arguments.case} {number + 1}: "
            f"upstream {theirs:.0f} pods/s in {middle - begin:.1f} s, ours {our:.0f} pods/s in {end - middle:.1f} s: "
            f"throughput {our / theirs:.2f}, time {(end - middle) / (middle - begin):.2f}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
