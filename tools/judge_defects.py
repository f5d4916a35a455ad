"""Judge every planted defect on the clauses that must catch it, and write the table: `make defects`.

Reads fixtures/defects.yaml; with `--unusual`, fixtures/unusual.yaml, whose candidates are correct and must pass.
Each candidate is tried on its own clauses only, on an embedded cluster that it shares with others. Exits with 1 if a
defect is not caught, or if a correct candidate does not pass.

With `--ladder`, clauses run as in a user's run: together with the clauses on which others wait, and without
`--keep-going`; prints which clauses were not tried because the clause that they wait for failed. Candidates without
such clauses are left out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.foundation.processes.sandbox_init import end_with_parent
from schedproof.judge.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "fixtures" / "recorded.tar.xz"
_PAIRS = "JUDGE_DEFECTS_PAIRS"
"""Environment variable: candidates' names and clauses to try, as JSON."""
_FAILURES = "# Written by `make defects`: for each clause, a planted candidate that it caught, and the finding.\n"
ROWS: list[dict[str, Any]] = yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text())
UNUSUAL: list[dict[str, Any]] = yaml.safe_load((ROOT / "fixtures" / "unusual.yaml").read_text())


def name_of(row: dict[str, Any]) -> str:
    """Return the metadata.name of a row's candidate."""
    descriptor = yaml.safe_load((ROOT / "fixtures" / "candidates" / row["candidate"] / "candidate.yaml").read_text())
    return str(descriptor["metadata"]["name"])


def clauses_of(row: dict[str, Any]) -> list[str]:
    """Return the clauses that a row's candidate is tried on."""
    return list(row["fails"] if "fails" in row else row["passes"])


def expected_of(row: dict[str, Any]) -> str:
    """Return the outcome that these clauses must have."""
    return "failed" if "fails" in row else "passed"


def quick(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `make test-all`: unrecorded defects, with few clauses that cover all clauses."""
    left = {clause for row in rows for clause in clauses_of(row)}
    chosen = []
    for row in sorted((row for row in rows if not row.get("recorded")), key=lambda row: len(clauses_of(row))):
        new = [clause for clause in clauses_of(row) if clause in left]
        kept = new or clauses_of(row)[:1]
        left.difference_update(kept)
        chosen.append({**row, "fails": kept})
    return chosen


def record(rows: list[dict[str, Any]], report: Path) -> None:
    """Add the histories in a run's report folder to the recorded ones, which are kept for all other rows."""
    kept_now, kept_ever = ({name_of(row) for row in group if row.get("recorded")} for group in (rows, ROWS))
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch)
        if RECORDED.exists():
            with tarfile.open(RECORDED) as archive:
                archive.extractall(kept, filter="data")
        for old in kept.iterdir():
            if old.name in kept_now or old.name not in kept_ever:
                shutil.rmtree(old)
        for path in sorted(report.glob("candidates/*/**/history.jsonl")):
            inside = path.relative_to(report / "candidates")
            if inside.parts[0] in kept_now:
                (kept / inside).parent.mkdir(parents=True, exist_ok=True)
                # Histories contain the checkout's path, which means nothing on another machine.
                (kept / inside).write_bytes(path.read_bytes().replace(os.fsencode(ROOT), b"/schedproof"))
        # Compression takes minutes: replace the archive only when it is complete.
        written = kept / RECORDED.name
        with tarfile.open(written, "w:xz", preset=9 | lzma.PRESET_EXTREME) as archive:
            for path in sorted(kept.glob("**/history.jsonl")):
                archive.add(path, str(path.relative_to(kept)), filter=_anonymous)
        shutil.move(written, RECORDED)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep each candidate's own clauses. This module is a pytest plugin in the judging process."""
    wanted = {tuple(pair) for pair in json.loads(os.environ[_PAIRS])}
    items[:] = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and (item.callspec.params["sched_candidate"].name, item.get_closest_marker("clause").args[0]) in wanted  # type: ignore[union-attr]
    ]


