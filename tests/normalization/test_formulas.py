"""The formulas of fixtures/scoring: their promises, the planted defects, and docs/scoring.md."""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedproof.foundation.content import content
from schedproof.normalization.answer import Case
from schedproof.normalization.effort import PROFILES
from schedproof.normalization.function import FunctionSurface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES
from schedproof.normalization.search import search

# Modules to be copied, not a package: imported in the way of a user's own tests.
FOLDER = content("fixtures", "scoring")
sys.path.insert(0, str(FOLDER))
import defects  # noqa: E402
import formulas  # noqa: E402
import published  # noqa: E402

sys.path.remove(str(FOLDER))

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "docs" / "scoring.md"
FEATURES = {rule.feature for rule in RULES.values()} - {""}


def case(*questions: list[float | None]) -> Case:
    return tuple(tuple((f"node-{number}", value) for number, value in enumerate(values)) for values in questions)


ALIKE: list[float | None] = [1e6] * 3
MANY: list[float | None] = [1e6 + 1e4 * number for number in range(120)]
WITNESSES: dict[str, list[Case]] = {
    "any": [
        case(MANY), case([1e6] * 11 + [1e9]), case(ALIKE), case([2e9, 3e9]), case([2.0**53, 2.0**53 + 2, 2.0**54]),
        case([1e6, 2e6, 2e6, 2e6]), case([1.0, 3.0, 3.0, 2.0, 4.0]),
    ],
    "two-orders": [(case(ALIKE)[0], case(ALIKE)[0][::-1])],
    "huge": [case([1e300, 2e300, 3e300])],
    "unusual": [case([5.0, float("nan"), 1.0, 2.0, 0.5]), case([float("nan"), 1.0, 2.0]), case([-1.0, 1e6])],
    "again": [case([1e6, 4e6], [1e9, 4e9], [1e6, 4e6])],
}  # fmt: skip
"""Cases that the built-in corner cases lack, by the shape of the rule."""


def breaks(function: Callable[..., Any], clause: str, *, highest: int = 100, cases: int = 0) -> str:
    """Return how a function that claims every feature and `neutral` breaks a clause; "" if no case shows it."""
    rule = RULES[f"normalize/{clause.removeprefix('normalize/')}"]
    promises = Promises(highest, features=frozenset(FEATURES), on_missing="neutral")
    surface = FunctionSurface(function)
    found = search(rule, surface, promises, cases=cases, seed=1, known=WITNESSES.get(rule.shape, ()))
    return found.failing.text if found.failing else ""


@pytest.fixture(autouse=True)
def _forget_state_of_defects() -> Iterator[None]:
    defects.forget()
    yield
    defects.forget()


class TestFormulas:
    @pytest.mark.parametrize("highest", [100, 10])
    @pytest.mark.parametrize("name", formulas.FORMULAS)
    def test_formulas_keep_all_rules_without_a_feature(self, name: str, highest: int) -> None:
        formula = functools.partial(formulas.FORMULAS[name], highest=highest)
        for clause, rule in RULES.items():
            if not rule.feature:
                assert breaks(formula, clause, highest=highest, cases=10) == "", clause

    @pytest.mark.parametrize("name", formulas.FORMULAS)
    @settings(database=None, deadline=None, max_examples=200)
    @given(st.lists(st.none() | st.floats(), max_size=12))
    def test_formulas_accept_any_float_as_a_reading(self, name: str, readings: list[float | None]) -> None:
        asked = {str(node): reading for node, reading in enumerate(readings)}
        scores = formulas.FORMULAS[name](asked)
        assert list(scores) == list(asked)
        assert all(type(score) is int and 0 <= score <= 100 for score in scores.values())
        known = sorted((formulas.whole(asked)[node], -score) for node, score in scores.items())
        assert [score for _, score in known] == sorted(score for _, score in known)

    def test_whole_numbers_represent_the_readings(self) -> None:
        smallest, largest = 5e-324, sys.float_info.max
        traffic = formulas.whole({"a": smallest, "b": largest, "c": 1.5, "d": -3.0, "e": None, "f": float("nan")})
        assert traffic["a"] == 1
        assert traffic["b"] / traffic["c"] == largest / 1.5
        assert (traffic["d"], traffic["e"]) == (0, traffic["f"])
        assert traffic["a"] <= traffic["e"] <= traffic["c"]


