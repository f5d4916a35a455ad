"""Try planted defects on every clause that they claim, and compare what fails with what must: `make whole`.

Candidates are the rows of fixtures/defects.yaml with `also`: the reasons for which other clauses than the row's own
fail, and these clauses; not every seed's pods show the defect to each of them. Runs are in build/whole; a candidate
that has one there is judged by it again, so that an interrupted series continues. Exits with 1 if any other clause
fails, or if one of the row's own does not. `--write` updates the table in docs/trust.md.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
from typing import Any

from judge_defects import ROOT, ROWS, name_of, verdicts_of
from pages import write_table

CANDIDATES = ROOT / "fixtures" / "candidates"
REPORT = ROOT / "build" / "whole"
PAGE = ROOT / "docs" / "trust.md"


def verdicts(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return clause to its entry in report.json, of an earlier run that is judged again, or else of a new one."""
    folder = REPORT / row["candidate"]
    if not (folder / "report.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _schedproof("run", str(CANDIDATES / row["candidate"]), "--keep-going", f"--report={folder}")
    again = folder / "again"
    shutil.rmtree(again, ignore_errors=True)
    _schedproof("judge", str(folder), f"--report={again}")
    if not (again / "report.json").exists():
        sys.exit(f"no report of {row['candidate']}: see the output above")
    return verdicts_of(again)[name_of(row)]


def _schedproof(*arguments: str) -> None:
    command = [sys.executable, "-m", "schedproof", *arguments]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)


def differences(row: dict[str, Any], clauses: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line for each clause that failed and must not, or must fail and did not."""
    failed = {clause for clause, verdict in clauses.items() if verdict["outcome"] == "failed"}
    must, may = set(row["fails"]), set(itertools.chain(*row["also"].values()))
    found = [f"{row['candidate']}: {clause} must fail" for clause in sorted(must - failed)]
    for clause in sorted(failed - must - may):
        summary = clauses[clause]["summary"].partition("\n")[0]
        found.append(f"{row['candidate']}: {clause} must not fail: {summary}")
    return found


def line(row: dict[str, Any], clauses: dict[str, dict[str, Any]]) -> str:
    """Return a defect's line of the Markdown table."""
    besides = "<br>".join(f"{reason}: {_codes(others)}" for reason, others in row["also"].items())
    passed = sum(clause["outcome"] == "passed" for clause in clauses.values())
    return f"| {row['candidate']}: {row['defect']} | {_codes(row['fails'])} | {besides} | {passed} |"


def _codes(clauses: list[str]) -> str:
    return ", ".join(f"`{clause}`" for clause in clauses)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "only", nargs="*", metavar="CANDIDATE", help="as in the fixture file (default: all with `also`)"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/trust.md")
    arguments = parser.parse_args()
    if arguments.only and arguments.write:
        parser.error("--write replaces the whole table: leave out the candidates")
    lines = ["| planted defect | must fail | fails besides, and why | passed |", "|---|---|---|---|"]
    wrong: list[str] = []
    for row in ROWS:
        if "also" not in row or (arguments.only and row["candidate"] not in arguments.only):
            continue
        clauses = verdicts(row)
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
