"""Hands measured rounds to pytest-benchmark, which cannot interleave the rounds of several benchmarks itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.round import Round


class Clock:
    """A timer for pytest-benchmark that moves only by `advance`, which replays measured durations."""

    def __init__(self) -> None:
        self._now = 0.0

    def read(self) -> float:
        """Return the current time in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


CLOCK = Clock()


@dataclasses.dataclass(frozen=True)
class Replay:
    """All rounds of a scheduler on a workload in a mode, at the same rate."""

    rounds: Sequence[Round]

    @property
    def durations(self) -> list[float]:
        """Seconds: from the candidate's start to the last binding of each round in drains, of each pod in the other
        modes.
        """
        if self._counted[0].mode == "drain":
            return [round_.time_to_drain for round_ in self._counted]
        return [latency for round_ in self._counted for latency in round_.latencies]

    @property
    def doubt(self) -> str:
        """Why the numbers cannot be relied on; "" if they can."""
        if self._wrong:
            return f"pods were bound to nodes where they must not run: {'; '.join(self._wrong)}"
        if all(round_.invalid for round_ in self.rounds):
            return f"no round is valid: {'; '.join(self._reasons)}"
        return ""

    @property
    def _counted(self) -> Sequence[Round]:
        """The valid rounds; all rounds if none is valid, with a `doubt`."""
        return [round_ for round_ in self.rounds if not round_.invalid] or self.rounds

    @property
    def _reasons(self) -> list[str]:
        return list(dict.fromkeys(reason for round_ in self.rounds for reason in round_.invalid))

    @property
    def _wrong(self) -> list[str]:
        return list(dict.fromkeys(sentence for round_ in self.rounds for sentence in round_.wrong))

    def into(self, benchmark: Any) -> None:
        """Report the rounds through the `benchmark` fixture: statistics of `durations`, and the rest in extra_info."""
        first = self.rounds[0]
        rate = "" if first.rate is None else f" at {first.rate:g} pods/s"
        benchmark.group = f"{first.workload}, {first.mode}{rate}"
        latencies = [latency for round_ in self._counted for latency in round_.latencies]
        benchmark.extra_info.update(
            candidate=first.candidate, workload=first.workload, mode=first.mode, rate=first.rate,
            pods=sum(len(round_.rows) for round_ in self.rounds),
            bound=sum(len(round_.bound) for round_ in self.rounds),
            throughput=[round_.throughput for round_ in self._counted], latency=summary(latencies),
            invalid=self._reasons, wrong=self._wrong,
        )  # fmt: skip
        durations = iter(self.durations)
        benchmark.pedantic(lambda: CLOCK.advance(next(durations)), rounds=len(self.durations), iterations=1)
