"""Every planted defect is caught, and every clause catches one; `make defects` tries all of each defect's clauses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from schedproof.candidates.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.planted]

ROOT = Path(__file__).parents[2]
ROWS = [row for row in yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text()) if "like" not in row]
NOT_CORE = ("--clause=core/binds", "--profile=plugin", "--profile=network-aware", "--profile=normalization")
"""Of plugins that only score, the rest of core is kube-scheduler's; `make parity ARGS=--described` tries that too."""
SYSTEMS = {
    ("d1-network-traffic", "d2-network-traffic-second", "d3-hello-world"): NOT_CORE,
    ("d4-profiles",): ("--clause=core/binds", "--profile=plugin"),
    ("d6-random-controller", "d7-index-extender"): (),
}
"""Systems of one run, and what is tried of them."""


@pytest.fixture(scope="module")
def outcomes(judge_planted: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Candidate to clause to what report.json says of it."""
    return judge_planted("--quick", tmp_path_factory.mktemp("defects"))


@pytest.mark.parametrize("row", ROWS, ids=[row["candidate"] for row in ROWS])
def test_a_defect_fails_the_clauses_that_must_catch_it(row: dict[str, Any], outcomes: Any) -> None:
    name = load_candidate(content("fixtures", "candidates", row["candidate"])).name
    found = {clause: outcomes[name][clause] for clause in row["fails"] if clause in outcomes[name]}
    assert found
    assert {clause: verdict["outcome"] for clause, verdict in found.items()} == dict.fromkeys(found, "failed"), {
        clause: verdict["summary"] for clause, verdict in found.items()
    }


def test_every_clause_that_has_a_planted_defect_catches_one(outcomes: Any) -> None:
    names = {load_candidate(content("fixtures", "candidates", row["candidate"])).name: row for row in ROWS}
    failed = {
        clause
        for name, row in names.items()
        for clause in row["fails"]
        if outcomes[name].get(clause, {}).get("outcome") == "failed"
    }
    assert failed == {clause for row in ROWS for clause in row["fails"]}


@pytest.mark.parametrize("systems", SYSTEMS, ids=" and ".join)
def test_the_described_systems_pass_once_they_are_corrected(shell: Shell, systems: tuple[str, ...]) -> None:
    candidates = [str(ROOT / "fixtures" / "candidates" / "described" / system / "corrected") for system in systems]
    ended = shell.schedproof("run", *candidates, *SYSTEMS[systems], "--report", "report")
    assert ended.code == 0, ended.said
    for candidate in shell.report()["candidates"]:
        assert {clause["outcome"] for clause in candidate["clauses"]} <= {"passed", "not-claimed"}, ended.said
