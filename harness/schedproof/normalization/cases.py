"""What scorers are asked: corner cases by hand, and hypothesis strategies for the rest.

Readings are made of few values, dealt to all nodes: what breaks scores is how values relate (ties, neighbours, one that
dwarfs the others), not how many there are; and a case of few values shrinks to something that a person can read. The
values are what Prometheus delivers: float64, so that counters beyond 2^53 lose their last digits; NaN, infinities; no
sample at all, where a series is stale or was never there; negative ones, of a difference across a reset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from schedproof.normalization.answer import Case, Readings, Surface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import Rule, Shape

_Value = float | None

_LEAST = 1e-6
"""The smallest reading but zero: a byte in eleven days. Below it, a rate is the rounding of a division."""

_USUAL = (0.0, 1.0, 10.0, 1e3, 1e6, 1.2e6, 1.4e6, 12_500_000.0, 1.25e9, 1.25e10)
"""From idle to a saturated link of 100 Gbit/s; and the readings of the published example."""

_EDGES = tuple(float(edge + step) for edge in (2**31, 2**32, 2**53) for step in (-1, 0, 1))
"""Where int32 ends, and where float64 no longer holds every integer."""

_BEYOND = tuple(float(edge + step) for edge in ((2**63 - 1) // 100, 2**63, 2**64) for step in (-1, 0, 1))
"""Where reading*100 leaves int64, and where the reading itself does."""

_HUGE = (*_EDGES, *_BEYOND, 1e20, 1e100, 2.0**1000)

_LARGEST = 5000
"""Nodes of the largest clusters that Kubernetes supports."""

_ODD: tuple[_Value, ...] = (None, math.nan, math.inf, -math.inf, -1.0, -1e6)

_SIZES = (*(2, 3, 4, 1, 5, 8, 11, 12, 16, 30) * 24, *(100, 101, 102, 257) * 8, 1000, _LARGEST)
"""Numbers of nodes: around the 11 and 101 scores that there are, and, rarely because one takes as long as a hundred
others, up to the largest clusters; a corner case is as large, in every search. Hypothesis shrinks towards the first."""


def corners(rule: Rule, surface: Surface, promises: Promises) -> list[Case]:
    """The cases that are always tried, before any others: those which published schedulers get wrong."""
    one = 1 + 2 * promises.resolution
    questions: dict[Shape, list[list[_Value]]] = {
        "any": [
            [1e6 * one**n for n in range(4)], [1.4e6, 1e6, 1.2e6], [1e6, 1e6, 4e6], [0.0, 1e6], [1.0, 2.0, 3.0],
            [1e6, 1.25e9, 0.0, 1e6 * one], [5e6 * (1 + n) for n in range(12)],
            [1e6 * (1 + n) for n in range(120)], [1e6 * (1 + n) for n in range(_LARGEST)],
        ],
        "zeros": [[0.0, 0.0], [0.0] * 4],
        "one-node": [[1e6], [0.0]],
        "huge": [
            [2.5e16, 5e16, 1e17], [1e17, 2e17, 3e17], [2.0**31, 2.0**32], [2.0**53, 2.0**54, 1.0], [1e19, 3e19, 1e6],
        ],
        "unusual": [
            [1e6, None, 4e6, 2e6], [1e6, math.nan, 4e6], [4e6, math.nan, 1e6, math.nan, 2e6], [1e6, math.inf, 4e6],
            [None, None], [1e6, -1e6, 4e6], [4e6, 1e6, 2e6, None, 8e6, 16e6], [1e6, None, 1e6, 1e9],
        ],
        "two-orders": [[1e6, 1.2e6, 1.4e6, 0.0]],
        "two-units": [[1e6, 1.2e6, 1.4e6]],
        "again": [[1e6, 4e6, 2e6]],
    }  # fmt: skip
    cases: list[Case] = []
    for values in questions[rule.shape]:
        if surface.fewest <= len(values) <= surface.most:
            readings = _name(values, surface.nodes)
            if rule.shape == "two-orders":
                cases.append((readings, readings[::-1]))
            elif rule.shape == "two-units":
                cases.append((readings, _scaled(readings, 10)))
            elif rule.shape == "again":
                cases.append((readings, _name(values[::-1], surface.nodes), readings))
                # What is counted at each question shows when each node has had its turn.
                cases.append((readings, _scaled(readings, 10), *[readings] * len(readings)))
            else:
                cases.append((readings,))
    return cases


def generated(rule: Rule, surface: Surface, promises: Promises) -> st.SearchStrategy[Case]:
    """All cases of a rule that a surface can be asked."""
    return _SHAPES[rule.shape](surface, promises.resolution)


# Values and questions.


def _sizes(surface: Surface) -> list[int]:
    return [size for size in _SIZES if surface.fewest <= size <= surface.most] or [surface.fewest]


def _usual() -> st.SearchStrategy[_Value]:
    tail = st.floats(math.log(_LEAST), math.log(1e12)).map(math.exp)
    return st.sampled_from(_USUAL) | st.integers(1, 10**7).map(float) | tail | st.sampled_from(_EDGES)


def _huge() -> st.SearchStrategy[_Value]:
    return st.sampled_from(_HUGE) | st.integers(31, 1000).map(lambda power: 2.0**power) | _usual()


def _unusual() -> st.SearchStrategy[_Value]:
    return st.sampled_from(_ODD) | _usual()


def _name(values: Sequence[_Value], nodes: Sequence[str]) -> Readings:
    names = nodes or tuple(f"node-{number}" for number in range(1, len(values) + 1))
    return tuple(zip(names, values, strict=False))


@st.composite
def _question(draw: st.DrawFn, surface: Surface, resolution: float, values: st.SearchStrategy[_Value]) -> Readings:
    """A few values and their neighbours, dealt to the nodes; or a ramp, on which every node has a value of its own."""
    count = draw(st.sampled_from(_sizes(surface)))
    palette = draw(st.lists(values, min_size=1, max_size=5))
    if count > 1 and palette[0] is not None and 0 < palette[0] < 2.0**900 and draw(st.integers(0, 7)) == 7:
        stride = draw(st.sampled_from([7, 11, 1]))
        return _name([palette[0] * (1 + number * stride % count) for number in range(count)], surface.nodes)
    # Neighbours: at the resolution's edge, and as near as two rates can be told apart.
    palette += [value * factor for value in palette if value for factor in (1 + resolution, 1 + 1e-9)]
    # All at once: a draw for each of 5,000 nodes takes as long as everything else together.
    dealt = draw(st.binary(min_size=count, max_size=count))
    return _name([palette[number % len(palette)] for number in dealt], surface.nodes)


def _scaled(readings: Readings, power: int) -> Readings:
    # By a power of two float64 loses nothing: whatever differs then is the scorer's.
    return tuple((node, reading and reading * 2.0**power) for node, reading in readings)


# Cases.


def _one(values: Callable[[], st.SearchStrategy[_Value]]) -> Callable[[Surface, float], st.SearchStrategy[Case]]:
    return lambda surface, resolution: st.tuples(_question(surface, resolution, values()))


def _zeros(surface: Surface, _resolution: float) -> st.SearchStrategy[Case]:
    # Nothing but the number of nodes: once all were asked, there is no more to ask.
    sizes = list(dict.fromkeys(_sizes(surface)))
    return st.sampled_from(sizes).map(lambda count: (_name([0.0] * count, surface.nodes),))


def _one_node(surface: Surface, _resolution: float) -> st.SearchStrategy[Case]:
    return _usual().map(lambda value: (_name([value], surface.nodes),))


@st.composite
def _two_orders(draw: st.DrawFn, surface: Surface, resolution: float) -> Case:
    readings = draw(_question(surface, resolution, _usual()))
    turn = draw(st.integers(0, len(readings) - 1))
    other = readings[turn:] + readings[:turn]
    return readings, other[::-1] if draw(st.booleans()) or not turn else other


@st.composite
def _two_units(draw: st.DrawFn, surface: Surface, resolution: float) -> Case:
    # Whole bytes, so that no unit makes them noise: a byte per second is the least difference that must be seen.
    readings = draw(_question(surface, resolution, st.sampled_from(_USUAL) | st.integers(1, 10**7).map(float)))
    return readings, _scaled(readings, draw(st.integers(1, 20)))


@st.composite
def _again(draw: st.DrawFn, surface: Surface, resolution: float) -> Case:
    first = draw(_question(surface, resolution, _usual()))
    names = [node for node, _ in first]
    others = draw(st.lists(st.lists(_usual(), min_size=1, max_size=3), min_size=1, max_size=3))
    between = tuple(tuple((name, values[n % len(values)]) for n, name in enumerate(names)) for values in others)
    return (first, *between, first)


_SHAPES: dict[Shape, Callable[[Surface, float], st.SearchStrategy[Case]]] = {
    "any": _one(_usual),
    "zeros": _zeros,
    "one-node": _one_node,
    "huge": _one(_huge),
    "unusual": _one(_unusual),
    "two-orders": _two_orders,
    "two-units": _two_units,
    "again": _again,
}
