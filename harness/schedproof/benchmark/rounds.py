"""Measures rounds: brings a contestant up on its stage, sends it pods in one of three ways, and takes it down again."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from statistics import fmean

from schedproof.benchmark import validity
from schedproof.benchmark.arrivals import poisson
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
"""Seconds for one pod; see `stage._STUCK`."""


@dataclasses.dataclass(frozen=True)
class Order:
    """What to measure: `count` pods (None: the workload's), offered at `rate` in an open loop; `order` in its block."""

    mode: Mode
    block: int
    order: int
    seed: int
    rate: float | None = None
    count: int | None = None


def measure(stage: Stage, contestant: Contestant, asked: Order) -> Round:
    """One round. The stage is as it was before when this returns.

    Raises:
        SchedproofError: the candidate does not start, or the cluster is broken; a candidate that ends in the middle is
            a round that is wrong.
    """
    step = stage.workload.measured
    group = f"{asked.mode}-{asked.block}-{asked.order}"
    pods = stage.pods(group, step, contestant.candidate.scheduler_name, asked.count)
    try:
        observed = _observe(stage, contestant, pods, asked)
        rows = stage.rows(group)
        began = observed.created or min((row.intended for row in rows if row.intended is not None), default=0.0)
        one = Round(
            stage.workload.name, asked.mode, asked.rate, contestant.name, asked.block, asked.order, began,
            observed.counted_from, pods.count, rows, observed.readings.usage, observed.own_processes,
        )  # fmt: skip
        findings = _placement(stage, contestant, pods, rows, observed.bystanders)
        reasons = list(validity.doubts(one, observed.readings, ceiling=stage.ceiling, capped=observed.capped))
        one = dataclasses.replace(
            one,
            own_metrics=_own_metrics(one, observed.readings),
            invalid=tuple(reason.text for reason in reasons),
            limit=validity.limit_of(reasons),
            wrong=(*observed.ended, *findings.sentences),
            not_judged=findings.not_judged,
        )
    except BaseException:
        # What is to be told is what went wrong, and not that there may be no pods yet to be deleted.
        with contextlib.suppress(HostError):
            stage.driver.delete(group)
        raise
    stage.driver.delete(group)
    stage.restore()
    return one


@dataclasses.dataclass(frozen=True)
class _Observed:
    """`created`: when the queue of a drain was full; 0.0 elsewhere. `ended`: how the candidate did, if it did."""

    created: float
    counted_from: float
    readings: GaugeReadings
    own_processes: tuple[str, ...]
    bystanders: Sequence[Placed]
    capped: int
    ended: tuple[str, ...]


def _observe(stage: Stage, contestant: Contestant, pods: Pods, asked: Order) -> _Observed:
    """Bring the contestant up, send it the pods, look at everything, and take it down."""
    created, capped = 0.0, 0
    ended: tuple[str, ...] = ()
    if asked.mode == "drain":
        stage.driver.create(pods, watching=stage.cluster.daemons)
        created = time.monotonic()
    try:
        contestant.start()
        if asked.mode != "drain":
            _fence(stage, contestant)
        gauges = Gauges(stage, contestant, since_start=asked.mode == "drain")
        with _churning(stage, contestant):
            try:
                capped = _send(stage, contestant, pods, asked)
            except CandidateError as error:
                ended = (error.message.partition("\n")[0],)
            readings = gauges.read(stage.driver.wait(pods.group, 0.0).bound)
            bystanders = stage.bystanders(pods)
        return _Observed(
            created, gauges.began, readings, tuple(contestant.components), bystanders, capped, ended
        )  # fmt: skip
    finally:
        contestant.halt()


def _own_metrics(one: Round, readings: GaugeReadings) -> OwnMetricsCheck | None:
    """What kube-scheduler says of the round, held against what we have seen; see `own_metrics.cross_check`."""
    if readings.own is None or not one.bound:
        return None
    seen = [row.seen for row in one.bound if row.seen is not None]
    if one.mode == "drain":
        mean, leeway, within = fmean(seen) - one.began, seen[0] - one.began, "start-up and the first decision"
    else:
        mean = fmean((row.seen or 0.0) - row.sent for row in one.bound)
        # A watcher hears of a pod so late, and of its binding by as much as that is later than it can be.
        heard = [row.shown - row.sent for row in one.bound if row.shown is not None]
        leeway, within = 2 * fmean(heard) - min(heard), "what the apiserver takes to tell of a pod and of its binding"
    check = cross_check(readings.own, mean, pods=len(seen), leeway=leeway, within=within)
    return readings.own.checked(check)


def _fence(stage: Stage, contestant: Contestant) -> None:
    """Until it has bound a pod: that it calls itself ready is not that it works."""
    pods = stage.pods("fence", stage.workload.measured, contestant.candidate.scheduler_name, 1)
    try:
        stage.driver.one_at_a_time(pods, _ONE_AT_A_TIME, watching=contestant.attachment.components)
    finally:
        stage.driver.delete(pods.group)


def _send(stage: Stage, contestant: Contestant, pods: Pods, asked: Order) -> int:
    """Returns how many pods had to wait to be sent."""
    components = contestant.attachment.components
    if asked.mode == "one-at-a-time":
        stage.driver.one_at_a_time(pods, _ONE_AT_A_TIME, watching=components)
        return 0
    capped = 0
    if asked.mode == "open-loop":
        assert asked.rate is not None
        burst = stage.workload.measured.burst
        arrivals = poisson(asked.rate, pods.count, seed=asked.seed, burst=burst)
        capped = stage.driver.arrive(pods, arrivals, watching=components).capped
    stage.await_bound(pods.group, (*components, *stage.cluster.daemons))
    return capped


@contextlib.contextmanager
def _churning(stage: Stage, contestant: Contestant) -> Iterator[None]:
    with contextlib.ExitStack() as undo:
        for number, churn in enumerate(stage.workload.churns):
            templates = [scheduled_by(one, contestant.candidate.scheduler_name) for one in churn.templates]
            name = f"churn-{number}"
            stage.driver.start_churn(
                name, ChurnLoad(churn.mode, churn.number, templates, churn.interval, churn.namespace)
            )
            undo.callback(stage.driver.stop_churn, name)
        yield


def _placement(
    stage: Stage, contestant: Contestant, pods: Pods, rows: tuple[PodTimes, ...], others: Sequence[Placed]
) -> Findings:
    """What is wrong with where the pods are, beside `others`."""
    order = sorted(range(len(rows)), key=lambda n: rows[n].seen or math.inf)
    placed = [(stage.manifest(pods, n), rows[n].node or None) for n in order]
    claims = contestant.candidate.claims.network
    return judge_placement(
        stage.nodes, placed, stage.readings if claims is not None and stage.readings else None, initial=others,
        namespaces=stage.workload.namespaces, resolution=claims.resolution if claims is not None else 0.0,
    )  # fmt: skip
