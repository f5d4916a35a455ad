"""`schedproof explain`: a clause's guarantee, how it is tried, what breaks it; what a version of Kubernetes asks."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from schedproof.candidate.profiles import profile_of
from schedproof.candidate.shipped import shipped_names
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.codes import CODES
from schedproof.judge.feature_gates import load_gates, minors
from schedproof.judge.verdict import codes_of

_WIDTH = 110
_DEFECTS = 5
"""The largest number of planted defects that are named."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Explanations of a clause from docstrings (with their paragraphs) and planted defects."""

    clause: Clause
    claimed: str
    stimulus: str
    test: str
    """The suite's file and function, in pytest's notation."""
    holds_if: str
    to_fix: str
    defects: tuple[tuple[str, str], ...]
    """Planted candidates that fail it, and their defects; those with a single defect first."""
    codes: tuple[str, ...]
    """The codes that its findings may have; see `schedproof.judge.codes`."""


def explain(clause: Clause) -> Explanation:
    """Collect what the catalogue, the suites, the judges and the planted defects say about a clause."""
    test, stimulus = _suite()[clause.id]
    return Explanation(
        clause, _claimed(clause), stimulus, test, _promise(clause), clause.hint,
        tuple(_defects(clause.id)), codes_of(clause.judge),
    )  # fmt: skip


def _promise(clause: Clause) -> str:
    """The docstring of the judge, without its arguments."""
    return (inspect.getdoc(clause.judge) or "").split("\n\nArgs:")[0]


def explanation(clause: Clause) -> Iterator[str]:
    """Lines of text."""
    known = explain(clause)
    yield f"{clause.id} ({clause.level}, profile {profile_of(clause.id)})"
    yield from _wrapped(clause.guarantee, indent="  ")
    yield ""
    for name, text in (
        ("source", clause.source),
        ("claimed", known.claimed),
        *(
            [("version", f"Kubernetes {load_gates()[clause.gate].since} and later ({clause.gate})")]
            if clause.gate
            else []
        ),
        ("needs", ", ".join(sorted(clause.needs)) or "no particular capability of the cluster"),
        *([("waits for", ", ".join(sorted(clause.stands_on)))] if clause.stands_on else []),
        ("tried", known.stimulus),
        ("by", known.test),
        ("holds if", known.holds_if),
        ("to fix", known.to_fix),
    ):
        first, *others = _wrapped(text, indent=" " * 11) or [""]
        yield f"{name + ':':<11}{first.strip()}"
        yield from others
    yield "findings, if it does not pass:"
    for code in known.codes:
        yield from _wrapped(f"- {code}: {CODES[code].meaning}", indent="  ")
        yield from _wrapped(f"fix: {CODES[code].remedy}", indent="      ")
    if known.defects:
        yield "example defects:"
        for candidate, defect in known.defects[:_DEFECTS]:
            yield from _wrapped(f"- {defect} ({candidate})", indent="  ")
        if known.defects[0][0] in shipped_names():  # a wheel has no planted candidates
            yield f"see it fail: schedproof run {known.defects[0][0]} --clause {clause.id}"
    yield f"try yours:   schedproof run candidate.yaml --clause {clause.id}"


def explain_minor(minor: str) -> Iterator[str]:
    """Lines of text: what a minor version of Kubernetes asks of a scheduler, and what judges it.

    Raises:
        UsageError: it is not among the versions whose feature gates are listed.
    """
    if minor not in minors():
        raise UsageError(f"--minor {minor}: not a listed version of Kubernetes", remedy=f"one of {', '.join(minors())}")
    gates = load_gates().values()
    groups = {
        f"on by default since {minor}": [gate for gate in gates if gate.is_new(minor)],
        "on by default before": [gate for gate in gates if gate.is_on(minor) and not gate.is_new(minor)],
        "off by default": [gate for gate in gates if minor in gate.stages and not gate.is_on(minor)],
    }
    for heading, members in groups.items():
        yield f"{heading}: {len(members)} feature gates"
        for gate in members:
            judged = f"judged by {', '.join(gate.clauses)}" if gate.clauses else ""
            stage = gate.stages.get(minor, "on for good")
            yield from _wrapped(f"{gate.name} ({stage}): {'; '.join(filter(None, (judged, gate.why)))}", indent="  ")


def _wrapped(text: str, *, indent: str) -> list[str]:
    text = " ".join(text.split())
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _claimed(clause: Clause) -> str:
    if clause.always:
        return "judged in every run"
    features = f" and the feature {', '.join(sorted(clause.features))}" if clause.features else ""
    return f"by the profile {profile_of(clause.id)}{features}"


@functools.cache
def _suite() -> dict[str, tuple[str, str]]:
    """Clause to its test and the test's docstring. Read, not imported: suites need pytest's plugin."""
    folder = content("suites")
    found = {}
    for file in folder.rglob("test_*.py"):
        for function in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(function, ast.FunctionDef) and (clause := _clause_of(function)) in CATALOGUE:
                test = f"{file.relative_to(folder.parent)}::{function.name}"
                found[clause] = test, ast.get_docstring(function) or ""
    return found


def _clause_of(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.clause":
            argument = decorator.args[0]
            return str(argument.value) if isinstance(argument, ast.Constant) else ""
    return ""


def _defects(clause: str) -> list[tuple[str, str]]:
    """Planted candidates that fail it, and their defects; those with a single defect first."""
    found = [(planted["candidate"], planted["defect"]) for planted in _planted() if clause in planted["fails"]]
    return sorted(found, key=lambda planted: planted[0].endswith("as-published"))


@functools.cache
def _planted() -> Sequence[Mapping[str, Any]]:
    """The table of planted defects, read once: the site explains all clauses, and reading took most of its 5 s."""
    document: list[dict[str, Any]] = yaml.safe_load(content("fixtures", "defects.yaml").read_text(encoding="utf-8"))
    return document
