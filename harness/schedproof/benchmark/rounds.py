"""Measures rounds: starts a contestant on its stage, sends it pods by the round's mode, and stops it."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from schedproof.benchmark import validity
from schedproof.benchmark.arrivals import pauses, poisson
from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.driver import ChurnLoad, Pods, PodTimes
from schedproof.benchmark.measure.gauges import GaugeReadings, Gauges
from schedproof.benchmark.measure.scheduler_metrics import cross_check
from schedproof.benchmark.results import Mode, OwnMetricsCheck
from schedproof.benchmark.round import Round
from schedproof.benchmark.stage import Stage, scheduled_by
from schedproof.foundation.errors import CandidateError, HostError
from schedproof.oracle.final_state.placement import Findings, judge_placement
from schedproof.oracle.final_state.pod_kinds import Placed

_ONE_AT_A_TIME = 30.0
"""Seconds to wait for each pod; see `stage._STUCK`."""


@dataclasses.dataclass(frozen=True)
class Order:
    """A round to measure: `count` pods (None: the workload's), at `rate` if open-loop; `order`: place in the block;
    `seed`: of the arrivals or pauses.
    """

    mode: Mode
    block: int
    order: int
    seed: int
    rate: float | None = None
    count: int | None = None


def measure(stage: Stage, contestant: Contestant, spec: Order) -> Round:
    """Measure a round, and restore the stage. If the candidate exits during the round, the round is wrong.

    Raises:
        SchedproofError: the candidate does not start, or the cluster is broken.
    """
    step = stage.workload.measured
    group = f"{spec.mode}-{spec.block}-{spec.order}"
    pods = stage.pods(group, step, contestant.candidate.scheduler_name, spec.count)
    try:
        observed = _observe(stage, contestant, pods, spec)
        rows = stage.rows(group)
        began = observed.created or min((row.intended for row in rows if row.intended is not None), default=0.0)
        round_ = Round(
            stage.workload.name, spec.mode, spec.rate, contestant.name, spec.block, spec.order, began,
            observed.counted_from, pods.count, rows, observed.readings.usage, observed.own_processes,
            seed=None if spec.mode == "drain" else spec.seed,
        )  # fmt: skip
        findings = _placement(stage, contestant, pods, rows, observed.bystanders)
        reasons = list(validity.doubts(round_, observed.readings, ceiling=stage.ceiling, capped=observed.capped))
        round_ = dataclasses.replace(
            round_,
            own_metrics=_own_metrics(round_, observed.readings),
            invalid=tuple(reason.text for reason in reasons),
            limit=validity.limit_of(reasons),
            wrong=(*observed.ended, *findings.sentences),
            not_judged=findings.not_judged,
        )
    except BaseException:
        # Deleting fails if no pods exist yet; the first error is the one to report.
        with contextlib.suppress(HostError):
            stage.driver.delete(group)
        raise
    stage.driver.delete(group)
    stage.restore()
    return round_


@dataclasses.dataclass(frozen=True)
class _Observed:
    """What was seen of a round. `created`: when a drain's candidate was started on its full queue; 0.0 in other modes.
    `ended`: the error of a candidate that exited.
    """

    created: float
    counted_from: float
    readings: GaugeReadings
    own_processes: tuple[str, ...]
    bystanders: Sequence[Placed]
    capped: int
    ended: tuple[str, ...]


def _observe(stage: Stage, contestant: Contestant, pods: Pods, spec: Order) -> _Observed:
    """Start the contestant, send it the pods, read the gauges, and stop it."""
    capped = 0
    ended: tuple[str, ...] = ()
    drains = spec.mode == "drain"
    if drains:
        stage.driver.create(pods, watching=stage.cluster.daemons)
    contestant.publish_readings()
    try:
        gauges = Gauges(stage)
        contestant.start()
        if not drains:
            _fence(stage, contestant)
            gauges = Gauges(stage)
        gauges.follow(contestant, since_start=drains)
        with _churning(stage, contestant):
            try:
                capped = _send(stage, contestant, pods, spec)
            except CandidateError as error:
                ended = (error.message.partition("\n")[0],)
            readings = gauges.read(stage.driver.wait(pods.group, 0.0).bound)
            bystanders = stage.bystanders(pods)
        created = gauges.began if drains else 0.0
        return _Observed(
            created, gauges.began, readings, tuple(contestant.components), bystanders, capped, ended
        )  # fmt: skip
    finally:
        contestant.halt()


def _own_metrics(round_: Round, readings: GaugeReadings) -> OwnMetricsCheck | None:
    """Compare kube-scheduler's own metrics with what was measured; see `scheduler_metrics.cross_check`."""
    if readings.own is None or not round_.bound:
        return None
    seen = [row.seen for row in round_.bound if row.seen is not None]
    if round_.mode == "drain":
        mean, leeway, within = fmean(seen) - round_.began, seen[0] - round_.began, "start-up and the first decision"
    else:
        mean = fmean((row.seen or 0.0) - row.sent for row in round_.bound)
        # How long the watch takes to show a pod. A binding is shown late by the part above the fastest of these.
        heard = [row.shown - row.sent for row in round_.bound if row.shown is not None]
        leeway, within = 2 * fmean(heard) - min(heard), "the apiserver's delay in showing a pod and its binding"
    check = cross_check(readings.own, mean, pods=len(seen), leeway=leeway, within=within)
    return readings.own.checked(check)


def _fence(stage: Stage, contestant: Contestant) -> None:
    """Wait until the contestant has bound a pod: a scheduler may report ready before it can bind."""
    pods = stage.pods("fence", stage.workload.measured, contestant.candidate.scheduler_name, 1)
    try:
        stage.driver.one_at_a_time(pods, _ONE_AT_A_TIME, watching=contestant.attachment.components)
    finally:
        stage.driver.delete(pods.group)


def _send(stage: Stage, contestant: Contestant, pods: Pods, spec: Order) -> int:
    """Send the pods and wait for their bindings. Returns how many pods were sent late; see `driver.Created.capped`."""
    components = contestant.attachment.components
    if spec.mode == "one-at-a-time":
        drawn = pauses(pods.count, seed=spec.seed)
        stage.driver.one_at_a_time(pods, _ONE_AT_A_TIME, pauses=drawn, watching=components)
        return 0
    capped = 0
    if spec.mode == "open-loop":
        assert spec.rate is not None
        burst = stage.workload.measured.burst
        arrivals = poisson(spec.rate, pods.count, seed=spec.seed, burst=burst)
        capped = stage.driver.arrive(pods, arrivals, watching=components).capped
    stage.await_bound(pods.group, (*components, *stage.cluster.daemons))
    return capped


@contextlib.contextmanager
def _churning(stage: Stage, contestant: Contestant) -> Iterator[None]:
    with contextlib.ExitStack() as undo:
        for number, churn in enumerate(stage.workload.churns):
            templates = [scheduled_by(template, contestant.candidate.scheduler_name) for template in churn.templates]
            name = f"churn-{number}"
            stage.driver.start_churn(
                name, ChurnLoad(churn.mode, churn.number, templates, churn.interval, churn.namespace)
            )
            undo.callback(stage.driver.stop_churn, name)
        yield


def _placement(
    stage: Stage, contestant: Contestant, pods: Pods, rows: tuple[PodTimes, ...], others: Sequence[Placed]
) -> Findings:
    """Judge the placement of the round's pods, with `others` on the same nodes."""
    order = sorted(range(len(rows)), key=lambda n: rows[n].seen or math.inf)
    placed = [(stage.manifest(pods, n), rows[n].node or None) for n in order]
    claims = contestant.candidate.claims.network
    return judge_placement(
        stage.nodes, placed, stage.readings if claims is not None and stage.readings else None, initial=others,
        namespaces=stage.workload.namespaces, resolution=claims.resolution if claims is not None else 0.0,
    )  # fmt: skip
