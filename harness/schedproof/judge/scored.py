"""What came of the questions behind a decision: the candidate's to Prometheus, and kube-scheduler's to an extender."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["found_something", "scores_of", "unscored"]


def found_something(query: Record) -> bool:
    """Whether Prometheus answered a query, and with more than an empty result."""
    empty = '"result":[]' in query["answer"].replace(" ", "")
    return query["status"] == HTTPStatus.OK and not query.get("fault") and not empty


def unscored(history: History, case: str) -> str:
    """A call of prioritize in this case that got no scores; "" where all got some, or none is configured.

    kube-scheduler ignores that, and places the pod anywhere.
    """
    for call in _prioritized(history, case):
        if call["status"] != HTTPStatus.OK or call["scores"] is None:
            said = call["error"] or call["answer"][:200] or "nothing"
            return (
                f"{call['request']} for {call['pod']} answered {call['status'] or 'not at all'} ({said}): "
                "kube-scheduler ignores that silently"
            )
    return ""


def scores_of(history: History, case: str) -> dict[str, dict[str, float]]:
    """Pod to node to the score that an extender gave it last, in this case."""
    return {
        call["pod"]: {host: score for host, score in call["scores"] or () if isinstance(score, int | float)}
        for call in _prioritized(history, case)
    }


def _prioritized(history: History, case: str) -> list[Record]:
    extender: Mapping[str, Any] = history.run["candidate"].get("extender") or {}
    verb = extender.get("config", {}).get("prioritizeVerb")
    begin, end = history.span(case)
    return [
        call
        for call in history.of("extender")
        if verb
        and call["by"] == "scheduler"
        and f"/{call['request']}".endswith(f"/{verb}")
        and begin <= call["at"] <= end
    ]
