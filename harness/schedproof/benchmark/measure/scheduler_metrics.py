"""Reads kube-scheduler's own metrics, and cross-checks the harness's measurements with them.

They are read before and after a round, from the scheduler's /metrics; means are compared, a sum divided by a count.
Percentiles are not, because the histograms' buckets double in width and are too coarse.

What each metric covers (k8s.io/kubernetes v1.36.3, pkg/scheduler/schedule_one.go):

- `scheduler_scheduling_attempt_duration_seconds`, by result: from the moment at which the pod was popped from the
  queue, through filter and score, to the end of the attempt. For `scheduled` that includes the binding: Permit, PreBind
  and the apiserver's response to the Binding (bindingCycle observes it after the bind plugins, before PostBind). For
  `unschedulable` and `error` it ends with the failure, including preemption's PostFilter.
- `scheduler_scheduling_algorithm_duration_seconds`: from the same moment until a node is chosen or none is found, with
  PreFilter to Score, extenders, and PostFilter; without Reserve, Permit and the binding. Over all results.
- `scheduler_pod_scheduling_sli_duration_seconds`: from the moment at which the pod first entered the active queue
  (scheduling_queue.go: InitialAttemptTimestamp; a gated pod has none yet) to the response to its Binding, with all
  attempts and the back-off in between. Only pods that were bound.
- `scheduler_schedule_attempts_total`: attempts by result; the counts of the first metric as a separate series.
- `rest_client_rate_limiter_duration_seconds` (client-go, rest/request.go): how long each request waited for the
  client's own QPS limit before it was sent. It does not distinguish Bindings, status updates and events.

/metrics requires authorization: the reader's identity needs `get` on the nonResourceURL `/metrics`, which the
ClusterRole `system:monitoring` grants (and `cluster-admin`, which the harness has); and the scheduler must be allowed
to review tokens (create tokenreviews and subjectaccessreviews), which `system:kube-scheduler` grants.
"""

from __future__ import annotations

import dataclasses
import http.client
from collections.abc import Mapping

from schedproof.benchmark.results import OwnMetricsCheck
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect, exchange

_SECONDS = 10.0
"""Timeout of a response: some thousand lines, on a busy machine."""

_TOLERANCE = 0.05
"""Relative difference up to which two means count as equal."""

_MOST_WAITING = 0.05
"""Seconds that requests may wait in the client's rate limiter, per second of the round: a twentieth, as much as the
smallest effect that a comparison shows."""

_HALF = 0.5
"""Fraction of the requests that the limit allows: a throttled client makes nearly as many as allowed."""

_START_UP = 200
"""The most requests that a scheduler makes before a round: lists, watches, and a pod that shows that it works. As many
tokens may be missing from its limiter's burst."""

_LONG_WAIT = 0.05
"""Mean wait of a request in seconds from which client-go itself logs throttling (`longThrottleLatency` in
rest/request.go)."""

_ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
_ATTEMPTS = "scheduler_schedule_attempts_total"
_SLI = "scheduler_pod_scheduling_sli_duration_seconds"
_ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
_LIMITER = "rest_client_rate_limiter_duration_seconds"

_SCHEDULED = "scheduled"


@dataclasses.dataclass(frozen=True)
class Total:
    """A histogram without its buckets: the sum in seconds, and the number of observations."""

    seconds: float = 0.0
    count: float = 0.0

    @property
    def mean(self) -> float | None:
        """Mean in seconds; None without observations."""
        return self.seconds / self.count if self.count else None

    def __add__(self, other: Total) -> Total:
        return Total(self.seconds + other.seconds, self.count + other.count)

    def __sub__(self, other: Total) -> Total:
        return Total(self.seconds - other.seconds, self.count - other.count)


@dataclasses.dataclass(frozen=True)
class SchedulerMetrics:
    """Metrics of a kube-scheduler, since it started or between two readings.

    Attributes:
        attempt: durations by result: `scheduled`, `unschedulable`, `error`.
        attempts: number of attempts by result.
        sli: over the pods that were bound.
        algorithm: over all attempts.
        rate_limiter: over all requests to the apiserver.
    """

    attempt: Mapping[str, Total] = dataclasses.field(default_factory=dict)
    attempts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    sli: Total = Total()
    algorithm: Total = Total()
    rate_limiter: Total = Total()

    def since(self, earlier: SchedulerMetrics) -> SchedulerMetrics:
        """Return what was added since an earlier reading of the same process."""
        return SchedulerMetrics(
            {result: total - earlier.attempt.get(result, Total()) for result, total in self.attempt.items()},
            {result: count - earlier.attempts.get(result, 0.0) for result, count in self.attempts.items()},
            self.sli - earlier.sli, self.algorithm - earlier.algorithm, self.rate_limiter - earlier.rate_limiter,
        )  # fmt: skip

    def checked(self, check: CrossCheck) -> OwnMetricsCheck:
        """Return the metrics and the check as bench.json has them."""
        return OwnMetricsCheck(
            attempts=round(sum(self.attempts.values())),
            attempt_mean=self.attempt.get(_SCHEDULED, Total()).mean,
            algorithm_mean=self.algorithm.mean,
            sli_mean=self.sli.mean,
            rate_limited=self.rate_limiter.seconds,
            measured_mean=check.measured_mean,
            agrees=check.agrees,
            explanation=check.explanation,
        )


NONE = SchedulerMetrics()
"""The metrics of a process that has just started."""


