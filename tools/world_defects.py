"""Measure which planted placement defects `core/random-worlds` finds by itself: `make worlds`.

Candidates are the controllers of fixtures/defects.yaml that a clause about the choice of a node must catch, with one
seed, except those whose defect generated worlds cannot show (`NOT_DRAWN`). Exits with 1 if fewer than nine of ten
are found. `--write` updates the table in docs/trust.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from pages import write_table

from schedproof.foundation.counted import counted
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clauses.core.placement import judge_placement

ROOT = Path(__file__).resolve().parent.parent
CANDIDATES = ROOT / "fixtures" / "candidates"
REPORT = ROOT / "build" / "worlds"
PAGE = ROOT / "docs" / "trust.md"
CLAUSE = "core/random-worlds"
ABOUT_NODES = (
    "fit-", "node-", "taint-", "toleration", "cordon", "host-port", "pod-affinity", "pod-anti-affinity",
    "anti-affinity-", "topology-spread",
)  # fmt: skip
"""Prefixes of the core clauses about where a pod may run."""
NOT_DRAWN = {
    # huge pages, RuntimeClasses, pod-level requests, resizes, a recreated node
    "core/fit-hugepages", "core/fit-overhead", "core/fit-pod-level", "core/fit-resize", "core/node-recreated",
    # labels of namespaces that change
    "defects/keeps-first-namespace-labels", "defects/keeps-needed-namespace-labels",
    # pods that tolerate a cordon and fit nowhere else
    "defects/cordon-is-absolute",
}  # fmt: skip
"""Clauses and defects that generated worlds do not cover."""
FEWEST = 0.9


def defects() -> dict[str, str]:
    """Return each candidate's path below fixtures/candidates, and its defect."""
    drawn = {
        clause.id
        for clause in CATALOGUE.values()
        if clause.judge is judge_placement
        and clause.id not in NOT_DRAWN
        and clause.id.removeprefix("core/").startswith(ABOUT_NODES)
    }
    return {
        row["candidate"]: row["defect"]
        for row in yaml.safe_load((ROOT / "fixtures/defects.yaml").read_text())
        if row["candidate"].startswith("defects/")
        and row["candidate"] not in NOT_DRAWN
        and drawn.intersection(row["fails"])
        and _is_controller(row)
    }


def _is_controller(row: dict[str, Any]) -> bool:
    return "extends: ../controller.yaml" in (CANDIDATES / row["candidate"] / "candidate.yaml").read_text()


def found() -> dict[str, dict[str, Any]]:
    """Return the smallest failing world of each candidate that failed, and how many worlds were tried."""
    report = json.loads((REPORT / "report.json").read_text())
    return {
        candidate["name"]: clause["evidence"].get("world", {"words": "", "worlds": 0})
        for candidate in report["candidates"]
        for clause in candidate["clauses"]
        if clause["id"] == CLAUSE and clause["outcome"] == "failed"
    }


def table(rows: dict[str, str], worlds: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown table with a line for each defect."""
    lines = ["| planted defect | worlds | smallest world |", "|---|---|---|"]
    for candidate, defect in rows.items():
        world = worlds.get(candidate.rpartition("/")[2])
        cells = "| not found |" if world is None else f"{world['worlds']} | {_cell(world['words'])} |"
        lines.append(f"| {defect} | {cells}")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the worlds (default: 1)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/trust.md")
    arguments = parser.parse_args()
    rows = defects()
    shutil.rmtree(REPORT, ignore_errors=True)
    command = [sys.executable, "-m", "schedproof", "run", *(str(CANDIDATES / candidate) for candidate in rows)]
    command += [f"--clause={CLAUSE}", f"--seed={arguments.seed}", f"--report={REPORT}"]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    worlds = found()
    sys.stdout.write(f"{table(rows, worlds)}{len(worlds)} of {counted(len(rows), 'defect')} found\n")
    if arguments.write:
        write_table(PAGE, "make worlds", table(rows, worlds))
    return 0 if len(worlds) >= FEWEST * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
