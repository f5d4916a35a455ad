"""A scheduler as in many a tutorial, mended step by step: the first cause that is shown is what the next step mends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

FOLDER = Path(__file__).parents[2] / "fixtures" / "candidates" / "first-scheduler"
STEPS = {
    "1-as-in-a-tutorial": ("process-ended", ""),
    "2-parses-no-answer": ("process-ended", ""),
    "3-goes-on": ("rule-ignored", "node-affinity"),
}
"""Of each step the cause that is shown first: its kind, and what it is about; "" where that is an exception's name."""
PAGE = 100


@pytest.mark.parametrize("step", STEPS)
def test_the_first_cause_is_what_the_next_step_mends(shell: Shell, step: str) -> None:
    ended = shell.schedproof("run", str(FOLDER / step), "--report=report")
    assert ended.code == 1, ended.said
    (candidate,) = shell.report()["candidates"]
    first, *_ = candidate["causes"]
    kind, about = STEPS[step]
    assert first["kind"] == kind, ended.said
    assert about in ("", first["about"]), ended.said
    page = ended.out[ended.out.index("clauses that passed, of those that are claimed:") :]
    assert len(page.splitlines()) <= PAGE
    shell.expect_nothing_left()


def test_each_step_but_the_last_has_its_cause() -> None:
    assert sorted(path.name for path in FOLDER.iterdir())[:-1] == list(STEPS)
