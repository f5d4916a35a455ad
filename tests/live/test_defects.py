"""Every planted defect is caught by the clauses that must catch it, and what has no defect passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from schedproof.candidates.descriptor import load_candidate
from schedproof.foundation.content import content

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
ROWS = [row for row in yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text()) if "like" not in row]
SYSTEMS = (
    "d1-network-traffic",
    "d2-network-traffic-second",
    "d3-hello-world",
    "d6-random-controller",
    "d7-index-extender",
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, str]]]:
    """Candidate to clause to what report.json says of it."""
    report = tmp_path_factory.mktemp("defects")
    command = [sys.executable, str(ROOT / "tools" / "judge_defects.py"), "--quick", f"--report={report}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    files = list(report.glob("*/report.json"))
    assert files, done.stdout + done.stderr
    return {
        candidate["name"]: {clause["id"]: clause for clause in candidate["clauses"]}
        for file in files
        for candidate in json.loads(file.read_text())["candidates"]
    }


@pytest.mark.parametrize("row", ROWS, ids=[row["candidate"] for row in ROWS])
def test_a_defect_fails_the_clauses_that_must_catch_it(row: dict[str, Any], outcomes: Any) -> None:
    name = load_candidate(content("fixtures", "candidates", row["candidate"])).name
    found = {clause: outcomes[name][clause] for clause in row["fails"]}
    assert {clause: verdict["outcome"] for clause, verdict in found.items()} == dict.fromkeys(found, "failed"), {
        clause: verdict["summary"] for clause, verdict in found.items()
    }


def test_the_described_systems_pass_once_they_are_corrected(shell: Shell) -> None:
    candidates = [str(ROOT / "fixtures" / "candidates" / "described" / system / "corrected") for system in SYSTEMS]
    ended = shell.schedproof("run", *candidates, "--report", "report")
    assert ended.code == 0, ended.said
    for candidate in shell.report()["candidates"]:
        assert {clause["outcome"] for clause in candidate["clauses"]} <= {"passed", "not-claimed"}, ended.said
