"""What the readers of bench.json's document have in common: its trials, what is valid in them, and what is doubted.

Every list of the document (`benchmark.results`) may be empty.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterable
from typing import TypeVar

from schedproof.benchmark.results import BenchDocument, Comparison, InSetting, Measured, Measurement, RoundResult
from schedproof.foundation.counted import counted
from schedproof.report.bench.units import duration, throughput

_Part = TypeVar("_Part", Measurement, Comparison)


def troubles(document: BenchDocument) -> list[str]:
    """Why not all that was asked for was measured: candidates that could not be brought up, and what broke down."""
    run = document.run
    return [
        *(f"{one.workload}, {one.candidate}: {one.said}" for one in run.broken),
        *([run.error] if run.error else []),
    ]


@dataclasses.dataclass(frozen=True)
class Metric:
    """What is compared, and its value in a round."""

    name: str
    better: str
    of: Callable[[RoundResult], float | None]
    show: Callable[[float | None], str]


def _latency(name: str) -> Callable[[RoundResult], float | None]:
    return lambda one: getattr(one.latency, name)


def cpu_per_pod(one: RoundResult, process: str) -> float | None:
    """CPU seconds that a process took for each pod.

    A round's `usage` says so where it does not begin to count with the round's first pod; else it is over all pods.
    """
    usage = one.usage[process]
    if usage.cpu_per_pod is not None:
        return usage.cpu_per_pod
    return usage.cpu / one.bound if one.bound else None


def _own_cpu_per_pod(one: RoundResult) -> float | None:
    """Of the candidate's own processes (`own_processes`): what the apiserver does is not its alone."""
    own = [cpu_per_pod(one, process) for process in one.own_processes if process in one.usage]
    return math.fsum(cpu for cpu in own if cpu is not None) if own and None not in own else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "higher", lambda one: one.throughput, throughput),
        *(Metric(name, "lower", _latency(name), duration) for name in ("mean", "p50", "p90", "p95", "p99", "max")),
        Metric("cpu per pod", "lower", _own_cpu_per_pod, duration),
    )
}
_LEAD = {"drain": "throughput", "open-loop": "p99", "one-at-a-time": "p50"}
"""What a mode is about."""


@dataclasses.dataclass(frozen=True)
class Doubts:
    """What is wrong with what a candidate has shown in a trial; its numbers are shown with this beside them."""

    rounds: int
    invalid: int
    wrong: int
    """Placements that broke a rule, in all rounds."""
    wrong_rounds: int
    unaccounted: int
    """Pods whose fate is unknown."""

    @property
    def short(self) -> list[tuple[str, str]]:
        """As `words`, for where there is little room; what is invalid altogether needs no count."""
        found = [("wrong", "WRONG")] if self.wrong or self.unaccounted else []
        some = 0 < self.invalid < self.rounds
        return [*found, ("invalid", f"{self.invalid} of {self.rounds} invalid")] if some else found

    @property
    def words(self) -> list[tuple[str, str]]:
        """Kind (`wrong`, `invalid`) and text; the worst first."""
        found = []
        if self.wrong:
            found.append(
                ("wrong", f"WRONG: {counted(self.wrong, 'violation')} in {counted(self.wrong_rounds, 'round')}")
            )
        if self.unaccounted:
            found.append(("wrong", f"{counted(self.unaccounted, 'pod')} unaccounted for"))
        if self.invalid:
            found.append(("invalid", f"{self.invalid} of {counted(self.rounds, 'round')} invalid"))
        return found


@dataclasses.dataclass(frozen=True)
class BenchTrial:
    """One workload in one mode, at one rate where the mode has one (pods/s): all candidates beside each other."""

    number: int
    """Its own in a document."""
    workload: str
    mode: str
    rate: float | None
    measurements: tuple[Measurement, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def title(self) -> str:
        return self.mode if self.rate is None else f"{self.mode}, {self.rate:g} pods/s"

    @property
    def anchor(self) -> str:
        """An id for HTML."""
        return f"trial{self.number}"

    @property
    def lead(self) -> Metric:
        """The metric that shows which candidate is faster in this mode."""
        compared = [one.metric for one in self.comparisons]
        name = _LEAD.get(self.mode, "throughput")
        return METRICS[name if name in compared or not compared or compared[0] not in METRICS else compared[0]]

    def of(self, candidate: str) -> Measurement | None:
        """What was measured of a candidate."""
        return next((one for one in self.measurements if one.candidate == candidate), None)

    def compared(self, candidate: str, metric: str) -> Comparison | None:
        for one in self.comparisons:
            if (one.candidate, one.metric) == (candidate, metric):
                return one
        return None


def trials(document: BenchDocument) -> list[BenchTrial]:
    """In the order in which they were measured, workload by workload."""
    parts: list[InSetting] = [*document.measurements, *document.comparisons]
    workloads = list(dict.fromkeys(one.workload for one in parts))
    settings = dict.fromkeys((one.workload, one.mode, one.rate) for one in parts)
    names = candidates(document)

    # Rounds are run in random order, and read in one order.
    def listed(ones: Iterable[_Part], setting: tuple[str, str, float | None]) -> tuple[_Part, ...]:
        found = (one for one in ones if (one.workload, one.mode, one.rate) == setting)
        return tuple(sorted(found, key=lambda one: names.index(one.candidate)))

    return [
        BenchTrial(number, *setting, listed(document.measurements, setting), listed(document.comparisons, setting))
        for number, setting in enumerate(sorted(settings, key=lambda setting: workloads.index(setting[0])))
    ]


def candidates(document: BenchDocument) -> list[str]:
    """All names, the baseline first."""
    measured: list[Measured] = [
        *document.measurements, *document.comparisons, *document.knees, *document.scaling, *document.phases,
        *document.queries,
    ]  # fmt: skip
    names = [*(one.name for one in document.candidates), *(one.candidate for one in measured)]
    return sorted(dict.fromkeys(names), key=lambda name: name != document.run.baseline)


def confidence(document: BenchDocument) -> str:
    """The level of the intervals, such as `99 %`."""
    return f"{100 * (1 - document.run.alpha):g} %"


def valid(measurement: Measurement | None) -> list[RoundResult]:
    """The rounds whose numbers count: also those in which the scheduler is at least as fast, or at most, as measured.

    Without these, what is left would be the slower rounds, or the faster ones.
    """
    rounds = measurement.rounds if measurement is not None else []
    return [one for one in rounds if not one.invalid or one.limit in ("faster", "slower")]


def typical(measurement: Measurement | None, metric: Metric) -> float | None:
    """The median over the valid rounds."""
    values = [value for one in valid(measurement) if (value := metric.of(one)) is not None]
    return statistics.median(values) if values else None


def doubts(measurement: Measurement | None) -> Doubts:
    rounds = measurement.rounds if measurement is not None else []
    return Doubts(
        rounds=len(rounds),
        invalid=sum(bool(one.invalid) for one in rounds),
        wrong=sum(len(one.wrong) for one in rounds),
        wrong_rounds=sum(bool(one.wrong) for one in rounds),
        unaccounted=sum(one.unaccounted for one in rounds),
    )
