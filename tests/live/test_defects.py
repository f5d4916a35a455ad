"""Every clause catches a planted defect; `make defects` records histories of the other defects
(judge/test_recorded.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content

from .verdicts import others

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.planted, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
ROWS = [row for row in yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text()) if not row.get("recorded")]
NOT_CORE = ("--clause=core/binds", "--profile=plugin", "--profile=network-aware", "--profile=normalization")
"""The rest of their core is kube-scheduler's; `make parity ARGS=--described` tries that too."""
SYSTEMS = {
    ("d1-network-traffic", "d2-network-traffic-second", "d3-hello-world"): NOT_CORE,
    ("d4-profiles",): ("--clause=core/binds", "--profile=plugin"),
    # It binds by itself.
    ("d7-index-extender",): (
        "--profile=extender", "--profile=normalization", "--clause=core/binds", "--clause=core/bind-uid",
        "--clause=core/conflict-forgiven", "--clause=core/requeue-bind-refused",
    ),
    ("d6-random-controller",): (),
}  # fmt: skip
"""Systems of one run, and what is tried of them."""


@pytest.mark.parametrize("row", ROWS, ids=[row["candidate"] for row in ROWS])
def test_a_planted_defect_fails_the_clauses_that_must_catch_it(row: dict[str, Any], planted: Any) -> None:
    name = load_candidate(content("fixtures", "candidates", row["candidate"])).name
    found = {clause: planted[name][clause] for clause in row["fails"] if clause in planted[name]}
    assert found
    assert not (missed := others(found.values(), "failed")), missed


def test_every_clause_that_has_a_planted_defect_catches_one(planted: Any) -> None:
    names = {load_candidate(content("fixtures", "candidates", row["candidate"])).name: row for row in ROWS}
    failed = {
        clause
        for name, row in names.items()
        for clause in row["fails"]
        if planted[name].get(clause, {}).get("outcome") == "failed"
    }
    assert failed == {clause for row in ROWS for clause in row["fails"]}


@pytest.mark.parametrize("systems", SYSTEMS, ids=" and ".join)
def test_the_described_systems_pass_once_they_are_corrected(shell: Shell, systems: tuple[str, ...]) -> None:
    candidates = [str(ROOT / "fixtures" / "candidates" / "described" / system / "corrected") for system in systems]
    ended = shell.schedproof("run", *candidates, *SYSTEMS[systems], "--report", "report")
    assert ended.code == 0, ended.printed
    for candidate in shell.report()["candidates"]:
        blamed = others(candidate["clauses"], "passed", "not-claimed")
        assert not blamed, f"{candidate['name']}:\n{blamed}\n{ended.printed}"