class TestDefects:
    def test_there_are_enough_defects_and_each_describes_its_fault(self) -> None:
        assert len(defects.DEFECTS) >= 30
        assert {defect.clause for defect in defects.DEFECTS.values()} == set(RULES)
        for name, defect in defects.DEFECTS.items():
            assert len(defect.sentence) > 20, name

    @pytest.mark.parametrize("name", defects.DEFECTS)
    def test_each_defect_is_caught_by_its_clause(self, name: str) -> None:
        assert breaks(defects.DEFECTS[name].function, defects.DEFECTS[name].clause)

    @pytest.mark.parametrize("name", published.PUBLISHED)
    def test_published_formulas_break_their_listed_clauses(self, name: str) -> None:
        function, highest, broken = published.PUBLISHED[name]
        assert {clause for clause in broken if not breaks(function, clause, highest=highest)} == set()

    def test_go_arithmetic_wraps_and_truncates(self) -> None:
        assert (published.wrap(2**63), published.wrap(-(2**31) - 1, 32)) == (-(2**63), 2**31 - 1)
        assert (published.divided(-7, 2), published.divided(7, -2), published.divided(7, 2)) == (-3, -3, 3)
        assert (published.int64(1.9), published.int64(2.0**63), published.int64(float("nan"))) == (1, *[-(2**63)] * 2)
        with pytest.raises(ZeroDivisionError):
            published.divided(1, 0)


def tables(kind: str) -> list[tuple[list[str], list[list[str]]]]:
    """Return the tables of docs/scoring.md below comments of this kind: words of the comment, and rows with the header
    first.
    """
    found = re.findall(rf"<!-- {kind} ?(.*?)-->\n((?:\|.*\n)+)", CHAPTER.read_text())
    assert found
    return [
        (words.split(), [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()])
        for words, table in found
    ]


class TestChapter:
    def test_scores_of_the_table_are_those_of_the_formulas(self) -> None:
        for (highest,), (header, _, *rows) in tables("scores"):
            columns = [column for column in header[1:] if column]
            asked = {column: float(column.replace(",", "")) for column in columns}
            assert [row[0] for row in rows] == list(formulas.FORMULAS)
            for name, *cells in rows:
                scores = formulas.FORMULAS[name](asked, int(highest))
                assert cells[: len(columns)] == [str(scores[column]) for column in columns], name

    def test_numbers_of_different_scores_are_right(self) -> None:
        for (count, first, step), (_, _, *rows) in tables("different"):
            asked = {str(number): float(first) + float(step) * number for number in range(int(count))}
            assert rows == [
                [name, *(str(len(set(formula(asked, highest).values()))) for highest in (100, 10))]
                for name, formula in formulas.FORMULAS.items()
            ]

    def test_claimable_features_of_each_formula_are_right(self) -> None:
        [(_, (header, _, *rows))] = tables("claims")
        clauses = [clause.strip("`") for clause in header[1:]]
        assert {f"normalize/{clause}" for clause in clauses} == {name for name, rule in RULES.items() if rule.feature}
        assert rows == [
            [name, *("no" if breaks(formula, clause) else "yes" for clause in clauses)]
            for name, formula in formulas.FORMULAS.items()
        ]

    def test_clauses_that_published_formulas_break_are_right(self) -> None:
        [(_, (_, _, *rows))] = tables("published")
        assert {name: tuple(re.findall("`(.+?)`", broken)) for name, broken, _ in rows} == {
            name: formula.breaks for name, formula in published.PUBLISHED.items()
        }

    def test_ties_of_divide_by_max_are_described(self) -> None:
        scores = formulas.divide_by_max({str(number): 1e6 + 1e4 * number for number in range(30)}, 10)
        sizes = [len(list(group)) for _, group in itertools.groupby(scores.values())]
        quietest, following = sizes[:2]
        assert (
            f"any of the {quietest} quietest of these thirty nodes, and gives the next {following} nodes equal scores"
            in " ".join(CHAPTER.read_text().split())
        )

    def test_number_of_defects_is_right(self) -> None:
        assert f"has {len(defects.DEFECTS)} further defects" in CHAPTER.read_text()

    def test_example_fails_with_the_shown_message(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(PROFILES, "quick", (5, 0))
        monkeypatch.chdir(tmp_path)  # failing cases are kept where pytest is started
        [source] = re.findall(r"```python\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
        [promised] = re.findall(r"```text\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
        module: dict[str, Any] = {"__name__": "chapter"}
        exec(source, module)
        with pytest.raises(AssertionError) as raised:
            module["test_scores"]()
        for line in promised.splitlines():
            assert line in str(raised.value)

    def test_plots_are_those_of_the_formulas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(ROOT / "tools")
        plots = importlib.import_module("plot_formulas").plots()
        assert {name: (ROOT / "docs" / "images" / name).read_text() for name in plots} == plots
