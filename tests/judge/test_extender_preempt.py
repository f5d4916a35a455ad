"""extender/preempt: what it answers about victims."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, EXTENDER, NAMESPACE, HistoryBuilder, told

CLAIMED = dataclasses.replace(CLAIMS, features=("preempt",))
PREEMPTING = {**EXTENDER, "preemptVerb": "preempt"}


def contest(extender: dict[str, Any] = PREEMPTING) -> HistoryBuilder:
    """Two full nodes, and a pod of a higher priority."""
    h = HistoryBuilder("extender/preempt", nodes=("node-1", "node-2"), claims=CLAIMED, extender=extender)
    for name, node, priority in (("a", "node-1", 10), ("b", "node-2", 10), ("equal", "node-2", 1000)):
        h.pod(name, role="holder", cpu="3900m", priority=priority)
        h.bind(name, node)
        h.expect(name, "bound")
    h.pod("p", role="preemptor", cpu="3900m", priority=1000)
    return h


def answer(h: HistoryBuilder, *, violations: dict[str, int] | None = None, **victims: list[str]) -> None:
    """The extender is asked about both nodes, and answers with victims by their names, or by what is no name."""
    known = {name: h.uid(name) for name in ("a", "b", "equal")}
    answered = {node.replace("_", "-"): [known.get(one, one) for one in pods] for node, pods in victims.items()}
    h.call(
        "preempt", pod=f"{NAMESPACE}/p", asked=None, answered=None, unreadable="",
        victims_asked={"node-1": [known["a"]], "node-2": [known["b"]]}, victims_answered=answered,
        violations_asked={"node-2": 1}, violations_answered={"node-2": 1} if violations is None else violations,
    )  # fmt: skip


def land(h: HistoryBuilder) -> HistoryBuilder:
    h.delete("a")
    h.bind("p", "node-1")
    h.expect("p", "bound")
    return h


@pytest.mark.parametrize("victims", [{"node_1": ["a"]}, {"node_1": ["a"], "node_2": ["b"]}], ids=["one left", "both"])
def test_nodes_and_victims_that_were_offered_are_legal(victims: dict[str, list[str]]) -> None:
    h = contest()
    answer(h, **victims)
    told(land(h).verdict(), "passed")


def test_another_pod_of_a_node_that_has_a_lower_priority_is_legal() -> None:
    h = contest()
    h.pod("small", role="holder", cpu="100m", priority=5)
    h.bind("small", "node-1")
    h.expect("small", "bound")
    answer(h, node_1=[h.uid("small"), "a"])
    told(land(h).verdict(), "passed")


@pytest.mark.parametrize(
    ("victims", "code"),
    [
        ({"node_3": ["a"]}, "unasked-node"),
        ({"node_1": []}, "unusable-victims"),
        ({"node_1": ["its name"]}, "unusable-victims"),
        ({"node_1": ["b"]}, "unusable-victims"),
        ({"node_2": ["equal"]}, "unusable-victims"),
    ],
    ids=["another node", "no victim", "no uid", "of another node", "of no lower priority"],
)
def test_what_kube_scheduler_cannot_use_is_not_legal(victims: dict[str, list[str]], code: str) -> None:
    h = contest()
    answer(h, **victims)
    told(land(h).verdict(), "failed", code)


@pytest.mark.parametrize("lost", [{}, {"node-1": 1, "node-2": 1}, {"node-1": 2, "node-2": 1}])
def test_of_two_nodes_with_their_victims_the_violations_are_kept_apart(lost: dict[str, int]) -> None:
    h = contest()
    answer(h, violations=lost, node_1=["a"], node_2=["b"])
    told(land(h).verdict(), "failed", "lost-violations", "node-2")


def test_of_one_node_or_of_other_victims_the_number_of_violations_does_not_matter() -> None:
    h = contest()
    h.pod("small", role="holder", cpu="100m", priority=5)
    h.bind("small", "node-2")
    h.expect("small", "bound")
    answer(h, violations={}, node_2=["b"])
    answer(h, violations={}, node_1=["a"], node_2=[h.uid("small"), "b"])
    told(land(h).verdict(), "passed")


def test_a_node_without_victims_is_left_out_where_the_extender_is_ignorable() -> None:
    h = contest({**PREEMPTING, "ignorable": True})
    answer(h, node_1=[])
    told(land(h).verdict(), "passed")


def test_an_answer_without_nodes_keeps_the_pod_waiting() -> None:
    h = contest()
    answer(h)
    h.expect("p", "bound")
    told(h.verdict(), "failed", "preemptor-not-bound")


def test_an_answer_that_cannot_be_read_fails() -> None:
    h = contest()
    h.call("preempt", victims_asked={"node-1": []}, victims_answered={}, unreadable="a list")
    told(land(h).verdict(), "failed", "call-failed")


def test_without_a_call_nothing_is_shown() -> None:
    told(land(contest()).verdict(), "invalid", "not-called")


def test_without_the_verb_there_is_nothing_to_show() -> None:
    h = contest(dict(EXTENDER))
    told(land(h).verdict(), "invalid", "not-configured")
