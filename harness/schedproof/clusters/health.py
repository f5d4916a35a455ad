"""What a diagnosis of this machine says of one thing that runs need."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Check:
    """`remedy` is empty if there is nothing to do."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class Health:
    """What a kind of cluster needs of this machine beside binaries."""

    checks: Sequence[Check] = ()
    building: bool = False
    """Whether some of it will be built here, which takes space."""


def gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
