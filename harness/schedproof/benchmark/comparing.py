"""From rounds to what is said of them: measurements, and comparisons with the baseline. Pure."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

from schedproof.statistics.quantiles import cdf, log_histogram, summary
from schedproof.statistics.ratio import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schedproof.benchmark.round import Mode, Round

__all__ = ["ALPHA", "MINIMUM_EFFECT", "comparisons", "knee_of", "measurements"]

ALPHA = 0.01
"""How often, at most, a difference may be shown where there is none."""
MINIMUM_EFFECT = 0.05
"""The smallest difference that is worth a word, as a part of the baseline."""

_BINS = 40


@dataclasses.dataclass(frozen=True)
class _Setting:
    workload: str
    mode: Mode
    rate: float | None


def _settings(rounds: Sequence[Round]) -> dict[_Setting, dict[str, list[Round]]]:
    """Rounds by setting and candidate, in the order in which they were measured."""
    found: dict[_Setting, dict[str, list[Round]]] = {}
    for one in rounds:
        setting = _Setting(one.workload, one.mode, one.rate)
        found.setdefault(setting, collections.defaultdict(list))[one.candidate].append(one)
    return found


def measurements(rounds: Sequence[Round], order: Sequence[str]) -> list[dict[str, Any]]:
    """What bench.json lists under `measurements`: in each setting the candidates in this `order`."""
    return [
        {
            **dataclasses.asdict(setting),
            "candidate": candidate,
            "rounds": [one.as_dict() for one in sorted(measured, key=lambda one: one.block)],
            **_distribution([latency for one in measured if not one.invalid for latency in one.latencies]),
        }
        for setting, by_candidate in _settings(rounds).items()
        for candidate, measured in sorted(by_candidate.items(), key=lambda one: order.index(one[0]))
    ]


def _distribution(latencies: list[float]) -> dict[str, Any]:
    edges, counts = log_histogram(latencies, _BINS)
    return {"cdf": cdf(latencies), "histogram": {"edges": edges, "counts": counts}}


def comparisons(rounds: Sequence[Round], baseline: str, *, seed: int) -> list[dict[str, Any]]:
    """What bench.json lists under `comparisons`: each candidate with the baseline, by setting and metric.

    Only blocks in which both rounds are valid count.
    """
    found = []
    for setting, by_candidate in _settings(rounds).items():
        theirs = {one.block: one for one in by_candidate.get(baseline, ())}
        for candidate, measured in by_candidate.items():
            if candidate == baseline:
                continue
            ours = {one.block: one for one in measured}
            blocks = sorted(ours.keys() & theirs.keys())
            for metric, value in _metrics(setting.mode).items():
                difference = compare(
                    [_valid(ours[block], value) for block in blocks],
                    [_valid(theirs[block], value) for block in blocks],
                    metric=metric, alpha=ALPHA, minimum_effect=MINIMUM_EFFECT, seed=seed,
                )  # fmt: skip
                found.append(
                    {
                        **dataclasses.asdict(setting), "metric": metric, "candidate": candidate, "baseline": baseline,
                        **dataclasses.asdict(difference),
                    }
                )  # fmt: skip
    return found


def _valid(one: Round, value: Callable[[Round], float]) -> float | None:
    return None if one.invalid else value(one)


def _metrics(mode: Mode) -> Mapping[str, Callable[[Round], float]]:
    """What is compared, by mode: in a drain, latency is a matter of a pod's place in the queue."""
    cpu = {"cpu per pod": _cpu_per_pod}
    if mode == "drain":
        return {"throughput": lambda one: one.throughput, **cpu}
    return {name: _latency(name) for name in ("mean", "p50", "p90", "p99")} | cpu


def _latency(name: str) -> Callable[[Round], float]:
    return lambda one: summary(one.latencies)[name] if one.latencies else 0.0


def _cpu_per_pod(one: Round) -> float:
    """Of the candidate's own processes."""
    return sum(one.cpu_per_pod(process) for process in one.own_processes)


_BENT = 10
"""Times the median latency at the lowest rate. Beyond, pods wait in a queue rather than for a decision."""


def knee_of(rounds: Sequence[Round]) -> dict[str, Any]:
    """The points of a sweep by rate, and its knee.

    That is the highest rate up to which p99 stayed below ten times the median of the lowest rate, and all pods were
    bound; None where there is no such rate. `completed` is the throughput at that rate.
    """
    points, knee, straight = [], None, True
    ordered = sorted(rounds, key=lambda one: one.rate or 0.0)
    limit = _BENT * summary(ordered[0].latencies)["p50"] if ordered and ordered[0].latencies else 0.0
    for one in ordered:
        latency = summary(one.latencies)
        straight = straight and bool(latency) and latency["p99"] <= limit and not one.unbound
        if straight:
            knee = one.rate
        if latency:
            points.append({"rate": one.rate, "completed": one.throughput, "p50": latency["p50"], "p99": latency["p99"]})
    return {"knee": knee, "points": points}
