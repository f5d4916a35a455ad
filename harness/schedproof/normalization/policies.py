"""What a scorer may do if readings are missing: the claimed policies for a node, and for all nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from schedproof.normalization.answer import Readings
from schedproof.normalization.promises import Promises

PLAUSIBLE = 1e17
"""Bytes per second (800,000 Tbit/s) that no device exceeds: a scorer may treat a larger reading as missing."""

_ALIKE = 0.1
"""As a fraction of the range of scores: scores of similar readings are no further apart, rounded or truncated on a
scale of 0 to 10.
"""


def is_reading(value: float | None) -> bool:
    """Whether a reading says how much traffic a node has."""
    return value is not None and math.isfinite(value) and 0 <= value <= PLAUSIBLE


def may_refuse(readings: Readings, promises: Promises) -> bool:
    """Whether having no scores at all is right: nothing is known of any node, and nothing else is promised for that.

    If no node has a reading, that is an outage: pods wait if `on-outage: wait` is claimed. With `on-missing:
    reject` no node is left.
    """
    unknown = not any(is_reading(value) for _, value in readings)
    return unknown and (promises.on_outage != "schedule" or promises.on_missing == "reject")


def may_skip(readings: Readings, promises: Promises) -> set[str]:
    """The nodes that a scorer may exclude."""
    if promises.on_missing == "reject" or may_refuse(readings, promises):
        return {node for node, value in readings if not is_reading(value)}
    return set()


def unlike_avoided(score: float, known: Sequence[tuple[float, float]]) -> str:
    """What is wrong with the score of a node that the policy avoids; "" if nothing.

    `known`: (reading, score) of the nodes that have a reading, at least one.
    """
    lowest = min(its for _, its in known)
    return "is to be avoided, but scores higher than a node with a sample" if score > lowest else ""


def unlike_median(score: float, known: Sequence[tuple[float, float]]) -> str:
    """What is wrong with the score of a node that competes as the median of the known nodes; "" if nothing.

    Which median (of an even number, of these nodes or of all, of readings or of scores) is not promised. So the
    score has to be between the others, and at neither end if the medians are not. For an odd number all medians are the
    same: if the median node scores like an end, so does the node. The mean does not, if one reading is far off.
    """
    scores = [its for _, its in sorted(known)]
    lowest, highest = min(scores), max(scores)
    quieter, louder = scores[(len(scores) - 1) // 2], scores[len(scores) // 2]
    if score < lowest or (score == lowest < louder):
        return "should compete as the median, but scores like the busiest or lower"
    if score > highest or (score == highest > quieter):
        return "should compete as the median, but scores like the quietest or higher"
    span = highest - lowest
    for end in (lowest, highest) if quieter == louder and len(scores) % 2 else ():
        if abs(louder - end) <= _ALIKE * span and abs(score - end) > 2 * _ALIKE * span:
            return "should compete as the median, but does not score like it"
    return ""
