"""Loads the programs of candidates and templates as running them does: they are to be copied, and are no packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace


def load(folder: Path, *names: str, beside: Mapping[str, ModuleType] = MappingProxyType({})) -> SimpleNamespace:
    """Return modules of a folder, by default all. `beside` has modules of other folders that they import.

    Afterwards their names, which are not unique, are free again.
    """
    names = names or tuple(sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("test_")))
    before = {name: sys.modules.pop(name) for name in (*names, *beside) if name in sys.modules}
    path = list(sys.path)
    sys.path.insert(0, str(folder))
    sys.modules.update(beside)
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path[:] = path
        for name in (*names, *beside):
            sys.modules.pop(name, None)
        sys.modules.update(before)
