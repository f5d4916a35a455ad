"""Gives pytest-benchmark the rounds that were measured: interleaved, which it cannot do itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.round import Round


class Clock:
    """A timer for pytest-benchmark that goes on only when it is told to, by what was measured."""

    def __init__(self) -> None:
        self._now = 0.0

    def read(self) -> float:
        """Seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


CLOCK = Clock()


@dataclasses.dataclass(frozen=True)
class Replay:
    """All rounds of one scheduler, in one mode, on one workload."""

    rounds: Sequence[Round]

    @property
    def durations(self) -> list[float]:
        """Seconds: of each drain; in the other modes of each pod."""
        if self._counted[0].mode == "drain":
            return [one.seconds for one in self._counted]
        return [latency for one in self._counted for latency in one.latencies]

    @property
    def doubt(self) -> str:
        """Why the numbers are not to be relied on; empty: they are."""
        if self._wrong:
            return f"pods were bound to nodes where they must not run: {'; '.join(self._wrong)}"
        if all(one.invalid for one in self.rounds):
            return f"no round is valid: {'; '.join(self._reasons)}"
        return ""

    @property
    def _counted(self) -> Sequence[Round]:
        """The valid rounds; where none is, all: they are shown, and doubted."""
        return [one for one in self.rounds if not one.invalid] or self.rounds

    @property
    def _reasons(self) -> list[str]:
        return list(dict.fromkeys(reason for one in self.rounds for reason in one.invalid))

    @property
    def _wrong(self) -> list[str]:
        return list(dict.fromkeys(sentence for one in self.rounds for sentence in one.wrong))

    def into(self, benchmark: Any) -> None:
        """Let the `benchmark` fixture carry them: its statistics are of `durations`, extra_info has the rest."""
        first = self.rounds[0]
        rate = "" if first.rate is None else f" at {first.rate:g} pods/s"
        benchmark.group = f"{first.workload}, {first.mode}{rate}"
        latencies = [latency for one in self._counted for latency in one.latencies]
        benchmark.extra_info.update(
            candidate=first.candidate, workload=first.workload, mode=first.mode, rate=first.rate,
            pods=sum(len(one.rows) for one in self.rounds), bound=sum(len(one.bound) for one in self.rounds),
            throughput=[one.throughput for one in self._counted], latency=summary(latencies),
            invalid=self._reasons, wrong=self._wrong,
        )  # fmt: skip
        durations = iter(self.durations)
        benchmark.pedantic(lambda: CLOCK.advance(next(durations)), rounds=len(self.durations), iterations=1)
