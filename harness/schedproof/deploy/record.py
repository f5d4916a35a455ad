"""The interface by which a deployed candidate's events are recorded."""

from __future__ import annotations

from typing import Any, Protocol


class Recording(Protocol):
    """Takes records of the history: `kind`, then its fields."""

    def __call__(self, kind: str, **fields: Any) -> None: ...


def discard(kind: str, **fields: Any) -> None:
    """A `Recording` that keeps nothing."""
