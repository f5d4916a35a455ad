"""extender/empty-nodes and extender/both-cache-modes, judged by calls of the harness."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, NODES, HistoryBuilder, told

EMPTY, BOTH = "extender/empty-nodes", "extender/both-cache-modes"
NAMES = [*NODES]


def asked(clause: str, *calls: dict[str, Any]) -> HistoryBuilder:
    """The harness calls the verbs, and then a pod is bound."""
    features = ("both-cache-modes",) if clause == BOTH else ()
    h = HistoryBuilder(clause, claims=dataclasses.replace(CLAIMS, features=features))
    for fields in calls:
        verb = fields.pop("request", "filter")
        h.call(verb, by="harness", case=clause, verb=verb, what="a question", **fields)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


@pytest.mark.parametrize(
    ("call", "outcome", "code"),
    [
        ({"answered": []}, "passed", ""),
        ({"request": "prioritize", "scores": []}, "passed", ""),
        ({"answered": None, "status": 400, "json": False, "answer": "no nodes"}, "passed", ""),
        ({"answered": None, "status": 0, "json": False}, "failed", "call-unanswered"),
        ({"answered": None, "status": 502, "json": False}, "failed", "call-unanswered"),
        ({"answered": ["node-1"]}, "failed", "unasked-node"),
        ({"request": "prioritize", "scores": [["node-2", 3]]}, "failed", "unasked-node"),
    ],
)
def test_call_without_nodes_must_return_none(call: dict[str, Any], outcome: str, code: str) -> None:
    told(asked(EMPTY, {"asked": [], **call}).verdict(), outcome, code)


def both(**of_nodes: Any) -> HistoryBuilder:
    """Call filter with names, answered as expected, and then with whole nodes."""
    usual = {"mode": "nodes", "answered_mode": "nodes", "answered": NAMES}
    return asked(BOTH, {"answered": NAMES}, {**usual, **of_nodes})


@pytest.mark.parametrize(
    ("of_nodes", "outcome", "code"),
    [
        ({}, "passed", ""),
        ({"answered": NAMES[::-1]}, "passed", ""),
        ({"answered_mode": "names"}, "failed", "wrong-cache-mode"),
        ({"answered_mode": "", "answered": None}, "failed", "wrong-cache-mode"),
        ({"answered": NAMES[1:]}, "failed", "answers-differ"),
        ({"status": 500, "json": False, "answered": None, "answer": "oops"}, "failed", "call-failed"),
    ],
)
def test_both_cache_modes_must_return_the_same_nodes(of_nodes: Any, outcome: str, code: str) -> None:
    told(both(**of_nodes).verdict(), outcome, code)


@pytest.mark.parametrize("clause", [EMPTY, BOTH])
def test_history_without_calls_is_invalid(clause: str) -> None:
    told(asked(clause).verdict(), "invalid", "not-tried")
