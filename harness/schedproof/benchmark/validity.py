"""When a round proves nothing about its candidate, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.measure.gauges import GaugeReadings
from schedproof.benchmark.results import Limit
from schedproof.benchmark.round import Round

CEILING_SHARE = 0.8
"""Of the bindings per second that the apiserver takes from a client that decides nothing: a scheduler that comes so
close waits for it more than for itself."""

_TOO_SHORT = 2.0
"""Times that ceiling: no scheduler binds so fast. The watch has told of all pods at once, as it does of a few tens."""

_LATE = 0.1
"""Part of the mean latency by which pods may on average be sent late: it is in the latency, and not the candidate's."""


@dataclasses.dataclass(frozen=True)
class Doubt:
    """One reason, as a sentence, and what it says of the scheduler's true speed: see `Round.limit`."""

    text: str
    limit: Limit = ""


def limit_of(reasons: Sequence[Doubt]) -> Limit:
    """What the reasons of one round say together of the scheduler's true speed.

    A round that was disturbed from outside is left out, whatever else is said of it: the disturbance does not depend
    on how fast the scheduler was, so leaving it out favours no side.
    """
    limits = {reason.limit for reason in reasons}
    if "" in limits or not limits:
        return ""
    return limits.pop() if len(limits) == 1 else "unknown"


def doubts(one: Round, readings: GaugeReadings, *, ceiling: float, capped: int) -> Iterator[Doubt]:
    """The reasons; none where the round is valid.

    Args:
        one: the round.
        readings: what was read of machine and scheduler.
        ceiling: bindings per second; see `Stage.ceiling`.
        capped: how many pods had to wait to be sent, because too many others were on their way.
    """
    if not one.latencies:
        yield Doubt("no pod was bound", "unknown")
        return
    if one.unbound:
        text = (
            f"{one.unbound} of {one.pods} pods were not bound: the numbers of the others would be biased in its favor"
        )
        yield Doubt(text, "unknown")
    if one.mode == "drain" and one.throughput > _TOO_SHORT * ceiling:
        yield Doubt(
            f"the round was too short to be measured: after the warm-up, {len(one.latencies)} pods were seen bound "
            f"within {1000 * one.seconds:.2g} ms; send more pods",
            "unknown",
        )
    elif one.mode == "drain" and one.throughput > CEILING_SHARE * ceiling:
        yield Doubt(
            f"the apiserver was the limit: {one.throughput:.0f} pods/s were bound, of the {ceiling:.0f} that it takes "
            "from a client that decides nothing",
            "faster",
        )
    if one.mode == "open-loop":
        yield from _client(one, capped)
    if readings.throttled:
        yield Doubt(readings.throttled, "faster")
    if readings.noise:
        yield Doubt(readings.noise)


def _client(one: Round, capped: int) -> Iterator[Doubt]:
    latency = summary(one.latencies)["mean"]
    sent = [row for row in one.rows if row.sent is not None and row.intended is not None]
    late = sum((row.sent or 0.0) - (row.intended or 0.0) for row in sent) / max(1, len(sent))
    if capped:
        yield Doubt(f"the client was the limit: {capped} pods had to wait for others to be created", "slower")
    elif late > _LATE * latency:
        text = f"the client was the limit: pods were sent {1000 * late:.2f} ms late, of {1000 * latency:.2f} ms latency"
        yield Doubt(text, "faster")
