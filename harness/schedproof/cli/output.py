"""What commands say, on standard output."""

from __future__ import annotations


def say(*lines: str) -> None:
    """A line each, on standard output."""
    for line in lines:
        print(line)  # noqa: T201
