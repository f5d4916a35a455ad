"""Measures the phases of a pod's latency, and the requests of a candidate to Prometheus or of the scheduler to it.

The sources are taps, the audit log and kube-scheduler's log of attempts. They slow scheduling down, so this is a
separate pass, and its durations are never compared with those of other rounds.
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
"""In chronological order. create call: from the driver's request to the response. queue: until the scheduling cycle
begins. decision: until the apiserver receives the Binding; for a candidate that does not log its cycles, there is no
queue phase, and decision begins with the response to the create call. bind: until the apiserver has answered the
Binding. seen on the watch: until the driver's watch shows the pod with its node."""

_PODS = 100
_ATTEMPT = re.compile(r'^I(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}).*"Attempting to schedule pod" pod="([^"]+)"')
"""klog's header (k8s.io/klog: month, day and local time), and schedule_one.go's message."""


@dataclasses.dataclass(frozen=True)
class Trace:
    """The result of a tapped pass. `phases`: seconds of each pod, by phase. Counts and bytes are means per pod.

    `tapped` and `untapped`: mean latency of a pod in seconds, in this pass, and in an earlier round on the same cluster
    without taps and without a log of attempts: the difference is the cost of tracing.
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
    """Trace a one-at-a-time round on a stage whose apiserver writes an audit log."""
    records: list[tuple[float, str, dict[str, Any]]] = []

    def record(kind: str, **fields: Any) -> None:
        records.append((time.monotonic(), kind, fields))

    assert stage.cluster.audit_log is not None
    # The two rounds have different blocks, because the names of their pods contain the block.
    looked_at = Order("one-at-a-time", 0, 0, 0, count=min(_PODS, stage.workload.pods))
    with contextlib.closing(Contestant(stage, name, candidate, folder / "untapped")) as contestant:
        untapped = measure(stage, contestant, dataclasses.replace(looked_at, block=1))
    with contextlib.ExitStack() as undo:
        contestant = Contestant(stage, name, candidate, folder, record=record, flags=LOG_ATTEMPTS)
        undo.callback(contestant.close)
        epoch = time.time() - time.monotonic()
        audit = AuditTail(stage.cluster.audit_log, epoch)
        undo.callback(audit.close)
        tapped = measure(stage, contestant, looked_at)
        requests = list(audit.read_until(stage.cluster.api, set()))
        cycles = {}
        if contestant.attachment.scheduler_log is not None:
            with contestant.attachment.scheduler_log.open(errors="replace") as log:
                cycles = attempts(log, datetime.datetime.now().year, epoch)
        queries = [fields for moment, kind, fields in records if kind == "query" and moment >= tapped.began]
        calls = [fields for moment, kind, fields in records if kind == "extender" and moment >= tapped.began]
    bindings = {
        request.name: request
        for request in requests
        if isinstance(request, ApiRequest) and request.resource == "pods/binding"
    }
    namespace = stage.workload.measured.namespace
    phases = phases_of(
        tapped.bound,
        bindings,
        {row.pod: cycles[key] for row in tapped.bound if (key := f"{namespace}/{row.pod}") in cycles},
    )
    count = len(tapped.bound) or 1
    return Trace(
        stage.workload.name, name, len(stage.node_names), len(tapped.bound), phases,
        _per_pod("queries", queries, count) if candidate.claims.network is not None else None,
        _per_pod("round_trips", calls, count) if isinstance(candidate.spec, ExtenderSpec) else None,
        *(fmean(round_.latencies) if round_.latencies else 0.0 for round_ in (tapped, untapped)),
    )  # fmt: skip


def attempts(log: Iterable[str], year: int, epoch: float) -> dict[str, float]:
    """Return when each pod's (`namespace/name`) first scheduling cycle began, in seconds since `epoch` (Unix time)."""
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
    """Return the seconds of each bound pod, by phase; at least 0, even if the clocks of two sources disagree."""
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
