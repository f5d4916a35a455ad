"""extender/preempt: which victims the extender may return."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, EXTENDER, NAMESPACE, HistoryBuilder, told

CLAIMED = dataclasses.replace(CLAIMS, features=("preempt",))
PREEMPTING = {**EXTENDER, "preemptVerb": "preempt"}


def contest(extender: dict[str, Any] = PREEMPTING) -> HistoryBuilder:
    """Two full nodes with pods of a lower and of an equal priority, and a preemptor."""
    h = HistoryBuilder("extender/preempt", nodes=("node-1", "node-2"), claims=CLAIMED, extender=extender)
    for name, node, priority in (("a", "node-1", 10), ("b", "node-2", 10), ("equal", "node-2", 1000)):
        h.pod(name, role="holder", cpu="3900m", priority=priority)
        h.bind(name, node)
        h.expect(name, "bound")
    h.pod("p", role="preemptor", cpu="3900m", priority=1000)
    return h


def answer(h: HistoryBuilder, *, violations: dict[str, int] | None = None, **victims: list[str]) -> None:
    """Call preempt about both nodes; the answer has victims by the names of known pods, or other text as the UID."""
    known = {name: h.uid(name) for name in ("a", "b", "equal")}
    answered = {
        node.replace("_", "-"): [known.get(victim, victim) for victim in pods] for node, pods in victims.items()
    }
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
def test_offered_nodes_and_victims_pass(victims: dict[str, list[str]]) -> None:
    h = contest()
    answer(h, **victims)
    told(land(h).verdict(), "passed")


def test_another_victim_of_a_lower_priority_passes() -> None:
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
def test_nodes_or_victims_that_kube_scheduler_cannot_use_fail(victims: dict[str, list[str]], code: str) -> None:
    h = contest()
    answer(h, **victims)
    told(land(h).verdict(), "failed", code)


@pytest.mark.parametrize("lost", [{}, {"node-1": 1, "node-2": 1}, {"node-1": 2, "node-2": 1}])
def test_changed_violation_counts_fail_for_two_nodes_with_the_offered_victims(lost: dict[str, int]) -> None:
    h = contest()
    answer(h, violations=lost, node_1=["a"], node_2=["b"])
    told(land(h).verdict(), "failed", "lost-violations", "node-2")


def test_violation_counts_do_not_matter_for_one_node_or_other_victims() -> None:
    h = contest()
    h.pod("small", role="holder", cpu="100m", priority=5)
    h.bind("small", "node-2")
    h.expect("small", "bound")
    answer(h, violations={}, node_2=["b"])
    answer(h, violations={}, node_1=["a"], node_2=[h.uid("small"), "b"])
    told(land(h).verdict(), "passed")


def test_node_without_victims_passes_for_an_ignorable_extender() -> None:
    h = contest({**PREEMPTING, "ignorable": True})
    answer(h, node_1=[])
    told(land(h).verdict(), "passed")


def test_answer_without_nodes_leaves_the_preemptor_unbound_and_fails() -> None:
    h = contest()
    answer(h)
    h.expect("p", "bound")
    told(h.verdict(), "failed", "preemptor-not-bound")


def test_unreadable_answer_fails() -> None:
    h = contest()
    h.call("preempt", victims_asked={"node-1": []}, victims_answered={}, unreadable="a list")
    told(land(h).verdict(), "failed", "call-failed")


def test_history_without_a_preempt_call_is_invalid() -> None:
    told(land(contest()).verdict(), "invalid", "not-called")


def test_extender_without_a_preempt_verb_is_invalid() -> None:
    h = contest(dict(EXTENDER))
    told(land(h).verdict(), "invalid", "not-configured")
