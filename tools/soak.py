"""Judge correct candidates repeatedly with new seeds, every second time on a busy machine: `make soak`.

Candidates are the stock scheduler, the references and the corrected described systems on all that they claim, the
unusual candidates (fixtures/unusual.yaml) on their listed clauses, and the stock scheduler on 500 random worlds at a
time. A failed clause is a false failure. Each run is judged again from its record, and must get the same verdicts.

When a run has ended, it is added as a line to fixtures/soak.jsonl, so that a soak continues where the last one was,
also on another machine; the evidence of a run that is not as expected stays in build/soak. Exits with 1 if a clause
failed, or if a verdict differed the second time, or if more than one verdict in a thousand is `invalid`.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from busy import busy_loops
from pages import write_table

from schedproof.foundation.processes.sandbox_init import end_with_parent

ROOT = Path(__file__).resolve().parent.parent
SOAK = ROOT / "build" / "soak"
RUNS = ROOT / "fixtures" / "soak.jsonl"
CANDIDATES = ROOT / "fixtures" / "candidates"
PAGE = ROOT / "docs" / "trust.md"
WORLDS = "stock, 500 random worlds"
MOST_INVALID = 1e-3


def subjects() -> dict[str, list[str]]:
    """Return correct candidates (paths below fixtures/candidates, shipped names) to their clauses; empty: all."""
    shipped: dict[str, list[str]] = {
        name: [] for name in ("stock", "least-traffic-extender", "least-traffic-controller", "least-traffic-plugin")
    }
    described = {
        str(path.parent.relative_to(CANDIDATES)): [] for path in CANDIDATES.glob("described/*/corrected/candidate.yaml")
    }
    unusual = {row["candidate"]: row["passes"] for row in yaml.safe_load((ROOT / "fixtures/unusual.yaml").read_text())}
    return shipped | described | unusual | {WORLDS: ["core/random-worlds"]}


def earlier() -> list[dict[str, Any]]:
    """Return the recorded runs. An incomplete line, left by a crash of the machine, is skipped."""
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines() if line.endswith("}")]


def turn(runs: list[dict[str, Any]], names: list[str]) -> tuple[str, int, bool]:
    """Return the next run: the candidate with the fewest runs, its seed, and whether the machine is busy.

    It is busy if fewer than half of the candidate's runs were.
    """
    count = collections.Counter(run["candidate"] for run in runs)
    busy = collections.Counter(run["candidate"] for run in runs if run["busy"])
    name = min(names, key=lambda name: (count[name], names.index(name)))
    # Not all candidates are busy in the same round.
    return name, count[name] + 1, 2 * busy[name] < count[name] + names.index(name) % 2


def verdicts(report: Path) -> dict[str, dict[str, Any]]:
    """Return clause to its entry in a report; empty if there is no report."""
    path = report / "report.json"
    if not path.exists():
        return {}
    (candidate,) = json.loads(path.read_text())["candidates"]
    return {clause["id"]: clause for clause in candidate["clauses"] if clause["outcome"] != "not-claimed"}


def run(name: str, clauses: list[str], seed: int, report: Path, loops: int) -> dict[str, Any]:
    """Run a candidate once, beside so many busy loops.

    `report`: the evidence folder, which is removed if all is as expected.
    """
    shutil.rmtree(report, ignore_errors=True)
    path = CANDIDATES / name
    subject = str(path) if path.is_dir() else name.partition(",")[0]
    command = [
        sys.executable, "-m", "schedproof", "run", subject, f"--seed={seed}", f"--report={report}", "--quiet",
        *(f"--clause={clause}" for clause in clauses), *(["--worlds=500"] if name == WORLDS else []),
    ]  # fmt: skip
    began = time.monotonic()
    with busy_loops(loops):
        ended = _quietly(command)
    seconds = time.monotonic() - began
    found = verdicts(report)
    again = report.with_name(f"{report.name}-again")
    _quietly([sys.executable, "-m", "schedproof", "judge", str(report), f"--report={again}", "--quiet"])
    judged = {clause: verdict["outcome"] for clause, verdict in verdicts(again).items()}
    shutil.rmtree(again, ignore_errors=True)
    # If a candidate has a list of clauses, others that every run judges are not expected to pass.
    asked = {clause: verdict for clause, verdict in found.items() if not clauses or clause in clauses}
    result = {
        "candidate": name, "seed": seed, "busy": loops > 0, "loops": loops,
        "exit": ended.returncode, "seconds": round(seconds),
        "outcomes": dict(collections.Counter(verdict["outcome"] for verdict in found.values())),
        "blamed": _named(asked, "failed"), "invalid": _named(asked, "invalid"),
        "differs": sorted(clause for clause, verdict in found.items() if judged.get(clause) != verdict["outcome"]),
        "said": "" if found else ended.stderr[-2000:],
    }  # fmt: skip
    if found and not (result["blamed"] or result["invalid"] or result["differs"]):
        shutil.rmtree(report)
    return result


def _quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: end_with_parent(signal.SIGTERM),
    )  # fmt: skip


def _named(found: dict[str, dict[str, Any]], outcome: str) -> dict[str, str]:
    return {clause: verdict["summary"][:400] for clause, verdict in found.items() if verdict["outcome"] == outcome}


def table(runs: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the runs and their findings, by candidate."""
    lines = ["| candidate | runs | on a busy machine | verdicts | failed | invalid | different when judged again |"]
    lines.append("|---|---|---|---|---|---|---|")
    by_name: dict[str, list[dict[str, Any]]] = {}
    for record in runs:
        by_name.setdefault(record["candidate"], []).append(record)
    by_name["all"] = runs
    for name, records in by_name.items():
        busy = sum(record["busy"] for record in records)
        tried = sum(sum(record["outcomes"].values()) for record in records)
        blamed, invalid, differs = (
            sum(len(record[key]) for record in records) for key in ("blamed", "invalid", "differs")
        )
        lines.append(f"| {name} | {len(records)} | {busy} | {tried} | {blamed} | {invalid} | {differs} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="CANDIDATE", help="only these candidates (default: all)")
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="duration of the soak (default: 60)")
    parser.add_argument(
        "--loops", type=int, default=4 * (os.cpu_count() or 1), metavar="N",
        help="busy loops beside every second run (default: four for each core; 0: none)",
    )  # fmt: skip
    parser.add_argument("--afresh", action="store_true", help="delete the recorded runs first")
    parser.add_argument("--write", action="store_true", help="write the table of all runs into docs/trust.md")
    arguments = parser.parse_args()
    end_with_parent(signal.SIGTERM)
    chosen = {name: clauses for name, clauses in subjects().items() if not arguments.only or name in arguments.only}
    if not chosen:
        parser.error(f"no candidate of the soak is named {', '.join(arguments.only)}: name none to run all")
    if arguments.afresh:
        RUNS.unlink(missing_ok=True)
        shutil.rmtree(SOAK, ignore_errors=True)
    SOAK.mkdir(parents=True, exist_ok=True)
    runs, end = earlier(), time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end:
        name, seed, busy = turn(runs, list(chosen))
        report = SOAK / f"{name.replace('/', '-')}-{seed}"
        runs.append(run(name, chosen[name], seed, report, arguments.loops if busy else 0))
        with RUNS.open("a") as log:
            log.write(json.dumps(runs[-1]) + "\n")
        sys.stdout.write(f"{json.dumps(runs[-1])}\n")
        sys.stdout.flush()
    sys.stdout.write(table(runs))
    if arguments.write:
        write_table(PAGE, "make soak", table(runs))
    tried = sum(sum(record["outcomes"].values()) for record in runs)
    invalid = sum(len(record["invalid"]) for record in runs)
    wrong = any(record["blamed"] or record["differs"] or not record["outcomes"] for record in runs)
    return 1 if wrong or invalid > MOST_INVALID * tried else 0


if __name__ == "__main__":
    sys.exit(main())
