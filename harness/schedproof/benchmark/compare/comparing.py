"""Turns rounds into measurements, and into comparisons with the baseline. Does no I/O."""

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
"""The largest probability that a difference is shown although there is none."""
MINIMUM_EFFECT = 0.05
"""The smallest difference that is reported, as a fraction of the baseline."""

_BINS = 40


@dataclasses.dataclass(frozen=True)
class _Setting:
    workload: str
    mode: Mode
    rate: float | None


def _settings(rounds: Sequence[Round]) -> dict[_Setting, dict[str, list[Round]]]:
    """Group rounds by setting and candidate, in the order in which they were measured."""
    found: dict[_Setting, dict[str, list[Round]]] = {}
    for round_ in rounds:
        setting = _Setting(round_.workload, round_.mode, round_.rate)
        found.setdefault(setting, collections.defaultdict(list))[round_.candidate].append(round_)
    return found


def measurements(rounds: Sequence[Round], order: Sequence[str]) -> list[Measurement]:
    """Build the `measurements` of bench.json: in each setting, the candidates in this `order`."""
    return [
        _measurement(setting, candidate, sorted(measured, key=lambda round_: round_.block))
        for setting, by_candidate in _settings(rounds).items()
        for candidate, measured in sorted(by_candidate.items(), key=lambda item: order.index(item[0]))
    ]


def _measurement(setting: _Setting, candidate: str, rounds: Sequence[Round]) -> Measurement:
    latencies = [latency for round_ in rounds if not round_.invalid for latency in round_.latencies]
    edges, counts = log_histogram(latencies, _BINS)
    return Measurement(
        workload=setting.workload, mode=setting.mode, rate=setting.rate, candidate=candidate,
        rounds=[round_.result() for round_ in rounds], cdf=cdf(latencies),
        histogram=Histogram(edges=edges, counts=counts),
    )  # fmt: skip


def comparisons(rounds: Sequence[Round], baseline: str, *, seed: int) -> list[Comparison]:
    """Build the `comparisons` of bench.json: each candidate with the baseline, by setting and metric.

    Only blocks in which both rounds are valid count, except as `_difference` says.
    """
    found = []
    for setting, by_candidate in _settings(rounds).items():
        theirs = {round_.block: round_ for round_ in by_candidate.get(baseline, ())}
        for candidate, measured in by_candidate.items():
            if candidate == baseline:
                continue
            ours = {round_.block: round_ for round_ in measured}
            blocks = sorted(ours.keys() & theirs.keys())
            sides = [ours[block] for block in blocks], [theirs[block] for block in blocks]
            differences = {metric: _difference(*sides, metric, seed) for metric in _metrics(setting.mode)}
            if setting.mode == "drain":
                differences[_THROUGHPUT] = _heeding(differences[_THROUGHPUT], differences[_TO_DRAIN])
            for metric, difference in differences.items():
                found.append(
                    Comparison(
                        workload=setting.workload, mode=setting.mode, rate=setting.rate, metric=metric,
                        candidate=candidate, baseline=baseline,
                        **{**dataclasses.asdict(difference), "ratios": list(difference.ratios)},
                    )
                )  # fmt: skip
    return found


def _heeding(throughput: Difference, to_drain: Difference) -> Difference:
    """Return the difference in throughput, which is no faster if the drain took longer.

    Throughput begins with the bindings after the warm-up. A scheduler that plans for a long time, and then binds all
    pods at once, has more of it, and yet is done later.
    """
    if throughput.verdict != "faster" or to_drain.ratio is None or to_drain.ratio <= 1:
        return throughput
    reason = f"more pods per second once it bound, but it took {to_drain.ratio:.2f} times as long to drain the queue"
    return dataclasses.replace(throughput, verdict="no difference shown", reason=reason)


def _difference(ours: Sequence[Round], theirs: Sequence[Round], metric: str, seed: int) -> Difference:
    """Compare the rounds of the same blocks.

    A round in which something other than the scheduler was the limit is not left out: which rounds those are depends on
    the scheduler's speed, so leaving them out would bias the rest. Their numbers bound the ratio instead; if they
    cannot, the comparison is invalid.
    """
    value = _METRICS[metric]
    difference = compare(
        [_valid(round_, value) for round_ in ours], [_valid(round_, value) for round_ in theirs],
        metric=metric, alpha=ALPHA, minimum_effect=MINIMUM_EFFECT, seed=seed,
        steps=(list(map(_cpu_step, ours)), list(map(_cpu_step, theirs))) if metric == _CPU else None,
    )  # fmt: skip
    if metric == _CPU:
        return _cpu_difference(difference, [*ours, *theirs])
    limits = {(side, round_.limit) for side, rounds in enumerate((ours, theirs)) for round_ in rounds if round_.limit}
    if not limits:
        return difference
    reason = _limited([round_ for round_ in (*ours, *theirs) if round_.limit], len(ours))
    if any(limit == "unknown" for _, limit in limits):
        return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)
    # A faster scheduler has more throughput and less latency; the baseline's value is the ratio's denominator.
    grows = {(side == 0) == ((limit == "faster") == (metric == _THROUGHPUT)) for side, limit in limits}
    if metric == _TO_DRAIN and False in grows:
        late = compare(
            [_valid(round_, _least_to_drain) for round_ in ours], [_valid(round_, value) for round_ in theirs],
            metric=metric, alpha=ALPHA, minimum_effect=MINIMUM_EFFECT, seed=seed,
        )  # fmt: skip
        if late.verdict == "slower":
            return late.bounded("at least", reason, metric)
    if len(grows) > 1:
        return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)
    return difference.bounded("at least" if grows.pop() else "at most", reason, metric)


