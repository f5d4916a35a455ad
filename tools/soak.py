"""Judge what is correct again and again, by other seeds each time, every second time on a busy machine: `make soak`.

Tried are the stock scheduler, the references and the corrected described systems on all that they claim, the unusual
candidates (fixtures/unusual.yaml) on what is listed for them, and the stock scheduler on random worlds besides, 500 at
a time. A failed clause is a false blame. Each run is judged again from its record, and must get the same verdicts.

A run is a line of build/soak/runs.jsonl as soon as it has ended, so that a soak can be interrupted, and goes on where
it was; the evidence of one that is not as it should be stays beside it. Exits with 1 if anything was blamed or judged
otherwise a second time, or if more than one verdict in a thousand is `invalid`.
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
RUNS = SOAK / "runs.jsonl"
CANDIDATES = ROOT / "fixtures" / "candidates"
PAGE = ROOT / "docs" / "trust.md"
WORLDS = "stock, 500 random worlds"
LOOPS = 4
"""Busy loops for each core, in a busy run."""
MOST_INVALID = 1e-3


def subjects() -> dict[str, list[str]]:
    """What is correct: a path below fixtures/candidates, or a shipped candidate's name, to the clauses; none: all."""
    shipped: dict[str, list[str]] = {
        name: [] for name in ("stock", "least-traffic-extender", "least-traffic-controller", "least-traffic-plugin")
    }
    described = {
        str(path.parent.relative_to(CANDIDATES)): [] for path in CANDIDATES.glob("described/*/corrected/candidate.yaml")
    }
    unusual = {row["candidate"]: row["passes"] for row in yaml.safe_load((ROOT / "fixtures/unusual.yaml").read_text())}
    return shipped | described | unusual | {WORLDS: ["core/random-worlds"]}


def earlier() -> list[dict[str, Any]]:
    """The runs that have ended. A line that was cut off by the end of the machine is left out."""
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text().splitlines() if line.endswith("}")]


def turn(runs: list[dict[str, Any]], names: list[str], first_seed: int, *, idle: bool) -> tuple[str, int, bool]:
    """What is next: the candidate that was tried least, its seed, and whether the machine is busy meanwhile."""
    count = collections.Counter(run["candidate"] for run in runs)
    name = min(names, key=lambda name: (count[name], names.index(name)))
    # By turns for each candidate, and not all of them busy in one round.
    return name, first_seed + count[name], not idle and (count[name] + names.index(name)) % 2 == 1


def verdicts(report: Path) -> dict[str, dict[str, Any]]:
    """Clause to what a report says of it; empty where there is no report."""
    path = report / "report.json"
    if not path.exists():
        return {}
    (candidate,) = json.loads(path.read_text())["candidates"]
    return {clause["id"]: clause for clause in candidate["clauses"] if clause["outcome"] != "not-claimed"}


def run(name: str, clauses: list[str], seed: int, report: Path, *, busy: bool) -> dict[str, Any]:
    """Try a candidate once. `report`: the evidence, which is removed if all is as it should be."""
    shutil.rmtree(report, ignore_errors=True)
    path = CANDIDATES / name
    subject = str(path) if path.is_dir() else name.partition(",")[0]
    command = [
        sys.executable, "-m", "schedproof", "run", subject, f"--seed={seed}", f"--report={report}", "--quiet",
        *(f"--clause={clause}" for clause in clauses), *(["--worlds=500"] if name == WORLDS else []),
    ]  # fmt: skip
    began = time.monotonic()
    with busy_loops(LOOPS * (os.cpu_count() or 1) if busy else 0):
        ended = _quietly(command)
    seconds = time.monotonic() - began
    found = verdicts(report)
    again = report.with_name(f"{report.name}-again")
    _quietly([sys.executable, "-m", "schedproof", "judge", str(report), f"--report={again}", "--quiet"])
    judged = {clause: one["outcome"] for clause, one in verdicts(again).items()}
    shutil.rmtree(again, ignore_errors=True)
    # Of a candidate with a list, what is judged in every run as well is not promised.
    asked = {clause: one for clause, one in found.items() if not clauses or clause in clauses}
    result = {
        "candidate": name, "seed": seed, "busy": busy, "exit": ended.returncode, "seconds": round(seconds),
        "outcomes": dict(collections.Counter(one["outcome"] for one in found.values())),
        "blamed": _named(asked, "failed"), "invalid": _named(asked, "invalid"),
        "differs": sorted(clause for clause, one in found.items() if judged.get(clause) != one["outcome"]),
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
    return {clause: one["summary"][:400] for clause, one in found.items() if one["outcome"] == outcome}


def table(runs: list[dict[str, Any]]) -> str:
    """Markdown: what was tried, and what was found."""
    lines = ["| candidate | runs | of them busy | verdicts | blamed | invalid | judged otherwise again |"]
    lines.append("|---|---|---|---|---|---|---|")
    by_name: dict[str, list[dict[str, Any]]] = {}
    for one in runs:
        by_name.setdefault(one["candidate"], []).append(one)
    by_name["all"] = runs
    for name, some in by_name.items():
        busy, tried = sum(one["busy"] for one in some), sum(sum(one["outcomes"].values()) for one in some)
        blamed, invalid, differs = (sum(len(one[key]) for one in some) for key in ("blamed", "invalid", "differs"))
        lines.append(f"| {name} | {len(some)} | {busy} | {tried} | {blamed} | {invalid} | {differs} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="CANDIDATE", help="of these (default: all)")
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="for how long (default: 60)")
    parser.add_argument("--idle", action="store_true", help="no busy loops: more seeds in the same time")
    parser.add_argument(
        "--first-seed", type=int, default=1, metavar="N",
        help="of each candidate's first run (default: 1): on another machine, go on after the seeds in docs/trust.md",
    )  # fmt: skip
    parser.add_argument("--afresh", action="store_true", help="forget the runs that there are")
    parser.add_argument("--write", action="store_true", help="put the table of all runs into docs/trust.md")
    arguments = parser.parse_args()
    end_with_parent(signal.SIGTERM)
    chosen = {name: clauses for name, clauses in subjects().items() if not arguments.only or name in arguments.only}
    if not chosen:
        parser.error(f"none of these is a candidate of the soak: {', '.join(arguments.only)}")
    if arguments.afresh:
        shutil.rmtree(SOAK, ignore_errors=True)
    SOAK.mkdir(parents=True, exist_ok=True)
    runs, end = earlier(), time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end:
        name, seed, busy = turn(runs, list(chosen), arguments.first_seed, idle=arguments.idle)
        report = SOAK / f"{name.replace('/', '-')}-{seed}"
        runs.append(run(name, chosen[name], seed, report, busy=busy))
        with RUNS.open("a") as log:
            log.write(json.dumps(runs[-1]) + "\n")
        sys.stdout.write(f"{json.dumps(runs[-1])}\n")
        sys.stdout.flush()
    sys.stdout.write(table(runs))
    if arguments.write:
        write_table(PAGE, "make soak", table(runs))
    tried = sum(sum(one["outcomes"].values()) for one in runs)
    invalid = sum(len(one["invalid"]) for one in runs)
    wrong = any(one["blamed"] or one["differs"] or not one["outcomes"] for one in runs)
    return 1 if wrong or invalid > MOST_INVALID * tried else 0


if __name__ == "__main__":
    sys.exit(main())
