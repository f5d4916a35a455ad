"""Resource quantities ("1500m", "2Gi", "1e3") as exact numbers.

The grammar is that of k8s.io/apimachinery/pkg/api/resource/quantity.go: a decimal number with one suffix,
which is a power of ten (n u m k M G T P E), a power of two (Ki Mi Gi Ti Pi Ei) or an exponent (e3, E-3).
"E" alone is exa; with digits behind it it is an exponent.
"""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[a-zA-Z]*))"
)
_LARGEST = Fraction(2**63 - 1)
_SMALLEST = Fraction(1, 10**9)


def parse_quantity(quantity: str | float) -> Fraction:
    """The exact number that a quantity means; JSON numbers are quantities too.

    As in Kubernetes, what is finer than a billionth is rounded away from zero to the next billionth ("if
    you want some resources, you should get some"), and magnitudes above 2^63-1 are capped there. A
    `ValueError` says why it is not a quantity.
    """
    return _parse(quantity if isinstance(quantity, str) else repr(quantity))


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Fraction:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity: expected a number with one suffix, such as 250m, 2Gi or 1e3")
    suffix, exponent = match["suffix"], match["exponent"]
    if suffix in _BINARY:
        scale = Fraction(2 ** _BINARY[suffix])
    elif exponent is not None or suffix in _DECIMAL:
        power = int(exponent) if exponent is not None else _DECIMAL[suffix]
        # Beyond this many places the result is capped or rounded, whatever the digits: no huge powers.
        limit = len(text) + 20
        scale = Fraction(10) ** max(-limit, min(limit, power))
    else:
        known = " ".join([*filter(None, _DECIMAL), *_BINARY])
        raise ValueError(f"{text!r} is not a quantity: the suffix {suffix!r} is none of {known}")
    exact = Fraction(match["number"]) * scale
    magnitude = min(_LARGEST, math.ceil(abs(exact) / _SMALLEST) * _SMALLEST)
    return magnitude if exact >= 0 else -magnitude


def milli(quantity: Fraction) -> int:
    """Thousandths, rounded up: the unit in which the scheduler counts cpu."""
    return math.ceil(quantity * 1000)


def whole(quantity: Fraction) -> int:
    """Whole units, rounded up: the unit in which the scheduler counts everything but cpu."""
    return math.ceil(quantity)


def format_bytes(count: int) -> str:
    """The same count with the largest binary suffix that leaves a whole number: 1536Mi for 1610612736."""
    for suffix, power in reversed(_BINARY.items()):
        if count and count % 2**power == 0:
            return f"{count // 2**power}{suffix}"
    return str(count)
