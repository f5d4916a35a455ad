"""Whether a candidate queries a metric that no Prometheus server of the harness has."""

from __future__ import annotations

import functools
from collections.abc import Callable

from schedproof.documents.suggestions import nearest
from schedproof.history.history import History
from schedproof.history.observations import MetricsServed, QueryReads
from schedproof.judge.rulings.scored import queries
from schedproof.judge.verdict import Finding, gives, invalid

NOT_SERVED = "metric-not-served"

_FOLLOW = frozenset({
    "against-on-missing", "burst-on-one-node", "call-failed", "no-samples-seen", "not-bound-during-outage",
    "not-bound-in-time", "old-readings-used", "probe-not-on-quietest", "ties-not-spread",
})  # fmt: skip
"""Codes of findings that may follow from a missing metric."""


def unserved(history: History, case: str) -> tuple[str, str]:
    """The first query of this case that reads a metric which no server had in the run, and that metric; "" if none.

    What was not parsed, or what names no metric, is not known to read anything. Older histories say nothing of it.
    """
    served = {name for record in history.of(MetricsServed) for name in record.names}
    reads = {record.request: record.metrics for record in history.of(QueryReads)}
    for query in queries(history, case) if served else ():
        for metric in reads.get(query.request, ()):
            if metric not in served:
                return query.request, metric
    return "", ""


def unless_not_served(judge: Callable[[History, str], Finding]) -> Callable[[History, str], Finding]:
    """The judge of a clause about readings: what may follow from a metric that is not served proves nothing.

    `judge` declares its own codes.
    """

    @functools.wraps(judge)
    def judged(history: History, case: str) -> Finding:
        finding = judge(history, case)
        if finding.code not in _FOLLOW:
            return finding
        query, metric = unserved(history, case)
        return invalid(NOT_SERVED, _said(history, query, metric), finding.evidence) if metric else finding

    return gives(NOT_SERVED, also=[judge])(judged)


def _said(history: History, query: str, metric: str) -> str:
    assert history.claims.network is not None
    claimed = history.claims.network.metric
    served = {name for record in history.of(MetricsServed) for name in record.names}
    near = nearest(metric, [claimed]) or nearest(metric, sorted(served))
    guess = f" (did you mean {near}?)" if near else ""
    return f"no Prometheus server of the harness has {metric}{guess}, which is read by its query {query}"