def _cpu_difference(difference: Difference, rounds: Sequence[Round]) -> Difference:
    """Return the difference, invalid if pods were lost or a round's CPU time was too small to measure.

    Other limits of a round do not matter here: they cost the scheduler no CPU time.
    """
    lost = [round_.invalid[0] for round_ in rounds if round_.limit == "unknown"]
    unseen = [round_.candidate for round_ in rounds if _valid(round_, _cpu_per_pod) == 0]
    if not lost and not unseen:
        return difference
    reason = lost[0] if lost else f"{unseen[0]} used less CPU time than the clock can measure in some rounds"
    return dataclasses.replace(difference, ratio=None, low=None, high=None, verdict="invalid", reason=reason)


def _limited(rounds: Sequence[Round], blocks: int) -> str:
    names = ", ".join(dict.fromkeys(round_.candidate for round_ in rounds))
    return f"in {len({round_.block for round_ in rounds})} of {blocks} blocks ({names}) {rounds[0].invalid[0]}"


def _valid(round_: Round, value: Callable[[Round], float]) -> float | None:
    return None if round_.invalid and not round_.limit else value(round_)


def _metrics(mode: Mode) -> tuple[str, ...]:
    """Return the metrics to compare in a mode. In a drain, latency depends only on a pod's place in the queue."""
    return (_THROUGHPUT, _TO_DRAIN, _CPU) if mode == "drain" else (*_LATENCIES, _CPU)


def _latency(name: str) -> Callable[[Round], float]:
    return lambda round_: summary(round_.latencies)[name] if round_.latencies else 0.0


def _cpu_per_pod(round_: Round) -> float:
    """Return the CPU seconds per pod of the candidate's own processes."""
    return sum(round_.cpu_per_pod(process) for process in round_.own_processes)


def _cpu_step(round_: Round) -> float:
    """Return the error of `_cpu_per_pod` in seconds: the kernel counts CPU time in whole ticks."""
    return sum(round_.per_pod(TICK) for process in round_.own_processes if process in round_.usage)


def _least_to_drain(round_: Round) -> float:
    """Return the time to drain; if something other than the scheduler limited the round, the time to its first binding,
    because all that comes after it might have been faster.
    """
    return round_.first_binding if round_.limit else round_.time_to_drain


_THROUGHPUT, _TO_DRAIN, _CPU = "throughput", "time to drain", "cpu per pod"
_LATENCIES = ("mean", "p50", "p90", "p99")

_METRICS: Mapping[str, Callable[[Round], float]] = {
    _THROUGHPUT: lambda round_: round_.throughput, _TO_DRAIN: lambda round_: round_.time_to_drain,
    **{name: _latency(name) for name in _LATENCIES}, _CPU: _cpu_per_pod,
}  # fmt: skip


_BENT = 10
"""Multiple of the median latency at the lowest rate. Above it, pods mostly wait in the queue, not for a decision."""


def knee_of(workload: str, candidate: str, rounds: Sequence[Round]) -> Knee:
    """Return the points of a candidate's sweep, by rate, and its knee.

    The knee is the highest rate up to which p99 stayed below ten times the median of the lowest rate, and all pods were
    bound; None if there is no such rate. `completed` is the throughput at a point's rate.
    """
    points: list[KneePoint] = []
    knee, straight = None, True
    ordered = sorted(rounds, key=lambda round_: round_.rate or 0.0)
    limit = _BENT * summary(ordered[0].latencies)["p50"] if ordered and ordered[0].latencies else 0.0
    for round_ in ordered:
        latency = summary(round_.latencies)
        straight = straight and bool(latency) and latency["p99"] <= limit and not round_.unbound
        if straight:
            knee = round_.rate
        if latency and round_.rate is not None:
            points.append(
                KneePoint(rate=round_.rate, completed=round_.throughput, p50=latency["p50"], p99=latency["p99"])
            )
    return Knee(workload=workload, candidate=candidate, knee=knee, points=points)
