"""Where a pod's time goes, and what a candidate asks others for.

It is seen through taps, the audit log and the log of attempts. All of that takes time itself, so it is a pass of its
own, and none of its durations is compared with an undisturbed one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.driver import PodTimes
from schedproof.benchmark.results import Phases, PhaseTime, QueryCost, TappedLatency
from schedproof.benchmark.rounds import Order, measure
from schedproof.benchmark.stage import Stage
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.daemons.scheduler import LOG_ATTEMPTS
from schedproof.history.observations import ApiRequest
from schedproof.recording.audit import AuditTail

PHASES = ("create call", "queue", "decision", "bind", "seen on the watch")
"""In the order of time. create call: the driver's request until it is answered. queue: from there to the beginning of
the scheduling cycle. decision: to the moment when the apiserver has the Binding; it begins where the creation was
answered for a candidate that does not log its cycles, which has no queue. bind: until the apiserver has answered that.
seen on the watch: until the driver's watch shows the pod with its node."""

_PODS = 100
_ATTEMPT = re.compile(r'^I(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}).*"Attempting to schedule pod" pod="([^"]+)"')
"""klog's header (k8s.io/klog: month, day and local time), and schedule_one.go's message."""


@dataclasses.dataclass(frozen=True)
class Trace:
    """One tapped pass. `phases`: seconds of each pod, by phase. Counts and bytes are for a pod, on average.

    `tapped` and `untapped`: seconds of a pod's mean latency in this pass, and in a round before it without taps and
    without a log of attempts, on the same cluster: what looking costs.
    """

    workload: str
    candidate: str
    nodes: int
    pods: int
    phases: Mapping[str, Sequence[float]]
    prometheus: dict[str, float] | None
    extender: dict[str, float] | None
    tapped: float
    untapped: float

    def phases_result(self) -> Phases:
        return Phases(
            workload=self.workload, candidate=self.candidate, pods=self.pods,
            latency=TappedLatency(tapped=self.tapped, untapped=self.untapped),
            phases=[
                PhaseTime(name=name, mean=found["mean"], p50=found["p50"], p99=found["p99"])
                for name in PHASES
                if (found := summary(self.phases.get(name, ())))
            ],
        )  # fmt: skip

    def queries_result(self) -> QueryCost:
        return QueryCost(
            workload=self.workload, candidate=self.candidate, nodes=self.nodes, pods=self.pods,
            prometheus=self.prometheus, extender=self.extender,
        )  # fmt: skip


def trace(stage: Stage, name: str, candidate: Candidate, folder: Path) -> Trace:
    """One round, one pod at a time, on a stage whose apiserver writes an audit log."""
    records: list[tuple[float, str, dict[str, Any]]] = []

    def record(kind: str, **fields: Any) -> None:
        records.append((time.monotonic(), kind, fields))

    assert stage.cluster.audit_log is not None
    # Blocks that no other round has: names of pods are theirs.
    looked_at = Order("one-at-a-time", 0, 0, 0, count=min(_PODS, stage.workload.pods))
    with contextlib.closing(Contestant(stage, name, candidate, folder / "untapped")) as contestant:
        untapped = measure(stage, contestant, dataclasses.replace(looked_at, block=1))
    with contextlib.ExitStack() as undo:
        contestant = Contestant(stage, name, candidate, folder, record=record, flags=LOG_ATTEMPTS)
        undo.callback(contestant.close)
        epoch = time.time() - time.monotonic()
        audit = AuditTail(stage.cluster.audit_log, epoch)
        undo.callback(audit.close)
        one = measure(stage, contestant, looked_at)
        requests = list(audit.read_until(stage.cluster.api, set()))
        cycles = {}
        if contestant.attachment.scheduler_log is not None:
            with contestant.attachment.scheduler_log.open(errors="replace") as log:
                cycles = attempts(log, datetime.datetime.now().year, epoch)
        queries = [fields for moment, kind, fields in records if kind == "query" and moment >= one.began]
        calls = [fields for moment, kind, fields in records if kind == "extender" and moment >= one.began]
    bindings = {
        request.name: request
        for request in requests
        if isinstance(request, ApiRequest) and request.resource == "pods/binding"
    }
    namespace = stage.workload.measured.namespace
    phases = phases_of(
        one.bound,
        bindings,
        {pod: cycles[f"{namespace}/{pod}"] for pod in (row.pod for row in one.bound) if f"{namespace}/{pod}" in cycles},
    )
    count = len(one.bound) or 1
    return Trace(
        stage.workload.name, name, len(stage.node_names), len(one.bound), phases,
        _per_pod("queries", queries, count) if candidate.claims.network is not None else None,
        _per_pod("round_trips", calls, count) if isinstance(candidate.spec, ExtenderSpec) else None,
        *(fmean(round_.latencies) if round_.latencies else 0.0 for round_ in (one, untapped)),
    )  # fmt: skip


def attempts(log: Iterable[str], year: int, epoch: float) -> dict[str, float]:
    """When the first scheduling cycle of each pod (`namespace/name`) began, on the clock whose zero is at `epoch`."""
    found: dict[str, float] = {}
    for line in log:
        if (match := _ATTEMPT.match(line)) is not None:
            *parts, pod = match.groups()
            month, day, hour, minute, second, micro = map(int, parts)
            local = datetime.datetime(year, month, day, hour, minute, second, micro)
            found.setdefault(pod, local.timestamp() - epoch)
    return found


def phases_of(
    rows: Sequence[PodTimes], bindings: Mapping[str, ApiRequest], cycles: Mapping[str, float]
) -> dict[str, list[float]]:
    """Seconds of each pod that was bound, by phase; no less than zero, where two clocks' readings cross."""
    found: dict[str, list[float]] = {name: [] for name in PHASES}
    for row in rows:
        binding = bindings.get(row.pod)
        if binding is None or row.sent is None or row.answered is None or row.seen is None:
            continue
        found["create call"].append(row.answered - row.sent)
        begin = row.answered
        if row.pod in cycles:
            found["queue"].append(max(0.0, cycles[row.pod] - begin))
            begin = max(begin, cycles[row.pod])
        found["decision"].append(max(0.0, binding.received - begin))
        found["bind"].append(binding.completed - binding.received)
        found["seen on the watch"].append(max(0.0, row.seen - binding.completed))
    return found


def _per_pod(name: str, records: Sequence[Mapping[str, Any]], pods: int) -> dict[str, float]:
    return {name: len(records) / pods, "bytes": sum(record["bytes"] for record in records) / pods}
