"""The layout of the package that CONTRIBUTING.md describes."""

from __future__ import annotations

from pathlib import Path

import schedproof

PACKAGE = Path(schedproof.__file__).parent
ROOMS = [path.parent for path in PACKAGE.rglob("__init__.py")]

MOST_MODULES = 20


def test_no_room_has_more_than_twenty_modules() -> None:
    counts = {str(room.relative_to(PACKAGE)): len(list(room.glob("*.py"))) for room in ROOMS}

    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}
