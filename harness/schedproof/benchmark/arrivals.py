"""When pods arrive: at times that do not depend on earlier pods (open loop), or after a pause (one at a time)."""

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


def pauses(count: int, *, seed: int) -> list[float]:
    """Return the pause before each pod of a one-at-a-time round, as a share (0 to 1) of the longest latency so far.

    A scheduler that looks for pods at intervals binds a pod at the same phase each time. If the next pod arrived at
    once, it would always wait for a whole interval. The longest latency without a pause is about that interval, so that
    these pauses spread the arrivals evenly over it, whatever it is. For a scheduler that watches, they are as short as
    its latency.
    """
    draw = random.Random(seed)  # noqa: S311 - a repeatable schedule, not a secret
    return [draw.random() for _ in range(count)]
