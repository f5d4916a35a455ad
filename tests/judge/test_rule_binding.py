"""Caches lag: a binding is wrong only if no state that the candidate may have decided in allowed it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedproof.history.acts import ShownSeen
from schedproof.judge.rulings.ruling import Ruling, rule_binding

from .histories import NODES, HistoryBuilder

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


# -- nodes and pods are heard of by two watches


def two_changes(h: HistoryBuilder) -> str:
    """node-1 joins the pool only once it is full: no state as a whole allows the probe, which asks for half of it."""
    h.node("node-1")
    h.seen()
    uid = h.pod("probe-1", cpu="4", nodeSelector=CHOSEN)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="8")
    h.node("node-1", labels=CHOSEN)
    return uid


def test_the_pods_may_be_seen_as_of_an_earlier_revision_than_the_nodes() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()
    assert ruling(h, uid).feasible == ("node-1",)


def test_what_the_watch_of_pods_has_shown_counts_although_the_nodes_may_be_seen_as_they_were() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.add(ShownSeen(rv=0, nodes=0, pods=h.rv, shown_at_rv=h.rv, pod="settle-1"))
    h.bind("probe-1", "node-1")
    assert any("cpu" in reason for reason in ruling(h, uid).reasons)


def test_that_the_nodes_were_seen_says_nothing_of_the_pods() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.add(ShownSeen(rv=0, nodes=h.rv, pods=0, shown_at_rv=h.rv, pod="settle-1"))
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_the_nodes_may_be_seen_as_of_an_earlier_revision_than_the_pods() -> None:
    """The node that has the label is full; by the time that the room is free, the label is gone."""
    h = HistoryBuilder()
    h.node("node-1", labels=CHOSEN)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="8")
    h.seen()
    uid = wanting_pod(h)
    h.node("node-1")
    h.delete("filler-1")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_heartbeats_are_no_versions_of_a_node() -> None:
    """However many there are, the newest of those that are alike stands for them."""
    h = HistoryBuilder()
    chosen_node(h)
    uid = wanting_pod(h)
    h.node("node-1", labels=CHOSEN)
    h.node("node-1", labels=CHOSEN)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).nodes == h.rv - 1


def test_what_the_candidate_has_placed_itself_fills_a_node_in_every_view() -> None:
    """Also in one that is older than that placement, where that is the one that allows a binding."""
    h = HistoryBuilder("core/fit-cpu")
    h.seen()
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="7")
    h.pod("own-1", cpu="7")
    h.bind("own-1", "node-2")
    uid = h.pod("probe-1", cpu="2")
    h.bind("probe-1", "node-1")
    found = ruling(h, uid)
    assert not found.reasons
    assert "node-1" in found.feasible
    assert "node-2" not in found.feasible
