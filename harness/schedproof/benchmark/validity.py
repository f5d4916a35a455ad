"""Decides whether a round is valid: whether its numbers are the scheduler's own, and if not, why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.measure.gauges import GaugeReadings
from schedproof.benchmark.results import Limit
from schedproof.benchmark.round import Round

CEILING_SHARE = 0.8
"""Fraction of the ceiling (see `Stage.ceiling`) above which the apiserver, and not the scheduler, limits throughput."""

_TOO_SHORT = 2.0
"""Multiple of the ceiling that no scheduler reaches: the watch delivered a few tens of pods as a single batch."""

_LATE = 0.1
"""Fraction of the mean latency by which pods may be sent late on average: that delay is part of the latency, and is not
the candidate's."""


@dataclasses.dataclass(frozen=True)
class Doubt:
    """A reason why a round is invalid, as a sentence, and what it implies for the true speed; see `Round.limit`."""

    text: str
    limit: Limit = ""


def limit_of(reasons: Sequence[Doubt]) -> Limit:
    """Combine the reasons of a round into its `Round.limit`.

    A round that was disturbed from outside is left out whatever its other reasons are: the disturbance does not depend
    on the scheduler's speed, so leaving the round out biases nothing.
    """
    limits = {reason.limit for reason in reasons}
    if "" in limits or not limits:
        return ""
    return limits.pop() if len(limits) == 1 else "unknown"


def doubts(round_: Round, readings: GaugeReadings, *, ceiling: float, capped: int) -> Iterator[Doubt]:
    """Yield the reasons why a round is invalid; none if it is valid.

    Args:
        round_: the round.
        readings: the gauges of the machine and the scheduler.
        ceiling: bindings per second; see `Stage.ceiling`.
        capped: how many pods were sent late because too many requests were in flight.
    """
    if not round_.latencies:
        yield Doubt("no pod was bound", "unknown")
        return
    if round_.unbound:
        yield Doubt(
            f"{round_.unbound} of {round_.pods} pods were not bound: the numbers of the others would be biased in its "
            "favor",
            "unknown",
        )
    if round_.mode == "drain" and round_.throughput > _TOO_SHORT * ceiling:
        yield Doubt(
            f"the round was too short to be measured: after the warm-up, {len(round_.latencies)} pods were seen bound "
            f"within {1000 * round_.seconds:.2g} ms; send more pods",
            "unknown",
        )
    elif round_.mode == "drain" and round_.throughput > CEILING_SHARE * ceiling:
        yield Doubt(
            f"the apiserver was the limit: {round_.throughput:.0f} pods/s were bound; it accepts {ceiling:.0f} from a "
            "client that makes no scheduling decisions",
            "faster",
        )
    if round_.mode == "open-loop":
        yield from _client(round_, capped)
    if readings.throttled:
        yield Doubt(readings.throttled, "faster")
    if readings.noise:
        yield Doubt(readings.noise)


def _client(round_: Round, capped: int) -> Iterator[Doubt]:
    latency = summary(round_.latencies)["mean"]
    sent = [row for row in round_.rows if row.sent is not None and row.intended is not None]
    late = sum((row.sent or 0.0) - (row.intended or 0.0) for row in sent) / max(1, len(sent))
    if capped:
        yield Doubt(
            f"the client was the limit: {capped} pods were sent late because too many requests were unanswered",
            "slower",
        )
    elif late > _LATE * latency:
        yield Doubt(
            f"the client was the limit: pods were sent {1000 * late:.2f} ms late on average, with a mean latency of "
            f"{1000 * latency:.2f} ms",
            "faster",
        )
