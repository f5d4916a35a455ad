"""Histories of planted defects that `make defects` recorded; no live test runs these defects."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content
from schedproof.report.run.terminal import print_report
from schedproof.run.rejudge import rejudge

FIXTURES = Path(__file__).parents[2] / "fixtures"
ROWS = yaml.safe_load((FIXTURES / "defects.yaml").read_text())


def recordings(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and folder of each recorded candidate, extracted to `folder` one at a time."""
    with tarfile.open(FIXTURES / "recorded.tar.xz", "r|xz") as archive:
        for name, members in itertools.groupby(archive, lambda member: member.name.split("/")[0]):
            for member in members:
                archive.extract(member, folder, filter="data")
            yield name, folder / name
            for file in (folder / name).rglob("history.jsonl"):
                file.unlink()


def test_recorded_defects_fail_their_expected_clauses(tmp_path: Path) -> None:
    expected = {name_of(row): set(row["fails"]) for row in ROWS if row.get("recorded")}
    missed = {}
    for name, home in recordings(tmp_path):
        if name not in expected:  # its row is not recorded any more; its history goes with the next recording
            continue
        (result,) = rejudge(home).candidates.values()
        outcomes = {verdict.clause: f"{verdict.outcome}: {verdict.summary}" for verdict in result.verdicts}
        missed[name] = {
            clause: outcomes.get(clause)
            for clause in expected[name]
            if not outcomes.get(clause, "").startswith("failed")
        }
    assert missed.keys() == expected.keys()
    assert not {name: clauses for name, clauses in missed.items() if clauses}


def test_single_defect_has_at_most_two_causes_and_a_report_below_a_hundred_lines(tmp_path: Path) -> None:
    causes, lines = {}, {}
    for name, home in recordings(tmp_path):
        result = rejudge(home)
        causes[name] = len(result.candidates[name].causes)
        text = io.StringIO()
        print_report(result, Console(file=text, width=100))
        lines[name] = text.getvalue().count("\n")
    assert {name for name, number in causes.items() if not 1 <= number <= 2} == {"d6-as-published", "d7-as-published"}
    assert sum(number == 1 for number in causes.values()) > 0.85 * len(causes)
    assert max(lines.values()) < 100


def test_each_clause_of_a_recorded_defect_also_has_a_live_defect() -> None:
    tried = {clause for row in ROWS if not row.get("recorded") for clause in row["fails"]}
    assert {clause for row in ROWS for clause in row["fails"]} == tried


def name_of(row: dict[str, Any]) -> str:
    return load_candidate(content("fixtures", "candidates", row["candidate"])).name
