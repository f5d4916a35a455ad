"""The layout of the package that CONTRIBUTING.md describes."""

from __future__ import annotations

import ast
from pathlib import Path

import schedproof

PACKAGE = Path(schedproof.__file__).parent
ROOMS = [path.parent for path in PACKAGE.rglob("__init__.py")]

MOST_MODULES = 20

MODULES = sorted(PACKAGE.rglob("*.py"))
LIGHT = {"cli", "pytest_plugin", "run/handed.py", "registration.py"}
"""Loaded with every command, or with every run of pytest: rooms, modules, and the modules of a name in each room."""
CIRCULAR = {"proxies/connections.py"}


def imported_for_types(module: Path) -> set[str]:
    """Our own modules that a module imports below `if TYPE_CHECKING`."""
    blocks = (node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.If))
    typing_only = (block for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING")
    imports = (node for block in typing_only for node in ast.walk(block) if isinstance(node, ast.ImportFrom))
    return {str(node.module) for node in imports if str(node.module).startswith("schedproof.")}


def test_no_room_has_more_than_twenty_modules() -> None:
    counts = {str(room.relative_to(PACKAGE)): len(list(room.glob("*.py"))) for room in ROOMS}

    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}


def test_only_modules_that_must_start_fast_import_own_modules_only_for_types() -> None:
    found = {str(module.relative_to(PACKAGE)): imported_for_types(module) for module in MODULES}

    elsewhere = {name: own for name, own in found.items() if own and not {name, *name.split("/")} & LIGHT}
    assert elsewhere.keys() == CIRCULAR
    assert any(name.startswith("cli/") and own for name, own in found.items()), "none is found"
