"""What a soak shows: how much of each resource the candidate's processes hold, how it grows, and whether it leaks.

A leak is said only by what was measured, not by extrapolation. Process memory wobbles: a garbage collector returns
memory late, caches fill up, worlds differ in size. Therefore

- the warm-up is left out, the first third and at least two minutes, in which caches and pools fill;
- the rest is divided into periods of equal length, each of which counts by its lowest sample: what remained after a
  collection. Samples that follow each other closely are not independent, as the interval assumes; periods nearly are;
- a slope counts by the lower bound of its interval (`trend.slope`), and must exceed three limits: the growth for each
  1000 pods, relative to the first sample; the growth for each hour, likewise; and the growth in the judged part.

Growth is compared with the first sample, not with the level: what has leaked would hide itself.

What is kept for some minutes grows like a leak until then. kube-scheduler keeps each event for 6 to 12 minutes
(`finishTime` in k8s.io/client-go/tools/events/event_broadcaster.go): in soaks of 6 minutes, it grew by 6 kB for each
pod, 8 % of its first sample for each 1000 pods. The limit for each 1000 pods is therefore high, unless the warm-up is
longer. Too few samples, periods or pods allow no statement, and the absence of a leak is only stated up to these
limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import pydantic

from schedproof.documents.part import Part
from schedproof.recording.soak import Soak, SoakSample
from schedproof.run.trend import LEVEL, Slope, slope

SOAK_SCHEMA: Final = "schedproof.soak/v1"
Measure = Literal["memory", "descriptors", "threads", "connections"]
MEASURES: tuple[Measure, ...] = ("memory", "descriptors", "threads", "connections")

PERIODS = 16
LEAST_PERIODS = 12
"""The periods with samples that an interval needs: a world may take longer than a period."""
WARM_UP_SHARE, WARM_UP_SECONDS = 1 / 3, 120.0
LEAST_SECONDS, LEAST_PODS = 210.0, 500
"""What has to follow the warm-up; the garbage collector of Go runs at least every two minutes."""

_HOUR = 3600.0


KEEPING_SECONDS = 720.0
"""How long the unchanged kube-scheduler keeps what it keeps of a pod."""
LIMIT, LIMIT_WHILE_KEEPING = 0.02, 0.15
"""The most growth for each 1000 pods that is no leak, as a share of the first sample; the second where the warm-up is
shorter than `KEEPING_SECONDS`. 2 % are 1 kB for each pod of a process of 50 MB.
"""
_HOURLY = 0.2
"""Likewise for each hour."""
_LEAST: Mapping[Measure, float] = {"memory": 4 << 20, "descriptors": 8, "threads": 8, "connections": 8}
"""The most growth in the judged part that is no leak: a pool may grow by a few, a heap by some spans."""


class Rate(Part):
    """A slope and the bounds of its interval; null if the interval is unbounded."""

    median: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, found: Slope, unit: float) -> Rate:
        """A slope for each `unit` of x."""
        low, high = (value * unit if abs(value) != float("inf") else None for value in (found.low, found.high))
        return cls(median=found.median * unit, low=low, high=high)


class Growth(Part):
    """How what a process holds has grown after the warm-up."""

    process: str
    measure: Measure
    """`memory` is in bytes."""
    begin: float
    """In the first sample, with which growth is compared."""
    first: float
    """In the first period after the warm-up, its lowest sample; `last` likewise."""
    last: float
    per_1000_pods: Rate
    per_hour: Rate
    leaks: bool
    """Whether the lower bounds of both intervals exceed the limits."""


class SoakReport(Part):
    """The result of a soak."""

    seconds: float
    """From the first sample to the last."""
    asked_seconds: float
    worlds: int
    pods: int
    """How many pods were created for the candidate."""
    warm_up: float
    """Seconds that are left out."""
    limit: float
    """The most growth for each 1000 pods that is no leak, as a share of the first sample."""
    confidence: float = LEVEL
    growths: list[Growth] = pydantic.Field(default_factory=list)
    undecided: str = ""
    """Why no statement about leaks can be made; empty if one can be made."""

    cut_short: str = ""
    """Why worlds were generated for less than the time that was asked for; empty if they were not."""

    @property
    def unproved(self) -> str:
        """What the soak does not show; empty if it shows all that was asked for."""
        if self.undecided:
            return f"no statement about leaks can be made: {self.undecided}"
        if self.cut_short:
            return f"soaked for {self.seconds / 60:.1f} of {self.asked_seconds / 60:g} min: {self.cut_short}"
        return ""

    @property
    def leaks(self) -> list[Growth]:
        return [growth for growth in self.growths if growth.leaks]


class SoakSamples(Part):
    """soak.json: all samples of a soak."""

    version: Literal["schedproof.soak/v1"] = pydantic.Field(SOAK_SCHEMA, alias="schema")
    candidate: str
    samples: list[SoakSample]


def soak_report(soak: Soak) -> SoakReport:
    """Return what the samples show so far."""
    seconds = soak.samples[-1].seconds if soak.samples else 0.0
    warm_up = max(seconds * WARM_UP_SHARE, WARM_UP_SECONDS)
    judged = [sample for sample in soak.samples if sample.seconds >= warm_up]
    limit = LIMIT if warm_up >= KEEPING_SECONDS else LIMIT_WHILE_KEEPING
    report = SoakReport(
        limit=limit,
        seconds=seconds,
        asked_seconds=soak.seconds,
        worlds=soak.worlds,
        pods=soak.pods,
        warm_up=round(warm_up, 3),
        cut_short=soak.cut_short,
    )
    if undecided := _undecided(soak, judged, seconds - warm_up):
        return report.model_copy(update={"undecided": undecided})
    growths = [
        growth
        for process in dict.fromkeys(sample.process for sample in judged)
        for measure in MEASURES
        if (growth := _growth([s for s in soak.samples if s.process == process], measure, report)) is not None
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


def _growth(samples: Sequence[SoakSample], measure: Measure, report: SoakReport) -> Growth | None:
    """Return how a process' measure has grown; None if it is not known in enough periods."""
    judged_seconds, lowest = report.seconds - report.warm_up, dict[int, tuple[float, SoakSample]]()
    for sample in samples:
        value, since = getattr(sample, measure), sample.seconds - report.warm_up
        period = min(PERIODS - 1, int(since / judged_seconds * PERIODS))
        if value is not None and since >= 0 and (period not in lowest or value < lowest[period][0]):
            lowest[period] = float(value), sample
    if len(lowest) < LEAST_PERIODS:
        return None
    values, begin = [value for value, _ in lowest.values()], float(getattr(samples[0], measure) or 0)
    by_pods = slope([sample.pods for _, sample in lowest.values()], values)
    by_time = slope([sample.seconds for _, sample in lowest.values()], values)
    leaks = (
        by_pods.low * 1000 > report.limit * begin
        and by_time.low * _HOUR > _HOURLY * begin
        and by_time.low * judged_seconds > _LEAST[measure]
    )
    return Growth(
        process=samples[0].process, measure=measure, begin=begin, first=values[0], last=values[-1],
        per_1000_pods=Rate.of(by_pods, 1000), per_hour=Rate.of(by_time, _HOUR), leaks=leaks,
    )  # fmt: skip
