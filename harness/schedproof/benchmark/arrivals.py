"""Arrival times of pods in an open loop: they do not depend on whether earlier pods are bound."""

from __future__ import annotations

import random


def poisson(rate: float, count: int, *, seed: int, burst: int = 1) -> list[float]:
    """Return arrival times in seconds from the start, ascending: a Poisson process of `rate` pods per second.

    `burst` pods arrive at the same moment; the bursts then form the process, and the rate of pods stays the same.
    """
    draw = random.Random(seed)  # noqa: S311 - a repeatable schedule, not a secret
    moments = []
    moment = 0.0
    for number in range(count):
        if number % burst == 0:
            moment += draw.expovariate(rate / burst)
        moments.append(moment)
    return moments
