"""Durations in the format of Go and Prometheus ("250ms", "1m30s"), as float seconds."""

from __future__ import annotations

import re

GO_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
"""The units of Go's `time.ParseDuration`, and so of every Kubernetes API."""

UNITS = {**GO_UNITS, "d": 86_400.0, "w": 604_800.0}
"""Go's units, and those that Prometheus adds."""

_LONGEST = 2**63 / 1e9  # Go counts in int64 nanoseconds
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-zµ]+)")


def parse_duration(text: str, *, units: dict[str, float] = UNITS) -> float:
    """Return `text` in seconds.

    Raises:
        ValueError: it is not a duration; says why.
    """
    text = text.strip().replace("\u03bc", "µ")  # Go accepts both code points for mu
    if text == "0":
        return 0.0
    if text.startswith("-"):
        raise ValueError("a duration cannot be negative")
    seconds, end = 0.0, 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None:
            raise ValueError("a duration consists of numbers with units")
        number, unit = part.groups()
        if unit not in units:
            raise ValueError(f"unknown unit {unit!r}, expected one of {', '.join(units)}")
        seconds += float(number) * units[unit]
        end = part.end()
    if not text:
        raise ValueError("a duration consists of numbers with units")
    if not seconds < _LONGEST:
        raise ValueError("it exceeds 292 years, the maximum of Go's time.Duration")
    return seconds


def format_duration(seconds: float) -> str:
    """Return the shortest text that Go, and to the millisecond Prometheus, parses as `seconds`."""
    rest = round(seconds * 1e9)
    parts = []
    for unit, nanoseconds in (
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ):
        count, rest = divmod(rest, nanoseconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
