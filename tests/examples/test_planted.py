"""Planted defects of the shipped schedulers: each can be called as what it replaces.

A defect that lags behind the scheduler raises for every pod. It is caught all the same, by clauses that any scheduler
fails that binds nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CANDIDATES = Path(__file__).parents[2] / "fixtures" / "candidates"
FILES = sorted(file for file in CANDIDATES.rglob("defective_*.py") if "\nDEFECTS = {" in file.read_text())

PROGRAM = """
import functools
import importlib
import inspect
import sys

defective = importlib.import_module(sys.argv[1])


def pairs_of(defect):
    place, attribute, replacement = defect if isinstance(defect, tuple) else (None, "", defect)
    if inspect.isclass(replacement):
        for name, function in vars(replacement).items():
            inherited = (vars(parent)[name] for parent in replacement.__mro__[1:] if name in vars(parent))
            original = next(inherited, None)
            if inspect.isfunction(function) and inspect.isfunction(original):
                yield name, original, function
    elif place is not None and not isinstance(replacement, (functools.partial, property)):
        yield attribute, getattr(place, attribute), replacement


for name, defect in defective.DEFECTS.items():
    for called, original, replacement in pairs_of(defect):
        parameters = inspect.signature(original).parameters.values()
        positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        named = {one.name: one for one in parameters if one.kind is one.KEYWORD_ONLY}
        try:
            inspect.signature(replacement).bind(*positional, **named)
        except TypeError as error:
            print(f"{name}: {called}: {error}")
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_planted_defect_takes_what_the_scheduler_passes(file: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(file.parent)!r})\n{PROGRAM}", file.stem],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert not ended.stdout
