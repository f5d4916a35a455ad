"""Write what `schedproof normalize` finds into docs/scores.md: `make scores`.

There are two results. A table of the described candidates, by clause and surface, with the smallest failing case,
from an embedded cluster. And the mutation check: each planted defect of fixtures/scoring is caught by its clause,
and no correct formula fails, with `--seeds` different seeds. Exits with 1 if the mutation check fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from schedproof.normalization.effort import PROFILES
from schedproof.normalization.function import FunctionSurface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES, rules_for
from schedproof.normalization.search import search

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fixtures" / "scoring"))
import defects  # noqa: E402
import formulas  # noqa: E402

SYSTEMS = {
    "d1-network-traffic": ("corrected", "divides-by-zero", "overflows", "truncates-example", "rejects-without-sample"),
    "d2-network-traffic-second": ("corrected", "divides-by-zero"),
    "d3-hello-world": ("corrected", "divides-by-zero", "overflows", "truncates-example", "rejects-without-sample"),
    "d7-index-extender": ("corrected", "index-beyond-ten"),
}
RIGHT = {
    formulas.divide_by_max: {"scale-free"},
    formulas.min_max: {"scale-free", "full-scale"},
    formulas.rank: {"scale-free", "full-scale"},
    formulas.z_score: {"scale-free"},
    formulas.reciprocal: {"scale-free"},
}


def judged(cases: str, report: Path) -> list[dict[str, Any]]:
    """Judge the described candidates, and return their entries in report.json."""
    described = ROOT / "fixtures" / "candidates" / "described"
    candidates = [str(described / system / form) for system, forms in SYSTEMS.items() for form in forms]
    command = [sys.executable, "-m", "schedproof", "normalize", *candidates, f"--cases={cases}", f"--report={report}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    found: list[dict[str, Any]] = json.loads((report / "report.json").read_text())["candidates"]
    return found


def table(candidates: list[dict[str, Any]]) -> str:
    """Return a Markdown table: each failed candidate, clause and surface; one line for a candidate without failures."""
    lines = [
        "| candidate | clause | surface | smallest failing case: B/s, or raw (normalize-score), by node: scores |",
        "|---|---|---|---|",
    ]
    for candidate in candidates:
        clauses = [clause for clause in candidate["clauses"] if clause["id"].startswith("normalize/")]
        failed = [clause for clause in clauses if clause["outcome"] not in ("passed", "not-claimed")]
        if not failed:
            passed = sum(clause["outcome"] == "passed" for clause in clauses)
            lines.append(f"| {candidate['name']} | all {passed} that it claims | all | none |")
        for clause in failed:
            scorings = clause["evidence"].get("scorings", ())
            lines += [
                f"| {candidate['name']} | {clause['id']} | {scoring['surface']} | {_case(scoring)} |"
                for scoring in scorings
                if f"{scoring['surface']}: " in clause["summary"] or clause["id"] == "normalize/surfaces-agree"
            ]
    return "\n".join(lines) + "\n"


def _case(scoring: dict[str, Any]) -> str:
    questions = []
    for question in scoring["questions"]:
        readings = ", ".join(node["reading"] for node in question["nodes"])
        scores = ", ".join("/".join(map(str, node["scores"])) or "none" for node in question["nodes"])
        reason = question["unanswered"].split("\n")[0].replace("|", "\\|")
        questions.append(f"{readings}: {reason or scores}")
    return "; ".join(questions)


def missed_defects() -> list[str]:
    """Return a line for each planted defect that passes its clause with the cases of the profile `ci`."""
    cases, _ = PROFILES["ci"]
    missed = []
    for name, defect in defects.DEFECTS.items():
        defects.forget()
        rule = RULES[defect.clause]
        promises = Promises(features=frozenset({rule.feature} - {""}), on_missing="neutral")
        if search(rule, FunctionSurface(defect.function), promises, cases=cases, seed=1).failing is None:
            missed.append(f"{name}: not caught by {defect.clause}")
    return missed


def blamed_formulas(seeds: int) -> list[str]:
    """Return a line for each failure of a correct formula, with the cases of the profile `quick` for each seed."""
    cases, _ = PROFILES["quick"]
    blamed = []
    for formula, features in RIGHT.items():
        promises = Promises(features=frozenset(features), on_missing="neutral")
        for seed in range(seeds):
            for rule in rules_for(promises):
                found = search(rule, FunctionSurface(formula), promises, cases=cases, seed=seed).failing
                if found is not None:
                    blamed.append(f"{formula.__name__}, seed {seed}: {rule.clause}: {found.text}")
    return blamed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="quick", help="profile of the described candidates' cases (default: quick)")
    parser.add_argument("--seeds", type=int, default=50, help="number of seeds for correct formulas (default: 50)")
    parser.add_argument("--table", type=Path, help="write the tables to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = table(judged(arguments.cases, Path(scratch) / "report"))
    missed, blamed = missed_defects(), blamed_formulas(arguments.seeds)
    checked = (
        f"Of {len(defects.DEFECTS)} planted defects {len(defects.DEFECTS) - len(missed)} are caught by their clauses "
        f"(profile `ci`); {len(RIGHT)} correct formulas,\nwith {arguments.seeds} seeds each, fail "
        f"{len(blamed)} times (profile `quick`).\n"
    )
    sys.stdout.write(text + checked + "".join(f"{line}\n" for line in (*missed, *blamed)))
    if arguments.table:
        arguments.table.write_text(
            "# What property tests of scores find\n\nWritten by `make scores`. The described systems, one defect at a "
            "time and corrected, on each surface that they\n"
            f"offer (`schedproof normalize --cases {arguments.cases}`).\n\n"
            f"{text}\n## Mutation check\n\n{checked}"
        )
    return 1 if missed or blamed else 0


if __name__ == "__main__":
    sys.exit(main())
