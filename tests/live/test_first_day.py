"""Schedulers as on a first day, each with one mistake: the fact that the record shows is the first and only cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

FOLDER = Path(__file__).parents[2] / "fixtures" / "candidates" / "first-day"
FIRST = {
    "unreadable-answer": ("call-unanswered", "prioritize: 200", "extender/verbs-served"),
    "wrong-verb": ("call-unanswered", "prioritise: 404", "extender/verbs-served"),
    "misspelt-metric": ("metric-not-served", "", "network/least-traffic"),
    "wrong-end": ("preference", "inverted", "network/least-traffic"),
    "no-request": ("nothing-sent", "", "core/binds"),
    "no-right-to-bind": ("request-refused", "create pods/binding: 403", "core/binds"),
    "wrong-name": ("none-tried", "", "core/binds"),
    "exception-at-start": ("process-ended", "KeyError", "core/binds"),
}
"""Of each candidate the cause that is shown first: its kind, what it is about, and the clause that shows it."""
DEPENDENT = {"network/flip", "network/missing-node", "network/prometheus-down"}
"""Clauses that are not tried once that is known."""


@pytest.mark.parametrize("name", FIRST)
def test_the_first_cause_is_the_mistake_and_what_depends_on_it_is_not_tried(shell: Shell, name: str) -> None:
    ended = shell.schedproof("run", str(FOLDER / name), "--report=report")
    assert ended.code in (1, 3), ended.printed  # 3: a metric that nothing serves leaves clauses unproved
    (candidate,) = shell.report()["candidates"]
    (first, *others) = candidate["causes"]
    assert (first["kind"], first["about"], first["shown_by"]) == FIRST[name], ended.printed
    assert others == [], ended.printed
    outcomes = {clause["id"]: (clause["outcome"], clause.get("depends_on")) for clause in candidate["clauses"]}
    assert {outcomes[clause] for clause in DEPENDENT} == {("skipped", FIRST[name][2])}, ended.printed
    shell.expect_nothing_left()


def test_each_is_tried() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*FIRST}
