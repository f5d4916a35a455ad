"""One line of a diagnosis."""

from __future__ import annotations

import dataclasses

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Check:
    """`remedy` is empty if there is nothing to do."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
