"""Judge every planted defect on the clauses that must catch it, and write the table: `make defects`.

Reads fixtures/defects.yaml. Each candidate is tried on its own clauses only, on an embedded cluster that it shares with
others. Exits with 1 if a defect is not caught.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
ROWS: list[dict[str, Any]] = yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text())


def name_of(row: dict[str, Any]) -> str:
    """The metadata.name of a row's candidate."""
    descriptor = yaml.safe_load((ROOT / "fixtures" / "candidates" / row["candidate"] / "candidate.yaml").read_text())
    return str(descriptor["metadata"]["name"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As a pytest plugin, which we are in the process that judges: keep each candidate's own clauses."""
    wanted = {(name_of(row), clause) for row in ROWS for clause in row["fails"]}
    items[:] = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and (item.callspec.params["sched_candidate"].name, item.get_closest_marker("clause").args[0]) in wanted  # type: ignore[union-attr]
    ]


def judge(
    rows: list[dict[str, Any]], report: Path, jobs: int, options: tuple[str, ...] = ()
) -> dict[str, dict[str, dict[str, Any]]]:
    """Candidate's name to clause to what report.json says of it. `options` are pytest's."""
    candidates = list(dict.fromkeys(str(ROOT / "fixtures" / "candidates" / row["candidate"]) for row in rows))
    # Most of the time somebody waits for a candidate that does not do what it should: that can be done side by side.
    parts = {report / str(number): candidates[number::jobs] for number in range(jobs) if candidates[number::jobs]}
    running = [_start(part, folder, options) for folder, part in parts.items()]
    for process, folder in zip(running, parts, strict=True):
        process.wait()
        if not (folder / "report.json").exists():
            sys.exit(f"no report in {folder}; its pytest said:\n{(folder / 'pytest.log').read_text()}")
    return {
        candidate["name"]: {clause["id"]: clause for clause in candidate["clauses"]}
        for folder in parts
        for candidate in json.loads((folder / "report.json").read_text())["candidates"]
    }


def _start(candidates: list[str], report: Path, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "pytest", "-c", str(ROOT / "suites" / "pytest.ini"), "--noconftest", "-q", "--tb=no",
        "-p", "no:cacheprovider", "-p", "judge_defects", str(ROOT / "suites"), f"--sched-report={report}",
        *(f"--sched-candidate={candidate}" for candidate in candidates), *options,
    ]  # fmt: skip
    report.mkdir(parents=True, exist_ok=True)
    with (report / "pytest.log").open("w") as log:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def table(rows: list[dict[str, Any]], outcomes: dict[str, dict[str, str]]) -> str:
    """Markdown: a line for each defect."""
    lines = ["| system | defect | candidate | clauses that catch it |", "|---|---|---|---|"]
    for row in rows:
        verdicts = outcomes.get(name_of(row), {})
        clauses = ", ".join(f"{clause}: {verdicts.get(clause, 'not tried')}" for clause in row["fails"])
        lines.append(f"| {row.get('system', '')} | {row['defect']} | {row['candidate']} | {clauses} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="CANDIDATE", help="of fixtures/defects.yaml (default: all)")
    parser.add_argument("--quick", action="store_true", help="without those whose code is that of another one")
    parser.add_argument("--jobs", type=int, default=3, metavar="N", help="clusters at once (default: 3)")
    parser.add_argument("--report", type=Path, help="where the evidence goes (default: nowhere)")
    parser.add_argument("--table", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if not arguments.only or row["candidate"] in arguments.only]
    rows = [row for row in rows if not (arguments.quick and "like" in row)]
    with tempfile.TemporaryDirectory() as scratch:
        judged = judge(rows, (arguments.report or Path(scratch)).absolute(), arguments.jobs)
    outcomes = {name: {i: clause["outcome"] for i, clause in clauses.items()} for name, clauses in judged.items()}
    text = table(rows, outcomes)
    sys.stdout.write(text)
    if arguments.table:
        arguments.table.write_text(f"# Planted defects, and the clauses that catch them\n\n{text}")
    missed = [row for row in rows if any(outcomes.get(name_of(row), {}).get(c) != "failed" for c in row["fails"])]
    for row in missed:
        sys.stderr.write(f"not caught: {row['candidate']}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
