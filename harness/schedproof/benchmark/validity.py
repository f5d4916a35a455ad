"""When a round proves nothing about its candidate, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.statistics.quantiles import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedproof.benchmark.gauges import Readings
    from schedproof.benchmark.round import Round

__all__ = ["CEILING_SHARE", "doubts"]

CEILING_SHARE = 0.8
"""Of the bindings per second that the apiserver takes from somebody who decides nothing: whoever comes so close waits
for it more than for himself."""

_TOO_SHORT = 2.0
"""Times that ceiling: nobody binds so fast. The watch has told of all pods at one go, as it does of a few tens."""

_LATE = 0.1
"""Part of the mean latency by which pods may on average be sent late: it is in the latency, and not the candidate's."""


def doubts(one: Round, readings: Readings, *, ceiling: float, capped: int) -> Iterator[str]:
    """The reasons, as sentences; none where the round is valid.

    Args:
        one: the round.
        readings: what was read of machine and scheduler.
        ceiling: bindings per second; see `Stage.ceiling`.
        capped: how many pods had to wait to be sent, because too many others were on their way.
    """
    if not one.latencies:
        yield "no pod was bound"
        return
    if one.unbound:
        yield f"{one.unbound} of {one.pods} pods were not bound: numbers of the others would flatter it"
    if one.mode == "drain" and one.throughput > _TOO_SHORT * ceiling:
        yield (
            f"the round was too short to be measured: after the warm-up, {len(one.latencies)} pods were seen bound "
            f"within {1000 * one.seconds:.2g} ms; send more pods"
        )
    elif one.mode == "drain" and one.throughput > CEILING_SHARE * ceiling:
        yield (
            f"the apiserver was the limit: {one.throughput:.0f} pods/s were bound, of the {ceiling:.0f} that it takes "
            "from somebody who decides nothing"
        )
    if one.mode == "open-loop":
        yield from _client(one, capped)
    if readings.throttled:
        yield readings.throttled
    if readings.noise:
        yield readings.noise


def _client(one: Round, capped: int) -> Iterator[str]:
    latency = summary(one.latencies)["mean"]
    sent = [row for row in one.rows if row.sent is not None and row.intended is not None]
    late = sum((row.sent or 0.0) - (row.intended or 0.0) for row in sent) / max(1, len(sent))
    if capped:
        yield f"the client was the limit: {capped} pods had to wait for others to be created"
    elif late > _LATE * latency:
        yield f"the client was the limit: pods were sent {1000 * late:.2f} ms late, of {1000 * latency:.2f} ms latency"
