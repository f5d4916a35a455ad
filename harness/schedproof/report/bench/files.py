"""Writes bench.json, bench.html, summary.md, benchstat.txt and pods.csv."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from schedproof.benchmark.bench import Bench
from schedproof.benchmark.document import pod_rows
from schedproof.benchmark.results import BenchDocument
from schedproof.documents.part import replace_infinite
from schedproof.foundation.disk import writing_report
from schedproof.foundation.private import open_private, write_private
from schedproof.report.bench.benchstat import benchstat
from schedproof.report.bench.markdown import summary
from schedproof.report.bench.page import render_bench

POD_COLUMNS = (
    "candidate", "workload", "mode", "rate", "block", "pod", "intended", "sent", "answered", "shown", "seen",
    "node",
)  # fmt: skip
"""`intended` to `seen` are seconds since the round's start."""


def write_outputs(document: BenchDocument, bench: Bench, folder: Path) -> None:
    """Write all files of a benchmark. Raises what `write_bench` raises."""
    write_bench(document, folder)
    write_pods(pod_rows(bench.rounds), folder)


def write_bench(document: BenchDocument, folder: Path) -> None:
    """Write all files but pods.csv into a folder, which is created if it is missing.

    Raises:
        HostError: the folder cannot be written.
    """
    with writing_report(folder):
        # bench.json first: the numbers are kept even if rendering another file fails.
        for name, render in (
            ("bench.json", _as_json),
            ("benchstat.txt", benchstat),
            ("summary.md", summary),
            ("bench.html", render_bench),
        ):
            write_private(folder / name, render(document))


def write_pods(rows: Iterable[Sequence[Any]], folder: Path) -> int:
    """Write pods.csv, a row of `POD_COLUMNS` for each pod; None is an empty cell. Return the number of rows.

    Rows are consumed lazily, so that they need not fit into memory.

    Raises:
        HostError: the folder cannot be written.
    """
    count = 0
    with writing_report(folder):
        path = folder / "pods.csv"
        with open(path, "w", encoding="utf-8", errors="replace", newline="", opener=open_private) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(POD_COLUMNS)
            for count, row in enumerate(rows, 1):  # noqa: B007 - the last number is the count
                writer.writerow(f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row)
    return count


def _as_json(document: BenchDocument) -> str:
    # NaN and infinities measured nothing.
    known = replace_infinite(document.model_dump(by_alias=True, exclude_unset=True), lambda _: None)
    return json.dumps(known, indent=1, allow_nan=False) + "\n"
