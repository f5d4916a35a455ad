"""Correct candidates that do their work in an unusual way pass the clauses that they were planted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.candidates.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content

pytestmark = [pytest.mark.live, pytest.mark.planted]

ROOT = Path(__file__).parents[2]
ROWS = yaml.safe_load((ROOT / "fixtures" / "unusual.yaml").read_text())


@pytest.fixture(scope="module")
def outcomes(judge_planted: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Candidate to clause to what report.json says of it."""
    return judge_planted("--unusual", tmp_path_factory.mktemp("unusual"))


def test_every_unusual_candidate_is_tried() -> None:
    folder = ROOT / "fixtures" / "candidates"
    planted = {str(found.parent.relative_to(folder)) for found in folder.glob("unusual/**/candidate.yaml")}
    assert planted == {row["candidate"] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=[row["candidate"] for row in ROWS])
def test_what_is_correct_passes(row: dict[str, Any], outcomes: Any) -> None:
    name = load_candidate(content("fixtures", "candidates", row["candidate"])).name
    tried = outcomes[name]
    found = {clause: tried[clause]["outcome"] if clause in tried else "not tried" for clause in row["passes"]}
    assert found == dict.fromkeys(row["passes"], "passed"), {
        clause: tried[clause]["summary"] for clause in row["passes"] if clause in tried
    }
