"""Compare the verdicts of the same candidates on the embedded cluster and on kind: `make parity`, and docs/parity.md.

Without options, it runs the three reference candidates on all clauses. With `--described`, it also runs the
described systems: corrected on all clauses, and as published or with one defect at a time on the clauses that must
catch them. Exits with 1 if the two clusters differ in a verdict; clauses that kind skips are listed with their
reason instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from judge_defects import ROWS, judge, verdicts_of

CLUSTERS = ("embedded", "kind")
REFERENCES = ("least-traffic-extender", "least-traffic-controller", "least-traffic-plugin")
CORRECTED = (
    "described/d1-network-traffic/corrected", "described/d2-network-traffic-second/corrected",
    "described/d5-second-scheduler/as-published", "described/d6-random-controller/corrected",
    "described/d7-index-extender/corrected",
)  # fmt: skip
Verdicts = dict[str, dict[str, dict[str, Any]]]
"""Candidate to clause to its entry in report.json."""


def run(candidates: tuple[str, ...], cluster: str, report: Path) -> Verdicts:
    """Run candidates on all clauses of a cluster, and return their verdicts."""
    command = [sys.executable, "-m", "schedproof", "run", *candidates, f"--cluster={cluster}", f"--report={report}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if not (report / "report.json").exists():
        sys.exit(f"no report of {' '.join(candidates)} on {cluster}: see the output above")
    return verdicts_of(report)


def differences(embedded: Verdicts, kind: Verdicts) -> tuple[list[str], list[str]]:
    """Return a line for each unexplained difference, and for each that a missing capability of kind explains."""
    unexplained, explained = [], []
    for name, clauses in embedded.items():
        for clause, verdict in clauses.items():
            other = kind[name].get(clause, {"outcome": "not tried", "summary": ""})
            if other["outcome"] != verdict["outcome"]:
                line = f"{name} {clause}: {verdict['outcome']}, on kind {other['outcome']} ({other['summary']})"
                (explained if other["outcome"] == "skipped" else unexplained).append(line)
    return unexplained, explained


def table(embedded: Verdicts, kind: Verdicts) -> str:
    """Return a Markdown table with a line for each candidate: the number of clauses by outcome."""
    lines = ["| candidate | embedded | kind |", "|---|---|---|"]
    for name in embedded:
        counts = []
        for verdicts in (embedded[name], kind[name]):
            outcomes = [verdict["outcome"] for verdict in verdicts.values() if verdict["outcome"] != "not-claimed"]
            counts.append(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in sorted(set(outcomes))))
        lines.append(f"| {name} | {counts[0]} | {counts[1]} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--described", action="store_true", help="also the described systems")
    parser.add_argument("--report", type=Path, help="folder for the evidence (default: a temporary folder)")
    parser.add_argument("--table", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.described and row.get("system") in ("D1", "D2", "D6", "D7")]
    found: dict[str, Verdicts] = {}
    with tempfile.TemporaryDirectory() as scratch:
        report = (arguments.report or Path(scratch)).absolute()
        for cluster in CLUSTERS:
            candidates = REFERENCES + (CORRECTED if arguments.described else ())
            found[cluster] = run(candidates, cluster, report / cluster)
            if rows:
                jobs = 3 if cluster == "embedded" else 1
                defects = judge(rows, report / f"{cluster}-defects", jobs, (f"--sched-cluster={cluster}",))
                found[cluster] |= defects
    unexplained, explained = differences(*found.values())
    text = table(*found.values())
    sys.stdout.write(text + "".join(f"{line}\n" for line in [*explained, *unexplained]))
    if arguments.table:
        skipped = "".join(f"- {line}\n" for line in explained) or "None.\n"
        arguments.table.write_text(
            "# The same verdicts on kind\n\nWritten by `make parity`: clauses by outcome, without those that a "
            "candidate does not claim.\nPlanted defects are tried on the clauses that must catch them: `failed` is "
            "correct for them.\n\n"
            f"{text}\n## Skipped on kind, for a capability that it lacks\n\n{skipped}"
        )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
