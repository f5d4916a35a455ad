"""Caches lag: a binding is wrong only if no state that the candidate may have decided in allowed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedproof.judge.placement import rule_binding

from .histories import NODES, HistoryBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from schedproof.judge.placement import Ruling

TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}
CHOSEN = {"pool": "a"}
"""The label of node-1, which the probe selects."""


def chosen_node(h: HistoryBuilder) -> None:
    """Only node-1 is feasible for `wanting_pod`: as the candidate has seen."""
    h.node("node-1", labels=CHOSEN)
    h.seen()


def wanting_pod(h: HistoryBuilder) -> str:
    return h.pod("probe-1", cpu="2", nodeSelector=CHOSEN)


def ruling(h: HistoryBuilder, uid: str) -> Ruling:
    history = h.history()
    return rule_binding(history, history.bindings[uid])


# -- caches lag: each of these makes node-1 infeasible for the probe, and can be undone

Change = tuple["Callable[[HistoryBuilder], None]", "Callable[[HistoryBuilder], None]"]

CHANGES: dict[str, Change] = {
    "another's pod takes the room": (
        lambda h: h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="7") and None,
        lambda h: h.delete("filler-1"),
    ),
    "a pod that bears the candidate's name, but was created on the node, takes the room": (
        lambda h: h.pod("prebound-1", role="filler", node="node-1", cpu="7") and None,
        lambda h: h.delete("prebound-1"),
    ),
    "the node is tainted": (
        lambda h: h.node("node-1", labels=CHOSEN, taints=[TAINT]),
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
    "the node is cordoned": (
        lambda h: h.node("node-1", labels=CHOSEN, unschedulable=True),
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
    "the node loses its label": (
        lambda h: h.node("node-1"),
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
    "the node is deleted": (
        lambda h: h.remove_node("node-1"),
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
    "the node is created anew under its name, smaller": (
        lambda h: (h.remove_node("node-1"), h.node("node-1", labels=CHOSEN, cpu="1"))[0],
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@changes
def test_a_binding_feasible_in_an_older_state_is_not_wrong_while_the_newer_was_not_shown_as_seen(
    change: Change,
) -> None:
    h = HistoryBuilder()
    chosen_node(h)
    uid = wanting_pod(h)
    change[0](h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()
    assert ruling(h, uid).feasible == ("node-1",)


@changes
def test_once_the_newer_state_was_seen_the_binding_is_wrong(change: Change) -> None:
    h = HistoryBuilder()
    chosen_node(h)
    change[0](h)
    h.seen()
    uid = wanting_pod(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons
    assert ruling(h, uid).feasible == ()


@changes
def test_what_was_shown_as_seen_only_after_the_bind_does_not_count(change: Change) -> None:
    h = HistoryBuilder()
    chosen_node(h)
    uid = wanting_pod(h)
    change[0](h)
    changed = h.rv
    h.bind("probe-1", "node-1")
    h.seen(rv=changed)
    assert ruling(h, uid).reasons == ()


@changes
def test_a_change_undone_before_the_bind_allows_it_even_if_the_change_was_seen(change: Change) -> None:
    h = HistoryBuilder()
    chosen_node(h)
    change[0](h)
    h.seen()
    change[1](h)
    uid = wanting_pod(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


@changes
def test_one_feasible_moment_between_what_was_seen_and_the_bind_is_enough(change: Change) -> None:
    h = HistoryBuilder()
    chosen_node(h)
    change[0](h)
    h.seen()
    uid = wanting_pod(h)
    change[1](h)
    change[0](h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_a_candidate_that_was_never_seen_to_see_anything_may_have_seen_any_state() -> None:
    h = HistoryBuilder()
    h.records = [record for record in h.records if record["kind"] != "seen"]
    uid = h.pod("probe-1")
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


# -- its own earlier bindings are no news to it


def test_its_own_earlier_binding_counts_although_nothing_was_shown_as_seen() -> None:
    h = HistoryBuilder()
    chosen_node(h)
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    uid = wanting_pod(h)
    h.bind("probe-0", "node-1")
    h.bind("probe-1", "node-1")
    assert any("cpu" in reason for reason in ruling(h, uid).reasons)


def test_its_own_earlier_binding_counts_in_every_older_state() -> None:
    """Two changes together would allow it; in no single state did both hold."""
    h = HistoryBuilder()
    chosen_node(h)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="7")
    h.seen()
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    uid = wanting_pod(h)
    h.delete("filler-1")
    h.bind("probe-0", "node-1")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons


def test_its_own_earlier_binding_holds_no_room_once_that_pod_is_gone() -> None:
    h = HistoryBuilder()
    chosen_node(h)
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    h.bind("probe-0", "node-1")
    uid = wanting_pod(h)
    h.delete("probe-0")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_a_pod_is_not_in_its_own_way() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1", cpu="8")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


@pytest.mark.parametrize("seen", [False, True])
def test_a_node_that_never_existed_is_wrong_whatever_was_seen(seen: bool) -> None:
    h = HistoryBuilder()
    if seen:
        h.node("node-1", labels=CHOSEN)
        h.seen()
    uid = h.pod("probe-1")
    h.bind("probe-1", "ghost")
    assert ruling(h, uid).reasons == ("node 'ghost' does not exist",)
    assert ruling(h, uid).feasible == NODES


def test_a_node_that_joined_just_before_the_bind_is_not_wrong() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1", cpu="12")
    h.node("node-large", cpu="16")
    h.bind("probe-1", "node-large")
    assert ruling(h, uid).feasible == ("node-large",)


def test_the_newest_state_that_allows_a_binding_explains_it() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1", cpu="2")
    h.node("node-2", taints=[TAINT])
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).feasible == ("node-1", "node-3", "node-4")
