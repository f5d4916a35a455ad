"""Output of commands, on standard output."""

from __future__ import annotations


def say(*lines: str) -> None:
    """Print lines to standard output."""
    for line in lines:
        print(line)  # noqa: T201
