"""Correct candidates that work in an unusual way pass the clauses that they were planted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content

from .verdicts import others

pytestmark = [pytest.mark.live, pytest.mark.planted, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
ROWS = yaml.safe_load((ROOT / "fixtures" / "unusual.yaml").read_text())


def test_every_unusual_candidate_is_tried() -> None:
    folder = ROOT / "fixtures" / "candidates"
    there = {str(found.parent.relative_to(folder)) for found in folder.glob("unusual/**/candidate.yaml")}
    assert there == {row["candidate"] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=[row["candidate"] for row in ROWS])
def test_an_unusual_correct_candidate_passes(row: dict[str, Any], planted: Any) -> None:
    name = load_candidate(content("fixtures", "candidates", row["candidate"])).name
    tried = planted[name]
    found = [tried.get(clause, {"id": clause, "outcome": "not tried", "summary": ""}) for clause in row["passes"]]
    assert not (blamed := others(found, "passed")), blamed
