"""Numbers as people read them: three significant digits, and a unit."""

from __future__ import annotations

import math

NONE = "\N{EN DASH}"
"""Where nothing was measured."""


def figures(value: float | None) -> str:
    """Three significant digits; whole numbers from 100 on, with separators."""
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
    """In the unit that suits it, from ns to s."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds == 0:
        return "0 s"
    for limit, factor, unit in ((0.9995e-6, 1e9, "ns"), (0.9995e-3, 1e6, "\N{MICRO SIGN}s"), (0.9995, 1e3, "ms")):
        if seconds < limit:
            return f"{figures(seconds * factor)} {unit}"
    return f"{figures(seconds)} s"


def data(size: float | None) -> str:
    """Bytes, in powers of 1,000."""
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
    """Two decimals between 0.1 and 10, as a measured ratio is not known better; else three digits."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.2f}" if 0.1 <= value < 9.995 else figures(value)


def times(value: float | None) -> str:
    """A ratio that stands alone."""
    text = ratio(value)
    return text if text == NONE else f"{text}\N{MULTIPLICATION SIGN}"


def percent(share: float) -> str:
    """A share of one, in whole per cent; one decimal below 10 %."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 9.95 or value == round(value) else f"{value:.1f} %"