def judge(
    rows: list[dict[str, Any]], report: Path, jobs: int, options: tuple[str, ...] = (), *, ladder: bool = False
) -> dict[str, dict[str, dict[str, Any]]]:
    """Judge the rows, and return candidate name to clause to its entry in report.json. `options` are pytest's.

    Rows that need another cluster are judged by themselves, with their evidence in a folder of that name.
    """
    judged = {}
    for cluster, kubernetes in sorted({_place(row) for row in rows}):
        here = [row for row in rows if _place(row) == (cluster, kubernetes)]
        other = [f"--sched-cluster-file={ROOT / 'clusters' / cluster}.yaml"] if cluster else []
        other += [f"--sched-kubernetes={kubernetes}"] if kubernetes else []
        judged |= _judge_on(here, report / cluster / kubernetes, jobs, (*options, *other), ladder=ladder)
    return judged


def _place(row: dict[str, Any]) -> tuple[str, str]:
    """Return the file of the cluster that a row needs, and its minor version; each empty for the default."""
    return row.get("cluster", ""), row.get("kubernetes", "")


def _judge_on(
    rows: list[dict[str, Any]], report: Path, jobs: int, options: tuple[str, ...], *, ladder: bool
) -> dict[str, dict[str, dict[str, Any]]]:
    """Judge rows that need the same cluster."""
    basics = {"core/alive", "core/binds"}.union(*(clause.stands_on for clause in CATALOGUE.values())) if ladder else ()
    candidates = list(dict.fromkeys(str(ROOT / "fixtures" / "candidates" / row["candidate"]) for row in rows))
    pairs = [(name_of(row), clause) for row in rows for clause in (*clauses_of(row), *row.get("tried", ()), *basics)]
    command = [
        sys.executable, "-m", "pytest", "-c", str(ROOT / "suites" / "pytest.ini"), "--noconftest", "-q", "--tb=no",
        "-p", "no:cacheprovider", "-p", "judge_defects", str(ROOT / "suites"), f"--sched-report={report}",
        *(() if ladder else ("--sched-keep-going",)),  # each clause that is listed has to catch it by itself
        *(f"--sched-candidate={candidate}" for candidate in candidates), *options,
    ]  # fmt: skip
    if jobs > 1:
        # Most of the time passes in waits for candidates that do not do what they should.
        command += [f"-n{jobs}", "--max-worker-restart=0"]
    report.mkdir(parents=True, exist_ok=True)
    with (report / "pytest.log").open("w") as log:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), _PAIRS: json.dumps(pairs)}
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
            preexec_fn=lambda: end_with_parent(signal.SIGTERM),
        )  # fmt: skip
    if not (report / "report.json").exists():
        sys.exit(f"no report in {report}: pytest ended without one. Its output:\n{(report / 'pytest.log').read_text()}")
    return verdicts_of(report)


