"""The questions behind a decision and their results: queries to Prometheus, and kube-scheduler's extender calls."""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.history import History
from schedproof.history.observations import PrometheusQuery
from schedproof.judge.rulings.extender_calls import all_calls, described


def queries(history: History, case: str) -> list[PrometheusQuery]:
    """The queries that began within the case."""
    begin, end = history.span(case)
    return [query for query in history.of(PrometheusQuery) if begin <= query.begun <= end]


def found_something(query: PrometheusQuery) -> bool:
    """Whether Prometheus responded to a query with a result that is not empty."""
    empty = '"result":[]' in query.answer.replace(" ", "")
    return query.status == HTTPStatus.OK and not query.fault and not empty


def unscored(history: History, case: str) -> str:
    """A call of prioritize that began in this case and got no scores; "" if all got some, or none is configured.

    kube-scheduler ignores that, and places the pod anywhere.
    """
    for call in all_calls(history, "prioritizeVerb", case):
        if not call.cut and (call.status != HTTPStatus.OK or call.scores is None):
            return f"for {call.pod}, {described(call)}: kube-scheduler ignores that silently"
    return ""


def scores_of(history: History, case: str) -> dict[str, dict[str, float]]:
    """Pod to node to the last score that an extender gave it, in this case."""
    return {
        call.pod: {host: score for host, score in call.scores or () if isinstance(score, int | float)}
        for call in all_calls(history, "prioritizeVerb", case)
    }
