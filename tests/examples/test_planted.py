"""Planted defects of the reference controller: each can be called as what it replaces.

A defect that lags behind the controller raises for every pod. It is caught all the same, by clauses that any scheduler
fails that binds nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CANDIDATES = Path(__file__).parents[2] / "fixtures" / "candidates"

PROGRAM = """
import functools
import inspect
import defective_controller

for name, (place, attribute, replacement) in defective_controller.DEFECTS.items():
    if isinstance(replacement, functools.partial):
        continue
    original = getattr(place, attribute)
    pairs = [(attribute, original, replacement)]
    if inspect.isclass(original) and inspect.isclass(replacement):
        pairs = [
            (method, getattr(original, method), function)
            for method, function in vars(replacement).items()
            if inspect.isfunction(function) and inspect.isfunction(getattr(original, method, None))
        ]
    for called, before, after in pairs:
        parameters = inspect.signature(before).parameters.values()
        positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        named = {one.name: one for one in parameters if one.kind is one.KEYWORD_ONLY}
        try:
            inspect.signature(after).bind(*positional, **named)
        except TypeError as error:
            print(f"{name}: {called}: {error}")
"""


def test_a_planted_controller_takes_what_the_reference_controller_passes() -> None:
    folders = [str(CANDIDATES / name) for name in ("defects", "least-traffic-controller")]
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}\n{PROGRAM}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not ended.stdout
