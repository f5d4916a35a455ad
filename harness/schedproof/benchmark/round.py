"""The result of a round: a candidate schedules the pods of a workload, which arrive by a mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.driver import PodTimes
from schedproof.benchmark.measure.usage import Usage
from schedproof.benchmark.results import LatencySummary, Limit, Mode, OwnMetricsCheck, ProcessUsage, RoundResult

_WARM_UP = 10
"""One pod in 10 belongs to the warm-up, in which connections open and caches and interpreters warm up."""


@dataclasses.dataclass(frozen=True)
class Round:
    """The measurements of a round. Moments are CLOCK_MONOTONIC seconds.

    `began`: when the candidate was started on its full queue (drain), or the first pod was intended. `counted_from`:
    when counting of the CPU time in `usage` began, for all processes; `own_processes` are the candidate's. `pods`: how
    many were to be bound; `rows` has those that were sent. `rate`: offered, in pods per second; None if the mode has no
    arrival times. `invalid`: why the numbers are not the scheduler's own. `limit`: how the scheduler's true speed
    relates to the invalid numbers: at least as fast ("faster"), at most as fast ("slower"), or unknown ("unknown"). All
    three depend on the scheduler's speed, so leaving out such rounds would bias the others; "" if the round was
    disturbed from outside and can be left out. `wrong`: pods that are on nodes where they must not run; `not_judged`:
    rules of placement that were not checked. `seed`: of the arrivals or pauses; None in a drain.
    """

    workload: str
    mode: Mode
    rate: float | None
    candidate: str
    block: int
    order: int
    began: float
    counted_from: float
    pods: int
    rows: Sequence[PodTimes]
    usage: Mapping[str, Usage] = dataclasses.field(default_factory=dict)
    own_processes: tuple[str, ...] = ()
    own_metrics: OwnMetricsCheck | None = None
    invalid: tuple[str, ...] = ()
    limit: Limit = ""
    wrong: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def bound(self) -> list[PodTimes]:
        """The pods that were seen bound, in the order of their bindings."""
        return sorted((row for row in self.rows if row.seen is not None), key=lambda row: row.seen or 0.0)

    @property
    def unbound(self) -> int:
        """How many pods were never seen bound, including pods that were not sent."""
        return self.pods - len(self.bound)

    @property
    def warm_up(self) -> int:
        """How many of the first bound pods are excluded from throughput and latency."""
        return len(self.bound) // _WARM_UP

    @property
    def seconds(self) -> float:
        """Seconds from the end of the warm-up to the last binding."""
        bound = self.bound
        if len(bound) < 2:
            return 0.0
        return _seen(bound[-1]) - _seen(bound[max(0, self.warm_up - 1)])

    @property
    def first_binding(self) -> float:
        """Seconds from the beginning of the round to the first binding; 0 if there is none."""
        return _seen(self.bound[0]) - self.began if self.bound else 0.0

    @property
    def time_to_drain(self) -> float:
        """Seconds from the beginning of the round, when a drain's candidate was started, to the last binding; 0 if
        there is none.
        """
        return _seen(self.bound[-1]) - self.began if self.bound else 0.0

    @property
    def throughput(self) -> float:
        """Pods bound per second after the warm-up; 0 if unknown."""
        counted = len(self.bound) - max(1, self.warm_up)
        return counted / self.seconds if self.seconds > 0 else 0.0

    @property
    def latencies(self) -> list[float]:
        """The latency in seconds of each pod after the warm-up.

        Measured from the intended creation, even if the pod was sent later, until its binding was seen, so that the
        delay of a late creation counts (no coordinated omission). In a drain, measured from the beginning of the round.
        """
        counted = self.bound[self.warm_up :]
        if self.mode == "drain":
            return [_seen(row) - self.began for row in counted]
        return [_seen(row) - row.intended for row in counted]

    def cpu_per_pod(self, process: str) -> float:
        """Return the CPU seconds that a process used for each pod bound while CPU time was counted."""
        return self.per_pod(self.usage[process].cpu) if process in self.usage else 0.0

    def per_pod(self, seconds: float) -> float:
        """Divide CPU seconds by the number of pods that were bound while CPU time was counted."""
        pods = sum(_seen(row) >= self.counted_from for row in self.bound)
        return seconds / pods if pods else 0.0

    def result(self) -> RoundResult:
        """Return the round as bench.json has it."""
        bound = self.bound
        return RoundResult(
            block=self.block, order=self.order, seconds=self.seconds, pods=self.pods,
            bound=len(bound), unaccounted=self.unbound, warm_up=self.warm_up,
            throughput=self.throughput, time_to_drain=self.time_to_drain if self.mode == "drain" else None,
            seed=self.seed, latency=LatencySummary(**summary(self.latencies)),
            usage={
                name: ProcessUsage(cpu=usage.cpu, peak=usage.peak, cpu_per_pod=self.cpu_per_pod(name))
                for name, usage in self.usage.items()
            },
            own_processes=list(self.own_processes), own_metrics=self.own_metrics,
            invalid=list(self.invalid), limit=self.limit, wrong=list(self.wrong), not_judged=list(self.not_judged),
        )  # fmt: skip


def _seen(row: PodTimes) -> float:
    assert row.seen is not None
    return row.seen
