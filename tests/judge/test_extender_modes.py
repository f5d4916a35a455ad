"""extender/empty-nodes and extender/both-cache-modes: questions of the harness's own."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, NODES, HistoryBuilder, told

EMPTY, BOTH = "extender/empty-nodes", "extender/both-cache-modes"
NAMES = [*NODES]


def asked(clause: str, *calls: dict[str, Any]) -> HistoryBuilder:
    """The verbs were asked by the harness, and a pod was bound after that."""
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
def test_a_question_about_no_node_is_answered_with_none(call: dict[str, Any], outcome: str, code: str) -> None:
    told(asked(EMPTY, {"asked": [], **call}).verdict(), outcome, code)


def both(**of_nodes: Any) -> HistoryBuilder:
    """Filter is asked with names, and answers well, then with whole nodes."""
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
def test_both_modes_have_the_same_answer_in_their_own_way(of_nodes: Any, outcome: str, code: str) -> None:
    told(both(**of_nodes).verdict(), outcome, code)


@pytest.mark.parametrize("clause", [EMPTY, BOTH])
def test_where_nothing_was_asked_nothing_is_shown(clause: str) -> None:
    told(asked(clause).verdict(), "invalid", "not-tried")
