"""Try planted defects on every clause that they claim, and compare what fails with what must: `make whole`.

Candidates are the rows of fixtures/defects.yaml with `also`: each clause that fails besides the row's own, and why that
is right. Runs are in build/whole; a candidate that has one there is judged by it again, so that an interrupted series
continues. Exits with 1 if any other clause fails, or if one of these does not. `--write` updates the table in
docs/trust.md.
"""

from __future__ import annotations

import argparse
import collections
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from pages import write_table

ROOT = Path(__file__).resolve().parent.parent
CANDIDATES = ROOT / "fixtures" / "candidates"
REPORT = ROOT / "build" / "whole"
PAGE = ROOT / "docs" / "trust.md"


def verdicts(candidate: str) -> dict[str, dict[str, Any]]:
    """Return clause to its entry in report.json, of an earlier run that is judged again, or else of a new one."""
    folder = REPORT / candidate
    if not (folder / "report.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _schedproof("run", str(CANDIDATES / candidate), "--keep-going", f"--report={folder}")
    again = folder / "again"
    _schedproof("judge", str(folder), f"--report={again}")
    (judged,) = json.loads((again / "report.json").read_text())["candidates"]
    return {clause["id"]: clause for clause in judged["clauses"]}


def _schedproof(*arguments: str) -> None:
    command = [sys.executable, "-m", "schedproof", *arguments]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)


def differences(row: dict[str, Any], clauses: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line for each clause that failed and must not, or must fail and did not."""
    must, found = {*row["fails"], *row["also"]}, []
    for clause in sorted({*clauses, *must}):
        verdict = clauses.get(clause, {"outcome": "not tried", "summary": ""})
        if (verdict["outcome"] == "failed") != (clause in must):
            wanted = "must fail" if clause in must else "must not fail"
            summary = verdict["summary"].partition("\n")[0]
            found.append(f"{row['candidate']}: {clause} {wanted}: {verdict['outcome']}: {summary}")
    return found


def line(row: dict[str, Any], clauses: dict[str, dict[str, Any]]) -> str:
    """Return a defect's line of the Markdown table."""
    count = collections.Counter(clause["outcome"] for clause in clauses.values())
    besides = "<br>".join(f"`{clause}`: {reason}" for clause, reason in row["also"].items())
    own = ", ".join(f"`{clause}`" for clause in row["fails"])
    return f"| {row['candidate']}: {row['defect']} | {own} | {besides} | {count['passed']} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "only", nargs="*", metavar="CANDIDATE", help="as in the fixture file (default: all with `also`)"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/trust.md")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text())
    lines = ["| planted defect | must fail | fails besides, and why | passed |", "|---|---|---|---|"]
    wrong: list[str] = []
    for row in rows:
        if "also" not in row or (arguments.only and row["candidate"] not in arguments.only):
            continue
        clauses = verdicts(row["candidate"])
        wrong += differences(row, clauses)
        lines.append(line(row, clauses))
    table = "\n".join(lines) + "\n"
    sys.stdout.write(table)
    sys.stderr.writelines(f"{text}\n" for text in wrong)
    if arguments.write:
        write_table(PAGE, "make whole", table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
