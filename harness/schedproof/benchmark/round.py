"""What one round has shown: one candidate, one workload, one mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.driver import PodTimes
from schedproof.benchmark.measure.usage import Usage
from schedproof.benchmark.results import LatencySummary, Limit, Mode, OwnMetricsCheck, ProcessUsage, RoundResult

_WARM_UP = 10
"""One pod in so many is the warm-up: connections open, caches and interpreters warm up, schedulers find their queue."""


@dataclasses.dataclass(frozen=True)
class Round:
    """Moments are of CLOCK_MONOTONIC, in seconds.

    `began`: when the candidate was started on its full queue (drain), or the first pod was intended. `counted_from`:
    when the CPU time in `usage` began to count, of all processes, of which `own_processes` are the candidate's.
    `pods`: how many were to be bound; `rows` has those that were sent. `rate`: offered, in pods per second; None where
    pods do not arrive by a clock. `invalid`: why its numbers are not the scheduler's own. `limit`: what that says of
    the scheduler's true speed: it is at least what was measured ("faster"), at most ("slower"), or not known
    ("unknown"). Each depends on how fast the scheduler was, so that leaving out such rounds would bias what remains; ""
    where the round was disturbed from outside, and can be left out. `wrong`: what is wrong with where the pods are;
    `not_judged`: rules that decide about it and were not checked.
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

    @property
    def bound(self) -> list[PodTimes]:
        """The pods that were seen bound, in the order in which they were."""
        return sorted((row for row in self.rows if row.seen is not None), key=lambda row: row.seen or 0.0)

    @property
    def unbound(self) -> int:
        """How many pods were never seen bound, those included that were not even sent."""
        return self.pods - len(self.bound)

    @property
    def warm_up(self) -> int:
        """So many of the first pods bound count neither for throughput nor for latency."""
        return len(self.bound) // _WARM_UP

    @property
    def seconds(self) -> float:
        """From the end of the warm-up to the last binding."""
        bound = self.bound
        if len(bound) < 2:
            return 0.0
        return _seen(bound[-1]) - _seen(bound[max(0, self.warm_up - 1)])

    @property
    def throughput(self) -> float:
        """Pods bound per second after the warm-up; 0 where that is unknown."""
        counted = len(self.bound) - max(1, self.warm_up)
        return counted / self.seconds if self.seconds > 0 else 0.0

    @property
    def latencies(self) -> list[float]:
        """Seconds of each pod after the warm-up.

        From the moment that its creation was intended, sent or not, to the moment that its binding was seen: what a
        late creation delays is counted (no coordinated omission). In a drain from its beginning.
        """
        counted = self.bound[self.warm_up :]
        if self.mode == "drain":
            return [_seen(row) - self.began for row in counted]
        return [_seen(row) - row.intended for row in counted]

    def cpu_per_pod(self, process: str) -> float:
        """CPU seconds that a process took for each pod that was bound meanwhile."""
        return self.per_pod(self.usage[process].cpu) if process in self.usage else 0.0

    def per_pod(self, seconds: float) -> float:
        """So many seconds of processor time, divided among the pods that were bound while it was counted."""
        pods = sum(_seen(row) >= self.counted_from for row in self.bound)
        return seconds / pods if pods else 0.0

    def result(self) -> RoundResult:
        """What bench.json says about it."""
        bound = self.bound
        return RoundResult(
            block=self.block, order=self.order, seconds=self.seconds, pods=self.pods,
            bound=len(bound), unaccounted=self.unbound, warm_up=self.warm_up,
            throughput=self.throughput, latency=LatencySummary(**summary(self.latencies)),
            usage={
                name: ProcessUsage(cpu=one.cpu, peak=one.peak, cpu_per_pod=self.cpu_per_pod(name))
                for name, one in self.usage.items()
            },
            own_processes=list(self.own_processes), own_metrics=self.own_metrics,
            invalid=list(self.invalid), limit=self.limit, wrong=list(self.wrong), not_judged=list(self.not_judged),
        )  # fmt: skip


def _seen(row: PodTimes) -> float:
    assert row.seen is not None
    return row.seen
