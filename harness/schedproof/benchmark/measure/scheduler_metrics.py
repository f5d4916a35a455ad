"""What kube-scheduler measured of itself, as a second opinion on what the harness measured.

Read once before and once after a round, from the scheduler's own /metrics; what is compared are means, a sum over a
count. Its buckets double from one to the next, so that percentiles say too little to be held against ours.

What each covers (k8s.io/kubernetes v1.36.3, pkg/scheduler/schedule_one.go):

- `scheduler_scheduling_attempt_duration_seconds`, by result: from the moment at which the pod was popped from the
  queue, through filter and score, to the end of the attempt. For `scheduled` that includes the binding: Permit, PreBind
  and the apiserver's answer to the Binding (bindingCycle observes it once the bind plugins are done; PostBind is not in
  it). For `unschedulable` and `error` it ends with the failure, preemption's PostFilter included.
- `scheduler_scheduling_algorithm_duration_seconds`: from the same moment until a node is chosen or none is found, with
  PreFilter to Score, extenders, and PostFilter; without Reserve, Permit and the binding. Over all results.
- `scheduler_pod_scheduling_sli_duration_seconds`: from the moment at which the pod first entered the active queue
  (scheduling_queue.go: InitialAttemptTimestamp; a gated pod has none yet) to the answer to its Binding, with all
  attempts and the back-off in between. Only pods that were bound.
- `scheduler_schedule_attempts_total`: attempts by result; the counts of the first, in a series of its own.
- `rest_client_rate_limiter_duration_seconds` (client-go, rest/request.go): how long each request waited for the
  client's own QPS limit before it was sent. Bindings, status updates and events alike: it does not say which.

/metrics is not open to all: the reader's identity needs `get` on the nonResourceURL `/metrics`, which the
ClusterRole `system:monitoring` grants (and `cluster-admin`, which the harness has); and the scheduler must be allowed
to ask whose token that is (create tokenreviews and subjectaccessreviews), which `system:kube-scheduler` grants.
"""

from __future__ import annotations

import dataclasses
import http.client
from collections.abc import Mapping

from schedproof.benchmark.results import OwnMetricsCheck
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect, exchange

_SECONDS = 10.0
"""For one answer: some thousand lines, on a busy machine."""

_TOLERANCE = 0.05
"""Relative difference of two means that count as the same."""

_MOST_WAITING = 0.05
"""Seconds that requests wait in the client's rate limiter, per second of the round: as if one of them waited for a
twentieth of it, the size of the smallest effect that a comparison shows."""

_HALF = 0.5
"""Of what the limit lets through: a client that it holds back makes as many requests as it allows."""

_START_UP = 200
"""Requests that a scheduler has made at most when a round begins: lists, watches, and a pod to see that it works. So
many tokens may be gone of its limiter's burst."""

_LONG_WAIT = 0.05
"""Seconds that a request waits on average, from which on client-go itself says that it was throttled
(`longThrottleLatency` in rest/request.go)."""

_ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
_ATTEMPTS = "scheduler_schedule_attempts_total"
_SLI = "scheduler_pod_scheduling_sli_duration_seconds"
_ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
_LIMITER = "rest_client_rate_limiter_duration_seconds"

_SCHEDULED = "scheduled"


@dataclasses.dataclass(frozen=True)
class Total:
    """A histogram, without its buckets: seconds in all, and how many observations."""

    seconds: float = 0.0
    count: float = 0.0

    @property
    def mean(self) -> float | None:
        """Seconds; None of nothing."""
        return self.seconds / self.count if self.count else None

    def __add__(self, other: Total) -> Total:
        return Total(self.seconds + other.seconds, self.count + other.count)

    def __sub__(self, other: Total) -> Total:
        return Total(self.seconds - other.seconds, self.count - other.count)


@dataclasses.dataclass(frozen=True)
class OwnMetrics:
    """Of a kube-scheduler, since it started or between two readings.

    Attributes:
        attempt: by result: `scheduled`, `unschedulable`, `error`.
        attempts: attempts by result.
        sli: over the pods that were bound.
        algorithm: over all attempts.
        rate_limiter: over all requests to the apiserver.
    """

    attempt: Mapping[str, Total] = dataclasses.field(default_factory=dict)
    attempts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    sli: Total = Total()
    algorithm: Total = Total()
    rate_limiter: Total = Total()

    def since(self, earlier: OwnMetrics) -> OwnMetrics:
        """What was added after an earlier reading of the same process."""
        return OwnMetrics(
            {result: total - earlier.attempt.get(result, Total()) for result, total in self.attempt.items()},
            {result: count - earlier.attempts.get(result, 0.0) for result, count in self.attempts.items()},
            self.sli - earlier.sli, self.algorithm - earlier.algorithm, self.rate_limiter - earlier.rate_limiter,
        )  # fmt: skip

    def checked(self, check: CrossCheck) -> OwnMetricsCheck:
        """As bench.json has it."""
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


