"""Critical values of Student's t distribution; the standard library has only the normal distribution."""

from __future__ import annotations

import math

_HALVINGS = 200
"""Bisections: enough to reach the precision of a float64 from any interval."""


def critical(level: float, degrees: int) -> float:
    """Return the t for which a variable with `degrees` of freedom lies between -t and t with probability `level`."""
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        if _within(angle, degrees) < level:
            low = angle
        else:
            high = angle
    return math.sqrt(degrees) * math.tan(low)


def _within(angle: float, degrees: int) -> float:
    """P(|T| <= t) with t = sqrt(degrees) * tan(angle): Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for step in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * step / (step + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
