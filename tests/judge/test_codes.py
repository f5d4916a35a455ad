"""Tables of the codes of findings and of problems: every used code is listed, and every listed code is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import schedproof
from schedproof.documents import problems
from schedproof.judge import codes
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import codes_of

PACKAGE = Path(schedproof.__file__).parent
ABOUT_CODES = ("codes.py", "symptoms.py")
"""Modules that name codes but do not emit any."""
JUDGES = [path for path in (PACKAGE / "judge").rglob("*.py") if path.name not in ABOUT_CODES]
READERS = [
    path
    for room in ("documents", "candidate", "deploy", "proxies", "clusters", "benchmark", "cli")
    for path in (PACKAGE / room).rglob("*.py")
    if path.name != "problems.py"
]
FIRST = {"failed": 0, "invalid": 0, "complain": 0, "_invalid": 2, "Problem": 2}
"""Position of the argument that is the code."""
TABLES = pytest.mark.parametrize(
    ("table", "modules"), [(codes.CODES, JUDGES), (problems.CODES, READERS)], ids=["findings", "problems"]
)


def used(modules: Iterable[Path]) -> Iterator[str]:
    """Codes written as constants in these modules; a code copied from another finding is found where that is made."""
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                place = FIRST.get(name, len(node.args))
                for value in (*node.args[place : place + 1], *named):
                    found = (constant.value for constant in ast.walk(value) if isinstance(constant, ast.Constant))
                    yield from (constant for constant in found if isinstance(constant, str))


@TABLES
def test_codes_that_are_used_are_listed(table: Mapping[str, str], modules: list[Path]) -> None:
    assert {*used(modules)} <= table.keys()


@TABLES
def test_codes_that_are_listed_are_used(table: Mapping[str, str], modules: list[Path]) -> None:
    text = "".join(path.read_text() for path in modules)
    assert [code for code in table if f'"{code}"' not in text] == []


@TABLES
def test_codes_are_short_words_in_order_with_one_line_each(table: Mapping[str, str], modules: list[Path]) -> None:
    assert modules
    assert list(table) == sorted(table)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+){,3}", code) for code in table)
    texts = [text for entry in table.values() for text in ([entry] if isinstance(entry, str) else entry)]
    assert all(text and "\n" not in text and not text.endswith(".") for text in texts)


def test_codes_of_a_clause_are_those_of_its_judge_and_the_functions_it_calls() -> None:
    found = {clause.id: codes_of(clause.judge) for clause in CATALOGUE.values()}
    assert all(found.values())
    assert found["extender/answers"] == ("call-failed", "not-applicable", "not-called")
    assert {"infeasible-node", "not-bound-in-time"} < set(found["core/fit-cpu"])
    assert "probe-not-on-quietest" not in found["core/fit-cpu"]
    assert {code for listed in found.values() for code in listed} | codes.OF_ANY_CLAUSE >= codes.CODES.keys() - {
        "assertion-failed"  # of tests of one's own
    }
