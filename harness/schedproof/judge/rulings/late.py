"""Decisions that came late because the machine was busy.

A candidate may decide without a response of Prometheus for which it has waited too long, and for as long after that as
it claims to need after an outage. The harness had caused no outage then, so any decision is right.

The tap measures how long Prometheus took. The tap is part of the harness, so that a candidate also waits while the
harness does not run; the record then has a reading of processes' waits that came late. If the candidate was late by
itself, the cause may be the machine or the candidate: that excuses few of its decisions.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from schedproof.candidate.claims import NetworkClaims
from schedproof.history.history import History, TestPod
from schedproof.history.observations import ExtenderCall, KeptWaiting, PrometheusQuery, Tapped

LATE = "answered-late"

PATIENCE = 0.5
"""Seconds: a candidate that has waited for a response for as long may continue without it."""
_BETWEEN_READINGS = 1.0
"""Seconds between two readings of processes' waits (`KeptWaiting`), if the harness runs."""
_LONGEST_RECOVERY = 30.0
"""Seconds: one late response excuses no more than that, whatever is claimed for outages."""
_UNUSUAL = 5.0
"""A duration of this many times its median is attributed to a slow machine."""
_ENOUGH = 8
"""The least number of durations that shows what is usual."""
_OWN_SHARE = 10
"""One in so many of a case's pods, and at least one, may have been late although Prometheus was not."""
_ONE_BY_ONE = ("probe", "undecided")
"""Roles of pods that wait for nothing, neither for each other nor for the end of a back-off."""


class LateDecisions:
    """What was late in one candidate's run."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._outages = list(_outages(history))
        more = recovery(history.claims.network)
        self._prometheus = [*self._late("Prometheus", history.of(PrometheusQuery), more), *_pauses(history, more)]
        calls = [call for call in history.of(ExtenderCall) if call.by == "scheduler"]
        asked = (call for call in calls if call.scores is not None or call.answered is not None)
        self._extender = self._late("the extender", asked, 0.0)
        self._usual = _usual([self._took(pod) for pod in history.test_pods(role="probe") if self._is_bound(pod)])
        self._own: dict[str, dict[str, str]] = {}

    def why(self, pod: TestPod) -> str:
        """Why the candidate may have decided on a bound pod without a response that it asks for; "" if it may not."""
        if why := self.why_between(pod.at, self._history.bindings[pod.uid].at):
            return why
        if pod.case not in self._own:
            pods = [*self._history.test_pods(pod.case), *self._history.released(pod.case)]
            latest = {placed.uid: placed for placed in pods if self._is_bound(placed)}.values()
            own = {placed.uid: why for placed in latest if (why := self._by_itself(placed))}
            self._own[pod.case] = own if len(own) <= max(1, len(latest) // _OWN_SHARE) else {}
        return self._own[pod.case].get(pod.uid, "")

    def why_between(self, begin: float, end: float) -> str:
        """Why it may have done so from `begin` to `end`, on the run's clock, because Prometheus or its tap was late."""
        return _overlap(self._prometheus, begin, end)

    def _by_itself(self, pod: TestPod) -> str:
        """Why it may have done so although Prometheus was in time."""
        binding = self._history.bindings[pod.uid]
        if pod.role in _ONE_BY_ONE:
            if why := _overlap(self._extender, pod.at, binding.at):
                return why
            slow = self._usual is not None and self._took(pod) >= max(PATIENCE, _UNUSUAL * self._usual)
            if slow and not self._is_staged(pod.at, binding.at):
                return f"it took {self._took(pod):.1f} s from when it was created"
            return ""
        attempts = self._history.attempts_on(pod.name, pod.uid)
        if any(attempt.succeeded and self._history.precedes_pod(attempt, pod) for attempt in attempts):
            return "its Binding was in flight since before it was allowed"
        return ""

    def _is_bound(self, pod: TestPod) -> bool:
        return pod.uid in self._history.bindings

    def _took(self, pod: TestPod) -> float:
        return self._history.bindings[pod.uid].at - pod.at

    def _late(self, whose: str, asked: Iterable[Tapped], more: float) -> list[tuple[float, float, str]]:
        """Spans in which the candidate may have decided without responses, and why; `more`: seconds after each."""
        alike: dict[str, list[Tapped]] = defaultdict(list)
        for exchange in asked:
            if not exchange.fault:
                alike[exchange.request].append(exchange)
        return [
            (
                exchange.begun,
                exchange.at + (max(exchange.seconds, more) if more else 0.0),
                f"{whose} took {exchange.seconds:.1f} s",
            )
            for group in alike.values()
            for limit in [_UNUSUAL * (_usual([exchange.seconds for exchange in group]) or 0.0)]
            for exchange in group
            if may_be_late(exchange) and exchange.seconds >= limit and not self._is_staged(exchange.begun, exchange.at)
        ]

    def _is_staged(self, begin: float, end: float) -> bool:
        """Whether the harness kept Prometheus from responding at some time of a span."""
        return any(on <= end and begin <= off for on, off in self._outages)


def _pauses(history: History, more: float) -> Iterable[tuple[float, float, str]]:
    """Spans in which the harness did not run, and with it the tap; `more`: seconds after each."""
    for reading in history.of(KeptWaiting):
        paused = reading.seconds - _BETWEEN_READINGS
        if paused >= PATIENCE:
            begin, end = reading.begun + _BETWEEN_READINGS, reading.at
            yield begin, end + (max(paused, more) if more else 0.0), f"the harness did not run for {paused:.1f} s"


def recovery(network: NetworkClaims | None) -> float:
    """Seconds after a late response for which a candidate with these claims may continue without; 0 if none claimed."""
    return min((network and network.recovers_within) or 0.0, _LONGEST_RECOVERY)


def may_be_late(asked: Tapped) -> bool:
    """Whether a response took so long that the client may have continued without it; not if the harness delayed it."""
    return not asked.fault and asked.seconds >= PATIENCE


def _outages(history: History) -> Iterable[tuple[float, float]]:
    """When the harness kept Prometheus from responding: each time until it was healed, or the case was over."""
    for outage in history.outages("prometheus"):
        yield outage.begin, min(outage.end, history.ended_at, history.span(outage.case)[1])


def _overlap(spans: Iterable[tuple[float, float, str]], begin: float, end: float) -> str:
    return next((text for since, until, text in spans if since <= end and begin <= until), "")


def _usual(seconds: Sequence[float]) -> float | None:
    """How long it usually takes; None if there are too few durations."""
    return statistics.median(seconds) if len(seconds) >= _ENOUGH else None
