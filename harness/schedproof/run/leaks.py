"""What a soak shows: how much of each resource the candidate's processes hold, how it grows, and whether it leaks.

A leak is said only by what was measured, not by extrapolation. Process memory wobbles: a garbage collector returns
memory late, caches fill up, worlds differ in size. Therefore

- the warm-up is left out, the first third and at least two minutes, in which caches and pools fill;
- the rest is divided into periods of equal length, each of which counts by its lowest sample: what remained after a
  collection. Samples that follow each other closely are not independent, as the interval assumes; periods nearly are;
- a slope counts by the lower bound of its interval (`trend.slope`), and must exceed every limit of `_LIMITS`.

Too few samples, periods or pods allow no statement, and the absence of a leak is only stated up to these limits.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import pydantic

from schedproof.run.trend import LEVEL, Slope, slope
from schedproof.stimulus.worlds.soak import Soak, SoakSample

SOAK_SCHEMA: Final = "schedproof.soak/v1"
Measure = Literal["memory", "descriptors", "threads", "connections"]
MEASURES: tuple[Measure, ...] = ("memory", "descriptors", "threads", "connections")

PERIODS = 16
LEAST_PERIODS = 12
"""The periods with samples that an interval needs: a world may take longer than a period."""
WARM_UP_SHARE, WARM_UP_SECONDS = 1 / 3, 120.0
LEAST_SECONDS, LEAST_PODS = 210.0, 500
"""What has to follow the warm-up; the garbage collector of Go runs at least every two minutes."""
LEAST_MINUTES = 6
"""The shortest soak after which a statement is to be expected."""

_HOUR = 3600.0


@dataclasses.dataclass(frozen=True)
class _Limit:
    """The least growth that is a leak, by the lower bound of the interval of its slope; all must be exceeded.

    `relative` to the level, for each 1000 pods; `hourly`, relative to the level, for each hour; `least`: in the judged
    part of the soak, in units of the measure.
    """

    relative: float
    hourly: float
    least: float


_LIMITS: Mapping[Measure, _Limit] = {
    "memory": _Limit(0.02, 0.2, 4 << 20),
    **dict.fromkeys(("descriptors", "threads", "connections"), _Limit(0.02, 0.2, 8.0)),
}
"""Measured with candidates that do not leak, see docs/judge.md: 2 % are 1 kB for each pod of a process of 50 MB."""


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Rate(_Part):
    """A slope and the bounds of its interval; null if the interval is unbounded."""

    median: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, found: Slope, unit: float) -> Rate:
        """A slope for each `unit` of x."""
        low, high = (value * unit if abs(value) != float("inf") else None for value in (found.low, found.high))
        return cls(median=found.median * unit, low=low, high=high)


class Growth(_Part):
    """How what a process holds has grown after the warm-up."""

    process: str
    measure: Measure
    """`memory` is in bytes."""
    level: float
    """The median of the periods."""
    first: float
    """In the first period."""
    last: float
    per_1000_pods: Rate
    per_hour: Rate
    leaks: bool
    """Whether the lower bounds of both intervals exceed the limits."""


class SoakReport(_Part):
    """The result of a soak."""

    seconds: float
    """From the first sample to the last."""
    asked_seconds: float
    worlds: int
    pods: int
    """How many pods were created for the candidate."""
    warm_up: float
    """Seconds that are left out."""
    confidence: float = LEVEL
    growths: list[Growth] = pydantic.Field(default_factory=list)
    undecided: str = ""
    """Why no statement about leaks can be made; empty if one can be made."""

    @property
    def leaks(self) -> list[Growth]:
        return [growth for growth in self.growths if growth.leaks]


class SoakSamples(_Part):
    """soak.json: all samples of a soak."""

    version: Literal["schedproof.soak/v1"] = pydantic.Field(SOAK_SCHEMA, alias="schema")
    candidate: str
    samples: list[SoakSample]

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True)


def soak_report(soak: Soak) -> SoakReport:
    """Return what the samples show so far."""
    seconds = soak.samples[-1].seconds if soak.samples else 0.0
    warm_up = max(seconds * WARM_UP_SHARE, WARM_UP_SECONDS)
    judged = [sample for sample in soak.samples if sample.seconds >= warm_up]
    report = SoakReport(
        seconds=seconds, asked_seconds=soak.seconds, worlds=soak.worlds, pods=soak.pods, warm_up=round(warm_up, 3)
    )
    if undecided := _undecided(soak, judged, seconds - warm_up):
        return report.model_copy(update={"undecided": undecided})
    growths = [
        growth
        for process in dict.fromkeys(sample.process for sample in judged)
        for measure in MEASURES
        if (growth := _growth([s for s in judged if s.process == process], measure, warm_up, seconds)) is not None
    ]
    few = "" if growths else f"samples of fewer than {LEAST_PERIODS} of {PERIODS} periods after the warm-up"
    return report.model_copy(update={"growths": growths, "undecided": few})


def _undecided(soak: Soak, judged: Sequence[SoakSample], seconds: float) -> str:
    if not soak.samples:
        return "the candidate's processes are not visible on this machine" if soak.worlds else "nothing was sampled"
    pods = judged[-1].pods - judged[0].pods if judged else 0
    if seconds < LEAST_SECONDS:
        return f"too short: {LEAST_SECONDS:.0f} s after the warm-up are needed, {max(0.0, seconds):.0f} s were sampled"
    if pods < LEAST_PODS:
        return f"too few pods: {LEAST_PODS} after the warm-up are needed, {pods} were created"
    return ""


def _growth(samples: Sequence[SoakSample], measure: Measure, begin: float, end: float) -> Growth | None:
    """Return how a process' measure has grown; None if it is not known in enough periods."""
    lowest: dict[int, tuple[float, SoakSample]] = {}
    for sample in samples:
        value, period = (
            getattr(sample, measure),
            min(PERIODS - 1, int((sample.seconds - begin) / (end - begin) * PERIODS)),
        )
        if value is not None and (period not in lowest or value < lowest[period][0]):
            lowest[period] = float(value), sample
    if len(lowest) < LEAST_PERIODS:
        return None
    values = [value for value, _ in lowest.values()]
    by_pods = Rate.of(slope([sample.pods for _, sample in lowest.values()], values), 1000)
    by_time = Rate.of(slope([sample.seconds for _, sample in lowest.values()], values), _HOUR)
    level, limit = statistics.median(values), _LIMITS[measure]
    leaks = (
        by_pods.low is not None
        and by_time.low is not None
        and by_pods.low > limit.relative * level
        and by_time.low > limit.hourly * level
        and by_time.low * (end - begin) / _HOUR > limit.least
    )
    return Growth(
        process=samples[0].process, measure=measure, level=level, first=values[0], last=values[-1],
        per_1000_pods=by_pods, per_hour=by_time, leaks=leaks,
    )  # fmt: skip
