"""What a candidate has shown by some point of its run, by handwritten and by recorded histories."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any, get_args

import pytest

from schedproof.history.acts import Broken, Habit, LeftOut, Noted, PlainPods, Unblocked
from schedproof.history.history import History
from schedproof.history.record import Record
from schedproof.history.saved import FILE, load_records
from schedproof.judge.catalogue import BINDS, CATALOGUE, HEAD_OF_LINE
from schedproof.judge.shown import Shown

from .histories import HistoryBuilder

GOLDEN = Path(__file__).parent / "golden"
BASIC = "core/node-selector"
SECOND, THIRD, LAST = "core/fit-cpu", "core/no-overcommit", "core/alive"
"""Of which the first stands on `BASIC`, and the last is judged over the whole run."""


def by(*records: Record) -> Shown:
    """What is shown by a history with these records after its first case."""
    h = HistoryBuilder(BINDS)
    h.end()
    for record in records:
        h.add(record)
    return Shown.of(h.history())


def test_a_run_without_such_records_shows_nothing() -> None:
    assert by() == Shown()
    assert {Shown().waits_for(clause) for clause in CATALOGUE.values()} == {""}


@pytest.mark.parametrize(
    ("records", "waits"),
    [
        ((Broken(case=SECOND),), {BASIC: SECOND, THIRD: SECOND, LAST: "", HEAD_OF_LINE: SECOND}),
        ((Broken(case=SECOND), Broken(case=BINDS)), {THIRD: SECOND}),
        ((Broken(case=BASIC, basic=True),), {BASIC: "", SECOND: BASIC, THIRD: "", LAST: ""}),
        ((Broken(case=BASIC, basic=True), Broken(case=BINDS)), {SECOND: BINDS, THIRD: BINDS, LAST: ""}),
        ((Unblocked(case=BINDS), Broken(case=BINDS)), {THIRD: BINDS, HEAD_OF_LINE: "", LAST: ""}),
        ((Unblocked(case=BINDS),), {THIRD: "", HEAD_OF_LINE: ""}),
    ],
)
def test_clauses_wait_for_what_has_shown_that_they_would_fail(
    records: tuple[Record, ...], waits: dict[str, str]
) -> None:
    shown = by(*records)
    assert {clause: shown.waits_for(CATALOGUE[clause]) for clause in waits} == waits


def test_of_several_ignored_basics_always_the_same_is_waited_for() -> None:
    clause = next(clause for clause in CATALOGUE.values() if len(clause.stands_on) > 1)
    shown = by(*(Broken(case=basic, basic=True) for basic in sorted(clause.stands_on, reverse=True)))
    assert shown.waits_for(clause) == min(clause.stands_on)
    assert shown.broken_by == ""


def test_what_is_about_the_pods_that_block_it_is_tried_of_a_blocked_candidate_alone() -> None:
    blocked, broken = by(Unblocked(case=BINDS), Broken(case=BINDS)), by(Broken(case=BINDS))
    clauses = (HEAD_OF_LINE, SECOND, LAST)
    assert [blocked.broken_for(CATALOGUE[clause]) for clause in clauses] == ["", BINDS, BINDS]
    assert [broken.broken_for(CATALOGUE[clause]) for clause in clauses] == [BINDS] * 3


@pytest.mark.parametrize(
    ("habits", "binds_nothing"),
    [
        ((), None),
        (("ignores-selectors",), None),
        (("binds-nothing",), True),
        (("binds",), False),
        (("binds", "binds-nothing"), False),
        (("binds-nothing", "binds"), False),
    ],
)
def test_what_has_bound_a_pod_binds_something_from_then_on(
    habits: tuple[Habit, ...], binds_nothing: bool | None
) -> None:
    assert by(*(Noted(case=BINDS, habit=habit) for habit in habits)).binds_nothing is binds_nothing


def test_habits_are_shown_by_any_case() -> None:
    habits: tuple[Habit, ...] = get_args(Habit)
    noted = [Noted(case=case, habit=habit) for case, habit in zip((BINDS, SECOND) * 2, habits, strict=True)]
    assert by(*noted).habits == {*habits}


def test_kinds_of_variation_are_left_out_whichever_case_found_them() -> None:
    first = LeftOut(case=SECOND, kinds={"limits": SECOND, "node affinity": "core/node-affinity"})
    shown = by(first, LeftOut(case=THIRD, kinds={"tolerations": "core/taint-noschedule"}))
    assert shown.left_out == {"limits", "node affinity", "tolerations"}


def test_whether_plain_pods_are_bound_is_open_again_after_each_case() -> None:
    h = HistoryBuilder(BINDS)
    h.end()
    found = [Shown.of(h.history()).binds_plain]
    for bound in (False, True):
        h.add(PlainPods(case=BINDS, bound=bound))
        found.append(Shown.of(h.history()).binds_plain)
    h.begin(SECOND)
    found.append(Shown.of(h.history()).binds_plain)
    h.end()
    found.append(Shown.of(h.history()).binds_plain)
    assert found == [None, False, True, None, None]


def test_what_is_shown_grows_with_the_history() -> None:
    h = HistoryBuilder(BINDS)
    h.end()
    before = h.history()
    h.add(Broken(case=BINDS))
    h.begin(SECOND)
    h.end()
    assert (Shown.of(before).broken_by, Shown.of(h.history()).broken_by) == ("", BINDS)
    assert Shown.of(h.history().up_to_end(BINDS)).broken_by == ""


RECORDED: dict[str, dict[str, Any]] = {
    "divides-by-zero": {"broken_by": "network/zero-traffic"},
    "blocks-the-queue": {
        "broken_by": BINDS, "blocked": True, "binds_plain": None, "habits": {"binds-nothing", "binds"},
    },
}  # fmt: skip
"""What recorded histories of golden show; the others show nothing."""


@pytest.mark.parametrize("name", [path.name for path in sorted(GOLDEN.iterdir())])
def test_recorded_histories(name: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(lzma.decompress((GOLDEN / name / f"{FILE}.xz").read_bytes()))
    assert Shown.of(History(load_records(tmp_path))) == Shown(**RECORDED.get(name, {}))
