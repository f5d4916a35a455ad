"""What the reports of a benchmark share: its trials, their valid rounds, and doubts about them.

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
    """Return why results are missing: candidates that did not start or restart, and the error that ended the run."""
    run = document.run
    return [
        *(f"{broken.workload}, {broken.candidate}: {broken.said}" for broken in run.broken),
        *([run.error] if run.error else []),
    ]


@dataclasses.dataclass(frozen=True)
class Metric:
    """A compared quantity, and its value in a round."""

    name: str
    better: str
    of: Callable[[RoundResult], float | None]
    show: Callable[[float | None], str]


def _latency(name: str) -> Callable[[RoundResult], float | None]:
    return lambda round_: getattr(round_.latency, name)


def cpu_per_pod(round_: RoundResult, process: str) -> float | None:
    """Return the CPU seconds that a process used for each pod.

    Older rounds have no `cpu_per_pod` in their `usage`: there it is the CPU time divided by all bound pods.
    """
    usage = round_.usage[process]
    if usage.cpu_per_pod is not None:
        return usage.cpu_per_pod
    return usage.cpu / round_.bound if round_.bound else None


def _own_cpu_per_pod(round_: RoundResult) -> float | None:
    """Return the CPU seconds per pod of the candidate's own processes (`own_processes`), without the apiserver's."""
    own = [cpu_per_pod(round_, process) for process in round_.own_processes if process in round_.usage]
    return math.fsum(cpu for cpu in own if cpu is not None) if own and None not in own else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "higher", lambda round_: round_.throughput, throughput),
        Metric("time to drain", "lower", lambda round_: round_.time_to_drain, duration),
        *(Metric(name, "lower", _latency(name), duration) for name in ("mean", "p50", "p90", "p95", "p99", "max")),
        Metric("cpu per pod", "lower", _own_cpu_per_pod, duration),
    )
}
_FEWEST_SCORED = 100
_LEAD = {"drain": "throughput", "open-loop": "p99", "one-at-a-time": "p50"}
"""The main metric of each mode."""


@dataclasses.dataclass(frozen=True)
class Doubts:
    """What is wrong or in doubt in a candidate's rounds of a trial; shown beside its numbers."""

    rounds: int
    invalid: int
    wrong: int
    """Placements that broke a rule, in all rounds."""
    wrong_rounds: int
    unaccounted: int
    """Pods that were never seen bound."""

    @property
    def short(self) -> list[tuple[str, str]]:
        """`words` for little space; without the count of invalid rounds if all rounds are invalid."""
        found = [("wrong", "WRONG")] if self.wrong or self.unaccounted else []
        partly = 0 < self.invalid < self.rounds
        return [*found, ("invalid", f"{self.invalid} of {self.rounds} invalid")] if partly else found

    @property
    def words(self) -> list[tuple[str, str]]:
        """Pairs of kind (`wrong`, `invalid`) and text; the worst first."""
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
    """One workload in one mode, at one rate (pods/s) if the mode has rates, with all its candidates."""

    number: int
    """The trial's index in the document."""
    workload: str
    mode: str
    rate: float | None
    measurements: tuple[Measurement, ...]
    comparisons: tuple[Comparison, ...]
    unlike: tuple[tuple[str, str], ...] = ()
    """Pairs of a candidate and how its settings differ from the baseline's, so that part of the difference may be
    theirs.
    """

    @property
    def title(self) -> str:
        return self.mode if self.rate is None else f"{self.mode}, {self.rate:g} pods/s"

    @property
    def anchor(self) -> str:
        """The trial's HTML id."""
        return f"trial{self.number}"

    @property
    def lead(self) -> Metric:
        """The metric that shows which candidate is faster in this mode."""
        compared = [comparison.metric for comparison in self.comparisons]
        name = _LEAD.get(self.mode, "throughput")
        return METRICS[name if name in compared or not compared or compared[0] not in METRICS else compared[0]]

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The metrics for little space: the main metric, in a drain also its whole time, and CPU time."""
        drained = (METRICS["time to drain"],) if self.mode == "drain" else ()
        return (self.lead, *drained, METRICS["cpu per pod"])

    def deciding(self, candidate: str) -> Comparison | None:
        """Return the comparison that shows whether a candidate is faster in this trial: of the main metric, but of the
        time to drain if that is longer.
        """
        to_drain = self.compared(candidate, "time to drain")
        if to_drain is not None and to_drain.verdict == "slower":
            return to_drain
        return self.compared(candidate, self.lead.name)

    def of(self, candidate: str) -> Measurement | None:
        """Return a candidate's measurement, or None."""
        return next((measured for measured in self.measurements if measured.candidate == candidate), None)

    def compared(self, candidate: str, metric: str) -> Comparison | None:
        for comparison in self.comparisons:
            if (comparison.candidate, comparison.metric) == (candidate, metric):
                return comparison
        return None


