"""Caches lag: a binding is wrong only if no state that the candidate may have used allows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedproof.history.acts import LineFault, ShownSeen
from schedproof.judge.rulings.ruling import Ruling, rule_binding

from .histories import NODES, HistoryBuilder

TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}
CHOSEN = {"pool": "a"}
"""Label of node-1, which the probe selects."""


def label_node_1(h: HistoryBuilder) -> None:
    """Make node-1 the only feasible node for `selecting_pod`, as seen by the candidate."""
    h.node("node-1", labels=CHOSEN)
    h.seen()


def selecting_pod(h: HistoryBuilder) -> str:
    return h.pod("probe-1", cpu="2", nodeSelector=CHOSEN)


def ruling(h: HistoryBuilder, uid: str) -> Ruling:
    history = h.history()
    return rule_binding(history, history.bindings[uid])


# -- caches lag: each change makes node-1 infeasible for the probe, and can be undone

Change = tuple["Callable[[HistoryBuilder], None]", "Callable[[HistoryBuilder], None]"]

CHANGES: dict[str, Change] = {
    "a pod of another scheduler uses the resources": (
        lambda h: h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="7") and None,
        lambda h: h.delete("filler-1"),
    ),
    "a pod of the candidate's scheduler name, created with the node, uses the resources": (
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
    "the node is recreated with fewer resources": (
        lambda h: (h.remove_node("node-1"), h.node("node-1", labels=CHOSEN, cpu="1"))[0],
        lambda h: h.node("node-1", labels=CHOSEN),
    ),
}
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@changes
def test_binding_feasible_in_an_older_state_is_right_until_the_newer_is_seen(
    change: Change,
) -> None:
    h = HistoryBuilder()
    label_node_1(h)
    uid = selecting_pod(h)
    change[0](h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()
    assert ruling(h, uid).feasible == ("node-1",)


@changes
def test_binding_infeasible_in_the_state_seen_is_wrong(change: Change) -> None:
    h = HistoryBuilder()
    label_node_1(h)
    change[0](h)
    h.seen()
    uid = selecting_pod(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons
    assert ruling(h, uid).feasible == ()


@changes
def test_state_seen_only_after_the_binding_does_not_count(change: Change) -> None:
    h = HistoryBuilder()
    label_node_1(h)
    uid = selecting_pod(h)
    change[0](h)
    changed = h.rv
    h.bind("probe-1", "node-1")
    h.seen(rv=changed)
    assert ruling(h, uid).reasons == ()


@changes
def test_change_undone_before_the_binding_does_not_matter(change: Change) -> None:
    h = HistoryBuilder()
    label_node_1(h)
    change[0](h)
    h.seen()
    change[1](h)
    uid = selecting_pod(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


@changes
def test_one_feasible_state_between_the_seen_one_and_the_binding_suffices(change: Change) -> None:
    h = HistoryBuilder()
    label_node_1(h)
    change[0](h)
    h.seen()
    uid = selecting_pod(h)
    change[1](h)
    change[0](h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_candidate_without_a_shown_view_may_have_used_any_state() -> None:
    h = HistoryBuilder()
    h.records = [record for record in h.records if record["kind"] != "seen"]
    uid = h.pod("probe-1")
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


# -- the candidate knows its own earlier bindings


def test_earlier_binding_of_the_candidate_counts_without_a_shown_view() -> None:
    h = HistoryBuilder()
    label_node_1(h)
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    uid = selecting_pod(h)
    h.bind("probe-0", "node-1")
    h.bind("probe-1", "node-1")
    assert any("cpu" in reason for reason in ruling(h, uid).reasons)


def test_earlier_binding_of_the_candidate_counts_in_every_older_state() -> None:
    """Two changes together would allow the binding, but no single state has both."""
    h = HistoryBuilder()
    label_node_1(h)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="7")
    h.seen()
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    uid = selecting_pod(h)
    h.delete("filler-1")
    h.bind("probe-0", "node-1")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons


def test_earlier_binding_of_a_deleted_pod_holds_no_resources() -> None:
    h = HistoryBuilder()
    label_node_1(h)
    h.pod("probe-0", cpu="7", nodeSelector=CHOSEN)
    h.bind("probe-0", "node-1")
    uid = selecting_pod(h)
    h.delete("probe-0")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_pod_does_not_count_against_itself() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1", cpu="8")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


@pytest.mark.parametrize("seen", [False, True])
def test_node_that_never_existed_is_wrong_whatever_was_seen(seen: bool) -> None:
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


def test_ruling_uses_the_newest_state_that_allows_the_binding() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1", cpu="2")
    h.node("node-2", taints=[TAINT])
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).feasible == ("node-1", "node-3", "node-4")


# -- nodes and pods are observed by two watches


def two_changes(h: HistoryBuilder) -> str:
    """node-1 gets its label only once it is full: no single state allows the probe, which requests half of it."""
    h.node("node-1")
    h.seen()
    uid = h.pod("probe-1", cpu="4", nodeSelector=CHOSEN)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="8")
    h.node("node-1", labels=CHOSEN)
    return uid


def test_pods_may_be_seen_at_an_earlier_revision_than_nodes() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()
    assert ruling(h, uid).feasible == ("node-1",)


def test_seen_pods_count_even_if_nodes_may_be_seen_at_an_older_revision() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.add(ShownSeen(rv=0, nodes=0, pods=h.rv, shown_at_rv=h.rv, pod="settle-1"))
    h.bind("probe-1", "node-1")
    assert any("cpu" in reason for reason in ruling(h, uid).reasons)


def test_seen_nodes_do_not_imply_seen_pods() -> None:
    h = HistoryBuilder()
    uid = two_changes(h)
    h.add(ShownSeen(rv=0, nodes=h.rv, pods=0, shown_at_rv=h.rv, pod="settle-1"))
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_nodes_may_be_seen_at_an_earlier_revision_than_pods() -> None:
    """The labelled node is full; when its resources are free, the label is gone."""
    h = HistoryBuilder()
    h.node("node-1", labels=CHOSEN)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="8")
    h.seen()
    uid = selecting_pod(h)
    h.node("node-1")
    h.delete("filler-1")
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons == ()


def test_heartbeats_do_not_make_new_versions_of_a_node() -> None:
    """The newest of equal versions represents all of them."""
    h = HistoryBuilder()
    label_node_1(h)
    uid = selecting_pod(h)
    h.node("node-1", labels=CHOSEN)
    h.node("node-1", labels=CHOSEN)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).nodes == h.rv - 1


def test_placements_of_the_candidate_fill_a_node_in_every_view() -> None:
    """This includes a view older than the placement, if only that view allows the binding."""
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


# -- after the connections to the apiserver have ended, a list is taken over pod by pod


@pytest.mark.parametrize(
    ("cut", "shown", "wrong"),
    [(True, False, False), (True, True, True), (False, False, True)],
    ids=["while it may take over the list", "after it has", "without a fault"],
)
def test_a_pod_that_came_may_not_count_where_one_that_is_gone_counts_no_longer(
    cut: bool, shown: bool, wrong: bool
) -> None:
    """The node is full at every moment: the second filler is there before the first is deleted."""
    h = HistoryBuilder()
    h.pod("first", role="filler", scheduler="other", node="node-1", cpu="7")
    h.node("node-1", labels=CHOSEN)
    h.seen()
    if cut:
        h.add(LineFault(case=h.case, line="apiserver", fault="cut", on=True))
    h.pod("second", role="filler", scheduler="other", node="node-1", cpu="7")
    h.delete("first")
    if cut:
        h.add(LineFault(case=h.case, line="apiserver", fault="", on=False))
    if shown:
        h.seen()
    uid = selecting_pod(h)
    h.bind("probe-1", "node-1")
    found = ruling(h, uid)
    assert bool(found.reasons) == wrong
    assert ("node-1" in found.feasible) == (not wrong)


def test_after_a_fault_many_pods_may_be_as_two_lists_have_them() -> None:
    """Twenty pods have come, and others are gone: the node is full at every moment."""
    h = HistoryBuilder()
    for number in range(20):
        h.pod(f"first-{number}", role="filler", scheduler="other", node="node-1", cpu="350m")
    h.node("node-1", labels=CHOSEN)
    h.seen()
    h.add(LineFault(case=h.case, line="apiserver", fault="cut", on=True))
    for number in range(20):
        h.pod(f"second-{number}", role="filler", scheduler="other", node="node-1", cpu="350m")
        h.delete(f"first-{number}")
    h.add(LineFault(case=h.case, line="apiserver", fault="", on=False))
    uid = selecting_pod(h)
    h.bind("probe-1", "node-1")
    assert not ruling(h, uid).reasons


def test_after_a_fault_a_pod_that_has_stayed_counts() -> None:
    h = HistoryBuilder()
    h.pod("stays", role="filler", scheduler="other", node="node-1", cpu="7")
    h.node("node-1", labels=CHOSEN)
    h.seen()
    h.add(LineFault(case=h.case, line="apiserver", fault="cut", on=True))
    h.pod("second", role="filler", scheduler="other", node="node-2", cpu="7")
    h.add(LineFault(case=h.case, line="apiserver", fault="", on=False))
    uid = selecting_pod(h)
    h.bind("probe-1", "node-1")
    assert ruling(h, uid).reasons
