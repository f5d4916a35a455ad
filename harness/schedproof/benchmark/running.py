"""Runs a benchmark: from its options to its results."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.benchmark.bench import Bench
from schedproof.benchmark.compare.gate import Gate, check_gate
from schedproof.benchmark.document import bench_document
from schedproof.benchmark.request import Request, prepare
from schedproof.benchmark.results import BenchDocument, Conformance
from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.binaries.resolve import explicit_binaries
from schedproof.foundation.disk import naming_full_disk
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.progress import Progress


def run_bench(
    options: Mapping[str, Any], folder: Path, command: str, progress: Progress,
    write: Callable[[BenchDocument, Bench, Path], None],
) -> tuple[Bench, BenchDocument]:  # fmt: skip
    """Run a benchmark, have its report written, and return the results, also as the document of bench.json.

    After an error or a KeyboardInterrupt, the report has the measurements until then; the KeyboardInterrupt is
    raised again.

    Args:
        options: by the names in `options.BENCH_OPTIONS`, with _ for -; and `candidates`.
        folder: for the report.
        command: reproduces the benchmark; the seed is added if the user gave none.
        progress: shows the current step.
        write: writes the report into the folder.

    Raises:
        UsageError: an option, or their combination, is invalid; nothing has been started.
        HostError: a binary is unavailable, or the report cannot be written.
    """
    gates = [Gate.parse(text) for text in options["fail_if"]]
    conformance = _conformance(options["conformance"])
    seed = options["seed"]
    if seed is None:
        seed = secrets.randbelow(1_000_000)
        command += f" --seed={seed}"
    request = Request(
        candidates=options["candidates"], folder=folder, seed=seed, rounds=options["rounds"],
        baseline=options["baseline"], workloads=options["workload"], scheduler_perf=options["scheduler_perf"],
        modes=options["mode"], nodes=options["nodes"], pods=options["pods"],
        score_all_nodes=options["score_all_nodes"], sweep=options["sweep"],
        phases=options["phases"], cluster=options["cluster"], node_image=options["node_image"],
        kubernetes=options["kubernetes"] or DEFAULT_KUBERNETES,
    )  # fmt: skip
    plan = prepare(request, explicit_binaries(options["binary"]), progress)
    names = {*plan.families, *plan.families.values()}
    for gate in gates:
        check_gate(gate, baseline=(plan.baseline,), workload=names, mode=plan.modes)
    bench = Bench(plan, progress)
    error, interrupt = "", None
    try:
        with naming_full_disk(folder):
            bench.run()
    except SchedproofError as problem:
        error = str(problem)
    except KeyboardInterrupt as problem:
        error, interrupt = "interrupted", problem
    document = bench_document(bench, command=command, gates=gates, conformance=conformance, error=error)
    write(document, bench, folder)
    if interrupt is not None:
        raise interrupt
    return bench, document


def _conformance(path: Path | None) -> Sequence[Conformance] | None:
    if path is None:
        return None
    try:
        return [Conformance.model_validate(candidate) for candidate in json.loads(path.read_text())["candidates"]]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(
            f"--conformance {path}: cannot read a report: {problem}",
            remedy="pass the report.json of `schedproof run --report DIR`",
        ) from problem
