"""When pods arrive in an open loop: by a clock, whatever has become of those before."""

from __future__ import annotations

import random


def poisson(rate: float, count: int, *, seed: int, burst: int = 1) -> list[float]:
    """Seconds from the start, ascending: a Poisson process of `rate` pods per second.

    `burst` pods arrive at the same moment; then the bursts are the process, and the rate of pods is the same.
    """
    draw = random.Random(seed)  # noqa: S311 - a schedule to be repeated, not a secret
    moments = []
    moment = 0.0
    for number in range(count):
        if number % burst == 0:
            moment += draw.expovariate(rate / burst)
        moments.append(moment)
    return moments