@dataclasses.dataclass(frozen=True)
class CrossCheck:
    """Whether scheduler and harness agree: within 5 %, or with an `explanation`, else how they differ."""

    measured_mean: float
    agrees: bool
    explanation: str = ""


def fetch(port: int, token: str, *, host: str = "127.0.0.1") -> SchedulerMetrics:
    """Read /metrics of a kube-scheduler on the loopback interface. Its certificate is self-signed and not verified.

    Raises:
        HostError: no response, or a refusal; with the role to grant.
    """
    connection, headers = connect(f"https://{host}:{port}", _SECONDS), {"Authorization": f"Bearer {token}"}
    status, text = exchange(connection, "GET", "/metrics", headers=headers)
    if not status:
        raise HostError(
            f"no response from kube-scheduler's /metrics: {text}", remedy="check in its log whether it is still running"
        )
    if status != http.client.OK:
        raise HostError(
            f"kube-scheduler's /metrics: {status} {text.strip()[:300]}",
            remedy="grant the identity the ClusterRole system:monitoring (get on the nonResourceURL /metrics)",
        )
    return parse(text)


def parse(text: str) -> SchedulerMetrics:
    """Parse Prometheus' text format. A missing series is zero: it appears with its first observation."""
    from prometheus_client.parser import text_string_to_metric_families

    attempt: dict[str, Total] = {}
    attempts: dict[str, float] = {}
    totals = {_SLI: Total(), _ALGORITHM: Total(), _LIMITER: Total()}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            result, value = sample.labels.get("result", ""), sample.value
            if sample.name == _ATTEMPTS:
                attempts[result] = attempts.get(result, 0.0) + value
                continue
            name, _, kind = sample.name.rpartition("_")
            if kind not in ("sum", "count"):
                continue
            part = Total(seconds=value) if kind == "sum" else Total(count=value)
            if name == _ATTEMPT:
                attempt[result] = attempt.get(result, Total()) + part
            elif name in totals:
                totals[name] += part
    return SchedulerMetrics(attempt, attempts, totals[_SLI], totals[_ALGORITHM], totals[_LIMITER])


def throttled(metrics: SchedulerMetrics, seconds: float, limits: Mapping[str, float]) -> str:
    """Say why the client's QPS limit, and not the scheduler, limited a round; "" if it did not.

    Requests wait concurrently, so that their waits may add up to more than the round. On a busy machine a request may
    also wait for a CPU while it is in the limiter; that is not throttling if the limit allows all of the requests.

    Args:
        metrics: of this round.
        seconds: the duration of the round.
        limits: `qps` and `burst` of the scheduler's client; empty if unknown. A plugin may have a client with limits of
            its own; its throttling is recognised by long waits.
    """
    waited, count = metrics.rate_limiter.seconds, metrics.rate_limiter.count
    if waited <= _MOST_WAITING * seconds:
        return ""
    burst = limits.get("burst", 0.0)
    let_through = max(burst - _START_UP, min(burst, _HALF * limits.get("qps", 0.0) * seconds))
    if count <= let_through and waited < _LONG_WAIT * count:
        return ""
    return (
        f"the scheduler's client was throttled: {count:.0f} requests waited {waited:.1f} s in total for its QPS limit, "
        f"in a round of {seconds:.1f} s; raise clientConnection.qps and clientConnection.burst"
    )


def cross_check(
    own: SchedulerMetrics,
    measured_mean: float,
    *,
    pods: int | None = None,
    leeway: float = 0.0,
    within: str = "",
) -> CrossCheck:
    """Compare the harness's mean latency with the scheduler's own, from queue to binding (`sli`).

    Args:
        own: the scheduler's metrics of the round.
        measured_mean: mean seconds until a binding was seen, over all bound pods, because the scheduler's sum includes
            the warm-up. One-at-a-time and open-loop: since the create request was sent. Drain: since the candidate was
            started.
        pods: how many the harness saw bound.
        leeway: mean seconds that the scheduler cannot measure. One-at-a-time and open-loop: until the watch shows it
            the pod, and until the watch shows the harness the binding. Drain: until the first binding was seen, because
            the scheduler does not measure its own start-up.
        within: the leeway in words, for the explanation.
    """
    own_mean = own.sli.mean
    if own_mean is None:
        return CrossCheck(measured_mean, agrees=False, explanation="the scheduler reports that it bound no pod")
    if pods is not None and own.sli.count != pods:
        counts = f"the scheduler reports that it bound {own.sli.count:.0f} pods, but {pods} were seen bound"
        return CrossCheck(measured_mean, agrees=False, explanation=counts)
    if abs(measured_mean - own_mean) <= _TOLERANCE * own_mean:
        return CrossCheck(measured_mean, agrees=True)
    measured, reported, apart, allowed = (
        f"{seconds * 1000:.3g} ms" for seconds in (measured_mean, own_mean, abs(measured_mean - own_mean), leeway)
    )
    means = f"measured {measured}, the scheduler reports {reported}"
    if own_mean > measured_mean:
        why = f"{means}, although its measurement starts later: one of the two is wrong"
        return CrossCheck(measured_mean, agrees=False, explanation=why)
    if measured_mean - leeway > (1 + _TOLERANCE) * own_mean:
        return CrossCheck(measured_mean, agrees=False, explanation=f"{means}: {apart} per pod are unexplained")
    why = f"{means}, from when the pod enters its queue: explained by {within}, {allowed}"
    return CrossCheck(measured_mean, agrees=True, explanation=why)
