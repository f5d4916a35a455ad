"""Formats numbers for reports: three significant digits, and a unit."""

from __future__ import annotations

import math

NONE = "\N{EN DASH}"
"""Shown for values that were not measured."""


def figures(value: float | None) -> str:
    """Format with three significant digits; from 100 on as a whole number with separators."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    # Rounding may have carried into a further digit: 9.996 is 10.0, not 10.00.
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{digits}f}" if 0 < digits < 7 else f"{value:,.0f}" if digits <= 0 else f"{value:.2e}"


def duration(seconds: float | None) -> str:
    """Format seconds in a suitable unit, from ns to s."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds == 0:
        return "0 s"
    for limit, factor, unit in ((0.9995e-6, 1e9, "ns"), (0.9995e-3, 1e6, "\N{MICRO SIGN}s"), (0.9995, 1e3, "ms")):
        if seconds < limit:
            return f"{figures(seconds * factor)} {unit}"
    return f"{figures(seconds)} s"


def data(size: float | None) -> str:
    """Format bytes, in powers of 1,000."""
    if size is None or not math.isfinite(size):
        return NONE
    for limit, factor, unit in ((999.5, 1.0, "B"), (999.5e3, 1e3, "kB"), (999.5e6, 1e6, "MB")):
        if size < limit:
            return f"{figures(size / factor)} {unit}"
    return f"{figures(size / 1e9)} GB"


def throughput(pods_per_second: float | None) -> str:
    text = figures(pods_per_second)
    return text if text == NONE else f"{text} pods/s"


def ratio(value: float | None) -> str:
    """Format a ratio: two decimals between 0.1 and 10, which is as exact as measurements are; else three digits."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.2f}" if 0.1 <= value < 9.995 else figures(value)


def times(value: float | None) -> str:
    """Format a ratio with a multiplication sign, for use outside a column of ratios."""
    text = ratio(value)
    return text if text == NONE else f"{text}\N{MULTIPLICATION SIGN}"


def percent(share: float) -> str:
    """Format a share (0 to 1) in whole per cent; with a decimal below 10 %."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 9.95 or value == round(value) else f"{value:.1f} %"
