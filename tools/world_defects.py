"""Which planted defects of placement `core/random-worlds` finds by itself: `make worlds`.

Tried are the defective controllers of fixtures/defects.yaml that a clause about the choice of a node must catch, with
one seed. What generated worlds cannot have is left out (`NOT_DRAWN`). Exits with 1 where fewer than nine of ten are
found. `--write` puts the table into docs/trust.md.
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
"""How the names of core clauses begin that are about where a pod may run."""
NOT_DRAWN = {
    # huge pages, RuntimeClasses, requests for a pod as a whole, resizes, a node that is created anew
    "core/fit-hugepages", "core/fit-overhead", "core/fit-pod-level", "core/fit-resize", "core/node-recreated",
    # labels of namespaces that change
    "defects/keeps-first-namespace-labels", "defects/keeps-needed-namespace-labels",
    # pods that fit later: none is waited for
    "defects/finished-wakes-no-pod",
    # the node that shows what a candidate has seen is cordoned: of this one nothing is shown, and the clause is invalid
    "defects/cordon-is-absolute",
}  # fmt: skip
"""Clauses and defects about what generated worlds do not have."""
FEWEST = 0.9


def defects() -> dict[str, str]:
    """A path below fixtures/candidates to what its defect is."""
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
    """What the report says of the smallest worlds, and of how they were found, by candidates that failed."""
    report = json.loads((REPORT / "report.json").read_text())
    return {
        candidate["name"]: clause["evidence"].get("world", {"words": "", "worlds": 0})
        for candidate in report["candidates"]
        for clause in candidate["clauses"]
        if clause["id"] == CLAUSE and clause["outcome"] == "failed"
    }


def table(rows: dict[str, str], worlds: dict[str, dict[str, Any]]) -> str:
    """Markdown: a line for each defect."""
    lines = ["| planted defect | worlds | smallest world |", "|---|---|---|"]
    for candidate, defect in rows.items():
        world = worlds.get(candidate.rpartition("/")[2])
        told = "| not found |" if world is None else f"{world['worlds']} | {_cell(world['words'])} |"
        lines.append(f"| {defect} | {told}")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the worlds (default: 1)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/trust.md")
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
