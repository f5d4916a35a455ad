"""The shipped suites as tests of a scheduler's own repository, in one line: `from schedproof.suites import *`.

Each clause is one function, named after it: `core/binds` is `test_core_binds`. They are the functions in `suites/`
themselves; the pytest plugin needs `--sched-candidate`, on the command line or in a pytest.ini's addopts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from schedproof.foundation.content import content


def _tests() -> Iterator[tuple[str, Callable[..., Any]]]:
    folder = content("suites")
    for file in sorted(folder.rglob("test_*.py")):
        if file.parent.name == "benchmark":
            continue
        for value in _load(file, "_".join(file.relative_to(folder).with_suffix("").parts)).values():
            for mark in getattr(value, "pytestmark", ()):
                if mark.name == "clause":
                    # Not by its own name, which only its folder makes unique.
                    yield "test_" + mark.args[0].replace("/", "_").replace("-", "_"), value


def _load(file: Path, name: str) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


globals().update(_tests())
# A star must bring the tests, and nothing else.
__all__ = [name for name in globals() if name.startswith("test_")]