def verdicts_of(report: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return candidate name to clause to its entry in the report.json of a folder."""
    document = json.loads((report / "report.json").read_text())
    return {
        candidate["name"]: {clause["id"]: clause for clause in candidate["clauses"]}
        for candidate in document["candidates"]
    }


def table(rows: list[dict[str, Any]], outcomes: dict[str, dict[str, str]], earlier: str = "") -> str:
    """Return a Markdown table with a line for each row. `earlier`: a previous table, for untried candidates."""
    cells = [line.strip("|").split("|") for line in earlier.splitlines()]
    kept = {line[2].strip(): line[3].strip() for line in cells if len(line) == 4}
    lines = ["| system | defect | candidate | clauses that catch it |", "|---|---|---|---|"]
    for row in rows:
        verdicts = outcomes.get(name_of(row))
        caught = ", ".join(f"{clause}: {(verdicts or {}).get(clause, 'not tried')}" for clause in clauses_of(row))
        if verdicts is None:
            caught = kept.get(row["candidate"], caught)
        description = row["defect"] if "defect" in row else row["unusual"]
        lines.append(f"| {row.get('system', '')} | {description} | {row['candidate']} | {caught} |")
    return "\n".join(lines) + "\n"


def failures(
    rows: list[dict[str, Any]], judged: dict[str, dict[str, dict[str, Any]]], earlier: dict[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """Return, for each clause that caught a candidate, that candidate (if possible of a single defect) and the finding.

    `earlier`: the result of a previous run; its entries for candidates that were not tried in this run are kept.
    """
    caught = [
        (row["candidate"].endswith("as-published"), number, clause, row["candidate"], verdict["summary"])
        for row in rows
        for number, clause in enumerate(clauses_of(row))
        if (verdict := judged.get(name_of(row), {}).get(clause)) and verdict["outcome"] == "failed"
    ]
    untried = {row["candidate"] for row in ROWS} - {row["candidate"] for row in rows}
    return {
        clause: {"candidate": candidate, "finding": textwrap.shorten(summary.split("\n")[0], 400, placeholder=" ...")}
        for _, _, clause, candidate, summary in sorted(caught, key=lambda case: case[:2], reverse=True)
    } | {clause: entry for clause, entry in earlier.items() if clause in CATALOGUE and entry["candidate"] in untried}


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "only", nargs="*", metavar="CANDIDATE", help="only these candidates, as in the fixture file (default: all)"
    )
    parser.add_argument("--unusual", action="store_true", help="the correct candidates of fixtures/unusual.yaml")
    parser.add_argument("--all", action="store_true", help="planted defects and correct candidates")
    parser.add_argument("--quick", action="store_true", help="the rows that `make test-all` tries")
    parser.add_argument(
        "--ladder", action="store_true", help="without --keep-going: print which clauses wait for which"
    )
    parser.add_argument(
        "--record", action="store_true", help="record the histories of these candidates, and keep those of the others"
    )
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="clusters at the same time (default: 4)")
    parser.add_argument("--report", type=Path, help="folder for the evidence (default: a temporary folder)")
    parser.add_argument("--table", type=Path, help="update the rows of these candidates in the table of this file")
    parser.add_argument("--failures", type=Path, help="update the example of a failure of each clause in this file")
    arguments = parser.parse_args()
    end_with_parent(signal.SIGTERM)
    defects = [] if arguments.unusual else quick(ROWS) if arguments.quick else ROWS
    rows = [*defects, *(UNUSUAL if arguments.unusual or arguments.all else ())]
    rows = [row for row in rows if not arguments.only or row["candidate"] in arguments.only]
    if arguments.ladder:
        rows = [row for row in rows if any(CATALOGUE[clause].stands_on for clause in clauses_of(row))]
    with tempfile.TemporaryDirectory() as scratch:
        report = (arguments.report or Path(scratch)).absolute()
        judged = judge(rows, report, arguments.jobs, ladder=arguments.ladder)
        if arguments.record:
            record(rows, report)
    outcomes = {name: {i: clause["outcome"] for i, clause in clauses.items()} for name, clauses in judged.items()}
    sys.stdout.write(table(rows, outcomes))
    if arguments.table:
        text = table(ROWS, outcomes, _text(arguments.table))
        arguments.table.write_text(f"# Planted defects, and the clauses that catch them\n\n{text}")
    if arguments.failures:
        found = failures(rows, judged, yaml.safe_load(_text(arguments.failures)) or {})
        arguments.failures.write_text(_FAILURES + yaml.safe_dump(found, width=110))
    waits = {
        (name, i): clause["depends_on"]
        for name, clauses in judged.items()
        for i, clause in clauses.items()
        if clause.get("depends_on")
    }
    for (name, i), basic in waits.items():
        sys.stdout.write(f"{name}: {i} waits for {basic}, which is {outcomes[name][basic]}\n")
    missed = [
        row
        for row in rows
        for name in [name_of(row)]
        if any((name, c) not in waits and outcomes.get(name, {}).get(c) != expected_of(row) for c in clauses_of(row))
    ]
    for row in missed:
        sys.stderr.write(f"not every clause {expected_of(row)}: {row['candidate']}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
