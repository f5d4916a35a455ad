"""What the readers of bench.json's document have in common: its trials, what is valid in them, and what is doubted.

The document is a plain dict (`schedproof.bench/v1`). Every list in it may be empty, and a part that was not measured
may be missing. Moments and durations are seconds, memory is bytes.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from typing import TYPE_CHECKING, Any

from schedproof.report.bench.units import duration, throughput
from schedproof.report.counted import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "METRICS",
    "BenchTrial",
    "Doubts",
    "Metric",
    "baseline",
    "candidates",
    "confidence",
    "cpu_per_pod",
    "doubts",
    "trials",
    "troubles",
    "typical",
    "valid",
]

Json = Any
"""A part of the document. What is in it is said where it is written: `benchmark` measures, this package shows."""


def troubles(document: Json) -> list[str]:
    """Why not all that was asked for was measured: candidates that could not be brought up, and what broke down."""
    run = document.get("run") or {}
    found = [f"{one['workload']}, {one['candidate']}: {one['said']}" for one in run.get("broken") or ()]
    return [*found, *([str(run["error"])] if run.get("error") else [])]


@dataclasses.dataclass(frozen=True)
class Metric:
    """What is compared. `of` takes a round."""

    name: str
    better: str
    of: Callable[[Json], float | None]
    show: Callable[[float | None], str]


def _latency(name: str) -> Callable[[Json], float | None]:
    return lambda one: (one.get("latency") or {}).get(name)


def cpu_per_pod(one: Json, process: str) -> float | None:
    """CPU seconds that a process took for each pod.

    A round's `usage` says so where it does not begin to count with the round's first pod; else it is over all pods.
    """
    usage, bound = one["usage"][process], one.get("bound")
    if (told := usage.get("cpu_per_pod")) is not None:
        return float(told)
    return float(usage["cpu"] / bound) if bound else None


def _own_cpu_per_pod(one: Json) -> float | None:
    """Of the candidate's own processes (`own_processes`): what the apiserver does is not its alone."""
    usage = one.get("usage") or {}
    own = [cpu_per_pod(one, process) for process in one.get("own_processes") or () if process in usage]
    return math.fsum(cpu for cpu in own if cpu is not None) if own and None not in own else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "higher", lambda one: one.get("throughput"), throughput),
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
    measurements: tuple[Json, ...]
    comparisons: tuple[Json, ...]

    @property
    def title(self) -> str:
        return self.mode if self.rate is None else f"{self.mode}, {self.rate:g} pods/s"

    @property
    def anchor(self) -> str:
        """An id for HTML."""
        return f"trial{self.number}"

    @property
    def lead(self) -> Metric:
        """The metric that answers who is faster in this mode."""
        compared = [one["metric"] for one in self.comparisons]
        name = _LEAD.get(self.mode, "throughput")
        return METRICS[name if name in compared or not compared or compared[0] not in METRICS else compared[0]]

    def of(self, candidate: str) -> Json | None:
        """What was measured of a candidate."""
        return next((one for one in self.measurements if one["candidate"] == candidate), None)

    def compared(self, candidate: str, metric: str) -> Json | None:
        for one in self.comparisons:
            if (one["candidate"], one["metric"]) == (candidate, metric):
                return one
        return None


def trials(document: Json) -> list[BenchTrial]:
    """In the order in which they were measured, workload by workload."""
    keys: dict[tuple[str, str, float | None], tuple[list[Json], list[Json]]] = {}
    for place, part in enumerate(("measurements", "comparisons")):
        for one in document.get(part) or ():
            keys.setdefault((one["workload"], one["mode"], one.get("rate")), ([], []))[place].append(one)
    workloads = list(dict.fromkeys(key[0] for key in keys))
    ordered = sorted(keys, key=lambda key: workloads.index(key[0]))
    names = candidates(document)

    # Rounds are run in random order, and read in one order.
    def listed(ones: list[Json]) -> tuple[Json, ...]:
        return tuple(sorted(ones, key=lambda one: names.index(one["candidate"])))

    return [BenchTrial(number, *key, *map(listed, keys[key])) for number, key in enumerate(ordered)]


def candidates(document: Json) -> list[str]:
    """All names, the baseline first."""
    names = [one["name"] for one in document.get("candidates") or ()]
    for part in ("measurements", "comparisons", "knees", "scaling", "phases", "queries"):
        names += [one["candidate"] for one in document.get(part) or ()]
    first = baseline(document)
    return sorted(dict.fromkeys(names), key=lambda name: name != first)


def baseline(document: Json) -> str:
    return str((document.get("run") or {}).get("baseline") or "stock")


def confidence(document: Json) -> str:
    """The level of the intervals, such as `99 %`."""
    return f"{100 * (1 - float((document.get('run') or {}).get('alpha') or 0.01)):g} %"


def valid(measurement: Json | None) -> list[Json]:
    """The rounds whose numbers count: also those in which the scheduler is at least as fast, or at most, as measured.

    Without these, what is left would be the slower rounds, or the faster ones.
    """
    rounds = (measurement or {}).get("rounds") or ()
    return [one for one in rounds if not one.get("invalid") or one.get("limit") in ("faster", "slower")]


def typical(measurement: Json | None, metric: Metric) -> float | None:
    """The median over the valid rounds."""
    values = [value for one in valid(measurement) if (value := metric.of(one)) is not None]
    return statistics.median(values) if values else None


def doubts(measurement: Json | None) -> Doubts:
    rounds: Sequence[Mapping[str, Any]] = (measurement or {}).get("rounds") or ()
    return Doubts(
        rounds=len(rounds),
        invalid=sum(bool(one.get("invalid")) for one in rounds),
        wrong=sum(len(one.get("wrong") or ()) for one in rounds),
        wrong_rounds=sum(bool(one.get("wrong")) for one in rounds),
        unaccounted=sum(one.get("unaccounted") or 0 for one in rounds),
    )
