"""From rounds to what is said of them: measurements, and comparisons with the baseline. Pure."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence

from schedproof.benchmark.compare.quantiles import cdf, log_histogram, summary
from schedproof.benchmark.compare.ratio import Difference, compare
from schedproof.benchmark.results import Comparison, Histogram, Knee, KneePoint, Measurement, Mode
from schedproof.benchmark.round import Round
from schedproof.foundation.processes.process_table import TICK

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


def measurements(rounds: Sequence[Round], order: Sequence[str]) -> list[Measurement]:
    """What bench.json lists under `measurements`: in each setting the candidates in this `order`."""
    return [
        _measurement(setting, candidate, sorted(measured, key=lambda one: one.block))
        for setting, by_candidate in _settings(rounds).items()
        for candidate, measured in sorted(by_candidate.items(), key=lambda one: order.index(one[0]))
    ]


def _measurement(setting: _Setting, candidate: str, rounds: Sequence[Round]) -> Measurement:
    latencies = [latency for one in rounds if not one.invalid for latency in one.latencies]
    edges, counts = log_histogram(latencies, _BINS)
    return Measurement(
        workload=setting.workload, mode=setting.mode, rate=setting.rate, candidate=candidate,
        rounds=[one.result() for one in rounds], cdf=cdf(latencies), histogram=Histogram(edges=edges, counts=counts),
    )  # fmt: skip


def comparisons(rounds: Sequence[Round], baseline: str, *, seed: int) -> list[Comparison]:
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
            for metric in _metrics(setting.mode):
                sides = [ours[block] for block in blocks], [theirs[block] for block in blocks]
                difference = _difference(*sides, metric, seed)
                found.append(
                    Comparison(
                        workload=setting.workload, mode=setting.mode, rate=setting.rate, metric=metric,
                        candidate=candidate, baseline=baseline,
                        **{**dataclasses.asdict(difference), "ratios": list(difference.ratios)},
                    )
                )  # fmt: skip
    return found


def _difference(ours: Sequence[Round], theirs: Sequence[Round], metric: str, seed: int) -> Difference:
    """One comparison, of the rounds of the same blocks.

    A round in which something other than the scheduler was the limit is not left out: which rounds those are depends on
    how fast they were, so that the others are biased. What was measured in it bounds the ratio instead; where that
    cannot be, the comparison is invalid.
    """
    value = _METRICS[metric]
    difference = compare(
        [_valid(one, value) for one in ours], [_valid(one, value) for one in theirs],
        metric=metric, alpha=ALPHA, minimum_effect=MINIMUM_EFFECT, seed=seed,
        steps=([_cpu_step(one) for one in ours], [_cpu_step(one) for one in theirs]) if metric == _CPU else None,
    )  # fmt: skip
    if metric == _CPU:
        return _cpu_difference(difference, [*ours, *theirs])
    limits = {(side, one.limit) for side, rounds in enumerate((ours, theirs)) for one in rounds if one.limit}
    if not limits:
        return difference
    reason = _limited([one for one in (*ours, *theirs) if one.limit], len(ours))
    if any(limit == "unknown" for _, limit in limits):
        return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)
    # Throughput grows with speed, latency falls with it; and the baseline's stands below the line.
    grows = {(side == 0) == ((limit == "faster") == (metric == _THROUGHPUT)) for side, limit in limits}
    if len(grows) > 1:
        return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)
    return difference.bounded("at least" if grows.pop() else "at most", reason, metric)


def _cpu_difference(difference: Difference, rounds: Sequence[Round]) -> Difference:
    """Whatever the limit of a round was, it costs the scheduler no processor time: only pods that were lost do."""
    lost = [one.invalid[0] for one in rounds if one.limit == "unknown"]
    unseen = [one.candidate for one in rounds if _valid(one, _cpu_per_pod) == 0]
    if not lost and not unseen:
        return difference
    reason = lost[0] if lost else f"{unseen[0]} took less processor time than the clock can measure in some rounds"
    return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)


def _limited(rounds: Sequence[Round], blocks: int) -> str:
    names = ", ".join(dict.fromkeys(one.candidate for one in rounds))
    return f"in {len({one.block for one in rounds})} of {blocks} blocks ({names}) {rounds[0].invalid[0]}"


def _valid(one: Round, value: Callable[[Round], float]) -> float | None:
    return None if one.invalid and not one.limit else value(one)


def _metrics(mode: Mode) -> tuple[str, ...]:
    """What is compared, by mode: in a drain, latency is a matter of a pod's place in the queue."""
    return (_THROUGHPUT, _CPU) if mode == "drain" else (*_LATENCIES, _CPU)


def _latency(name: str) -> Callable[[Round], float]:
    return lambda one: summary(one.latencies)[name] if one.latencies else 0.0


def _cpu_per_pod(one: Round) -> float:
    """Of the candidate's own processes."""
    return sum(one.cpu_per_pod(process) for process in one.own_processes)


def _cpu_step(one: Round) -> float:
    """Seconds per pod by which that may be off: the kernel counts processor time in whole ticks."""
    return sum(one.per_pod(TICK) for process in one.own_processes if process in one.usage)


_THROUGHPUT, _CPU, _LATENCIES = "throughput", "cpu per pod", ("mean", "p50", "p90", "p99")

_METRICS: Mapping[str, Callable[[Round], float]] = {
    _THROUGHPUT: lambda one: one.throughput, **{name: _latency(name) for name in _LATENCIES}, _CPU: _cpu_per_pod
}  # fmt: skip


_BENT = 10
"""Times the median latency at the lowest rate. Beyond, pods wait in a queue rather than for a decision."""


def knee_of(workload: str, candidate: str, rounds: Sequence[Round]) -> Knee:
    """The points of a sweep of one candidate by rate, and its knee.

    That is the highest rate up to which p99 stayed below ten times the median of the lowest rate, and all pods were
    bound; None where there is no such rate. `completed` is the throughput at that rate.
    """
    points: list[KneePoint] = []
    knee, straight = None, True
    ordered = sorted(rounds, key=lambda one: one.rate or 0.0)
    limit = _BENT * summary(ordered[0].latencies)["p50"] if ordered and ordered[0].latencies else 0.0
    for one in ordered:
        latency = summary(one.latencies)
        straight = straight and bool(latency) and latency["p99"] <= limit and not one.unbound
        if straight:
            knee = one.rate
        if latency and one.rate is not None:
            points.append(KneePoint(rate=one.rate, completed=one.throughput, p50=latency["p50"], p99=latency["p99"]))
    return Knee(workload=workload, candidate=candidate, knee=knee, points=points)