def trials(document: BenchDocument) -> list[BenchTrial]:
    """Return the trials in measured order, grouped by workload."""
    parts: list[InSetting] = [*document.measurements, *document.comparisons]
    workloads = list(dict.fromkeys(part.workload for part in parts))
    settings = dict.fromkeys((part.workload, part.mode, part.rate) for part in parts)
    names = candidates(document)

    # Rounds are run in random order, but listed in the order of candidates.
    def listed(parts: Iterable[_Part], setting: tuple[str, str, float | None]) -> tuple[_Part, ...]:
        found = (part for part in parts if (part.workload, part.mode, part.rate) == setting)
        return tuple(sorted(found, key=lambda part: names.index(part.candidate)))

    return [
        BenchTrial(
            number,
            *setting,
            listed(document.measurements, setting),
            listed(document.comparisons, setting),
            _unlike(document, setting[0]),
        )
        for number, setting in enumerate(sorted(settings, key=lambda setting: workloads.index(setting[0])))
    ]


def _unlike(document: BenchDocument, workload: str) -> tuple[tuple[str, str], ...]:
    run, percentages = document.run, document.run.nodes_to_score
    nodes = next((found.nodes or 0 for found in document.workloads if found.name == workload), 0)
    if run.baseline not in percentages:
        return ()

    def scored(name: str) -> str:
        return f"{_scored(percentages[name], nodes):,} (percentageOfNodesToScore: {percentages[name] or 'not set'})"

    return tuple(
        (
            name,
            (
                f"of {nodes:,} nodes it scores {scored(name)} for a pod, {run.baseline} {scored(run.baseline)}; "
                "--score-all-nodes makes them alike"
            ),
        )
        for name, percentage in percentages.items()
        if _scored(percentage, nodes) != _scored(percentages[run.baseline], nodes)
    )


def _scored(percentage: int, nodes: int) -> int:
    """Return how many feasible nodes kube-scheduler scores at most; source: numFeasibleNodesToFind
    (pkg/scheduler/schedule_one.go).
    """
    if nodes < _FEWEST_SCORED:
        return nodes
    return max(_FEWEST_SCORED, nodes * (percentage or max(5, 50 - nodes // 125)) // 100)


def candidates(document: BenchDocument) -> list[str]:
    """Return the names of all candidates, the baseline first."""
    results: list[Measured] = [
        *document.measurements, *document.comparisons, *document.knees, *document.scaling, *document.phases,
        *document.queries,
    ]  # fmt: skip
    names = [*(candidate.name for candidate in document.candidates), *(result.candidate for result in results)]
    return sorted(dict.fromkeys(names), key=lambda name: name != document.run.baseline)


def confidence(document: BenchDocument) -> str:
    """Return the level of the intervals, such as `99 %`."""
    return f"{100 * (1 - document.run.alpha):g} %"


def valid(measurement: Measurement | None) -> list[RoundResult]:
    """Return the rounds that count, including invalid rounds that limit the scheduler's speed from one side.

    Without those, mostly slower rounds, or mostly faster rounds, would remain.
    """
    rounds = measurement.rounds if measurement is not None else []
    return [round_ for round_ in rounds if not round_.invalid or round_.limit in ("faster", "slower")]


def typical(measurement: Measurement | None, metric: Metric) -> float | None:
    """Return a metric's median over the valid rounds, or None."""
    values = [value for round_ in valid(measurement) if (value := metric.of(round_)) is not None]
    return statistics.median(values) if values else None


def doubts(measurement: Measurement | None) -> Doubts:
    rounds = measurement.rounds if measurement is not None else []
    return Doubts(
        rounds=len(rounds),
        invalid=sum(bool(round_.invalid) for round_ in rounds),
        wrong=sum(len(round_.wrong) for round_ in rounds),
        wrong_rounds=sum(bool(round_.wrong) for round_ in rounds),
        unaccounted=sum(round_.unaccounted for round_ in rounds),
    )