NONE = OwnMetrics()
"""Of a process that has only just started."""


@dataclasses.dataclass(frozen=True)
class CrossCheck:
    """Whether the two clocks agree within 5 %, or their difference has an `explanation`; else, how they disagree."""

    measured_mean: float
    agrees: bool
    explanation: str = ""


def fetch(port: int, token: str, *, host: str = "127.0.0.1") -> OwnMetrics:
    """Read /metrics of a kube-scheduler. It signs its own certificate, so nothing is verified: for loopback.

    Raises:
        HostError: no answer, or a refusal; with what to grant.
    """
    connection, headers = connect(f"https://{host}:{port}", _SECONDS), {"Authorization": f"Bearer {token}"}
    status, text = exchange(connection, "GET", "/metrics", headers=headers)
    if not status:
        raise HostError(
            f"no answer from kube-scheduler's /metrics: {text}", remedy="check in its log whether it still runs"
        )
    if status != http.client.OK:
        raise HostError(
            f"kube-scheduler's /metrics: {status} {text.strip()[:300]}",
            remedy="the identity needs the ClusterRole system:monitoring (get on the nonResourceURL /metrics)",
        )
    return parse(text)


def parse(text: str) -> OwnMetrics:
    """Read Prometheus' text format. A series that is not there is zero: it appears with its first observation."""
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
    return OwnMetrics(attempt, attempts, totals[_SLI], totals[_ALGORITHM], totals[_LIMITER])


def throttled(metrics: OwnMetrics, seconds: float, limits: Mapping[str, float]) -> str:
    """Why a client's own QPS limit, and not the scheduler, was measured in a round of so many seconds; "" if not.

    Requests wait side by side, so that their waits may add up to more than the round. On a busy machine a request may
    also wait for a processor while it is in the limiter; that is no throttling where the limit let all of them through.

    Args:
        metrics: of this round.
        seconds: the round took.
        limits: `qps` and `burst` of the scheduler's own client; empty where they are not known. A plugin may have made
            a client of its own, with limits of its own: its waits are told by their length.
    """
    waited, count = metrics.rate_limiter.seconds, metrics.rate_limiter.count
    if waited <= _MOST_WAITING * seconds:
        return ""
    burst = limits.get("burst", 0.0)
    let_through = max(burst - _START_UP, min(burst, _HALF * limits.get("qps", 0.0) * seconds))
    if count <= let_through and waited < _LONG_WAIT * count:
        return ""
    return (
        f"the scheduler's client was throttled: {count:.0f} requests waited {waited:.1f} s in all for its QPS limit, "
        f"in a round of {seconds:.1f} s; raise clientConnection.qps and burst"
    )


def cross_check(
    own: OwnMetrics,
    measured_mean: float,
    *,
    pods: int | None = None,
    leeway: float = 0.0,
    within: str = "",
) -> CrossCheck:
    """Hold the harness's mean latency against the scheduler's own, from queue to binding (`sli`).

    Args:
        own: over the round.
        measured_mean: seconds until a binding was seen, over every pod that was bound: the scheduler's sum knows no
            warm-up. One at a time, open-loop: since the create call was sent. In a drain: since the candidate was
            started.
        pods: how many the harness saw bound.
        leeway: seconds, on average, that the scheduler's clock cannot know of. One at a time, open-loop: until it hears
            of the pod, and until the harness hears of its binding. In a drain: until the first binding was seen, as
            its start-up is on no clock of its own.
        within: what that is, in words.
    """
    own_mean = own.sli.mean
    if own_mean is None:
        return CrossCheck(measured_mean, agrees=False, explanation="the scheduler reports that it bound no pod")
    if pods is not None and own.sli.count != pods:
        many = f"the scheduler reports that it bound {own.sli.count:.0f} pods, and {pods} were seen"
        return CrossCheck(measured_mean, agrees=False, explanation=many)
    if abs(measured_mean - own_mean) <= _TOLERANCE * own_mean:
        return CrossCheck(measured_mean, agrees=True)
    here, there, apart, long = (
        f"{seconds * 1000:.3g} ms" for seconds in (measured_mean, own_mean, abs(measured_mean - own_mean), leeway)
    )
    means = f"{here} here, {there} on its own clock"
    if own_mean > measured_mean:
        return CrossCheck(measured_mean, agrees=False, explanation=f"{means}, which starts later: one of them is wrong")
    if measured_mean - leeway > (1 + _TOLERANCE) * own_mean:
        return CrossCheck(measured_mean, agrees=False, explanation=f"{means}: {apart} per pod are unexplained")
    why = f"{means}, which starts when the pod enters its queue: within {within}, which takes {long}"
    return CrossCheck(measured_mean, agrees=True, explanation=why)
