"""Bindings of pods that depend on the pods of other nodes: affinity, anti-affinity and topology spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.ruling import Ruling, rule_binding

from .histories import NAMESPACE, HistoryBuilder

ZONES = {"node-1": "a", "node-2": "a", "node-3": "b", "node-4": "c"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
CASE = "core/topology-spread"


def zoned(case: str = CASE) -> HistoryBuilder:
    """Four nodes in three zones, which the candidate has seen."""
    h = HistoryBuilder(case)
    for node, zone in ZONES.items():
        h.node(node, labels={"zone": zone})
    h.seen()
    return h


def term(app: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **more}


def together(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def spread(h: HistoryBuilder, *names: str) -> None:
    """Create pods of one application that is spread over zones."""
    constraint = {**term("web"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    for name in names:
        h.pod(name, labels={"app": "web"}, topologySpreadConstraints=[constraint])


def ruling(h: HistoryBuilder, pod: str) -> Ruling:
    history = h.history()
    return rule_binding(history, history.bindings[h.uid(pod)])


# -- every binding is ruled by the state at its time


def test_skew_that_later_bindings_correct_is_still_wrong() -> None:
    h = zoned()
    for name, node in (("p1", "node-1"), ("p2", "node-2"), ("p3", "node-3"), ("p4", "node-4")):
        spread(h, name)
        h.bind(name, node)
    assert [bool(ruling(h, name).reasons) for name in ("p1", "p2", "p3", "p4")] == [False, True, False, False]
    assert judge_placement(h.history(), CASE).outcome == "failed"


def test_pods_spread_in_order_of_creation_are_right() -> None:
    h = zoned()
    for number, node in enumerate(("node-1", "node-3", "node-4", "node-2", "node-4", "node-3"), 1):
        spread(h, f"p{number}")
        h.bind(f"p{number}", node)
    assert not any(ruling(h, f"p{number}").reasons for number in range(1, 7))
    assert ruling(h, "p3").feasible == ("node-4",)


def test_pod_on_another_node_of_the_same_zone_counts() -> None:
    """For each rule, the pods on the chosen node itself would allow the binding."""
    h = zoned("core/pod-affinity")
    h.pod("guard", role="filler", scheduler="other", node="node-1", labels={"app": "db"}, affinity=apart(term("web")))
    h.seen()
    h.pod("kept-away", labels={"app": "web"})
    h.bind("kept-away", "node-2")
    h.pod("stays-away", affinity=apart(term("db")))
    h.bind("stays-away", "node-2")
    h.pod("lonely", affinity=together(term("db")))
    h.bind("lonely", "node-3")
    h.pod("beside", affinity=together(term("db")))
    h.bind("beside", "node-2")
    assert [bool(ruling(h, name).reasons) for name in ("kept-away", "stays-away", "lonely", "beside")] == [
        True, True, True, False,
    ]  # fmt: skip


# -- bindings take effect in another order than that of the decisions


def test_pods_pending_at_the_same_time_may_have_been_decided_on_earlier() -> None:
    """The second pod went to another zone before the third was decided on, but its binding took effect later."""
    h = zoned()
    spread(h, "p1", "p2", "p3", "p4")
    for name, node in (("p1", "node-1"), ("p3", "node-2"), ("p2", "node-3"), ("p4", "node-4")):
        h.bind(name, node)
    assert not any(ruling(h, name).reasons for name in ("p1", "p2", "p3", "p4"))


def test_an_own_pod_that_terminates_may_still_count_in_an_earlier_view() -> None:
    """Without it, its zone would have no pod, and the others one too many."""
    h = zoned()
    spread(h, "p1", "p2", "p3", "p4")
    for name, node in (("p1", "node-1"), ("p2", "node-3"), ("p3", "node-4")):
        h.bind(name, node)
    h.seen()
    h.terminate("p1")
    h.bind("p4", "node-3")
    assert not ruling(h, "p4").reasons


@pytest.mark.parametrize(
    ("skew", "waits", "wrong"),
    [(2, True, False), (2, False, True), (1, True, True)],
    ids=["it may have come first", "it was created afterwards", "the other could not have come second"],
)
def test_a_pod_bound_earlier_may_have_been_decided_on_later(skew: int, waits: bool, wrong: bool) -> None:
    """The strict pod takes a zone without web pods only; the other, which is bound first, may go beside it."""
    h = zoned()
    constraint = {**term("web"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    strict = {"labels": {"app": "web"}, "topologySpreadConstraints": [{**constraint, "minDomains": 4}]}
    if waits:
        h.pod("strict", **strict)
    h.pod("other", labels={"app": "web"}, topologySpreadConstraints=[{**constraint, "maxSkew": skew}])
    h.bind("other", "node-1")
    if not waits:
        h.pod("strict", **strict)
    h.bind("strict", "node-2")
    found = ruling(h, "strict")
    assert bool(found.reasons) == wrong
    assert ("node-2" in found.feasible) == (not wrong)


@pytest.mark.parametrize(("middle", "wrong"), [(2, False), (1, True)], ids=["an order", "no order"])
def test_bindings_that_took_effect_in_another_order_are_right_if_they_were_decided_on_in_some(
    middle: int, wrong: bool
) -> None:
    """Each takes a zone with fewer web pods than its skew: they were decided on in the order of their skews."""
    h = zoned()
    skews = {"loose": 3, "middle": middle, "strict": 1}
    constraint = {**term("web"), "whenUnsatisfiable": "DoNotSchedule", "minDomains": 4}
    for name, skew in skews.items():
        h.pod(name, labels={"app": "web"}, topologySpreadConstraints=[{**constraint, "maxSkew": skew}])
    for name in skews:
        h.bind(name, "node-2")
    assert bool(ruling(h, "strict").reasons) == wrong


def test_pods_created_after_a_binding_cannot_justify_it() -> None:
    h = zoned()
    spread(h, "p1", "p3")
    h.bind("p1", "node-1")
    h.bind("p3", "node-2")
    spread(h, "p2", "p4")
    h.bind("p2", "node-3")
    h.bind("p4", "node-4")
    assert ruling(h, "p3").reasons


def test_pending_pods_of_other_schedulers_cannot_justify_a_binding() -> None:
    """No scheduler knows what another scheduler is about to bind."""
    h = zoned()
    h.pod("db", scheduler="other", labels={"app": "db"})
    h.pod("p1", affinity=together(term("db")))
    h.bind("p1", "node-1")
    h.bind("db", "node-1", by="system:other")
    assert ruling(h, "p1").reasons


def test_burst_on_one_node_is_wrong_in_any_order() -> None:
    h = zoned()
    names = [f"p{number}" for number in range(6)]
    spread(h, *names)
    for name in names:
        h.bind(name, "node-1")
    assert ruling(h, names[-1]).reasons
    h = zoned("core/pod-anti-affinity")
    for name in ("p1", "p2"):
        h.pod(name, labels={"app": "web"}, affinity=apart(term("web")))
    h.bind("p1", "node-1")
    h.bind("p2", "node-2")
    assert [bool(ruling(h, name).reasons) for name in ("p1", "p2")] == [False, True]


def test_pod_whose_binding_is_in_progress_counts_for_affinity() -> None:
    h = zoned("core/pod-affinity")
    h.pod("db", labels={"app": "db"})
    h.pod("web", affinity=together(term("db")))
    h.bind("web", "node-1")
    h.bind("db", "node-2")
    assert not ruling(h, "web").reasons
    h.pod("astray", affinity=together(term("db")))
    h.bind("astray", "node-4")
    assert ruling(h, "astray").reasons


# -- caches lag, also for other nodes and their pods

Change = tuple["Callable[[HistoryBuilder], object]", bool]
CHANGES: dict[str, Change] = {
    "the pod of its affinity is deleted": (lambda h: h.delete("db"), False),
    "the node of that pod moves to another zone": (lambda h: h.node("node-2", labels={"zone": "b"}), False),
    "the node of that pod is deleted": (lambda h: h.remove_node("node-2"), False),
    "a pod with anti-affinity against it is created": (
        lambda h: h.pod(
            "guard", role="filler", scheduler="other", node="node-2", labels={"app": "x"}, affinity=apart(term("web"))
        ),
        False,
    ),
    "an unrelated pod is created": (
        lambda h: h.pod("cache", role="filler", scheduler="other", node="node-2", labels={"app": "cache"}), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("seen", [False, True])
def test_change_on_another_node_counts_once_it_was_seen(change: Change, seen: bool) -> None:
    happens, harmless = change
    h = zoned("core/pod-affinity")
    h.pod("db", role="filler", scheduler="other", node="node-2", labels={"app": "db"})
    h.seen()
    h.pod("web", labels={"app": "web"}, affinity=together(term("db")))
    happens(h)
    if seen:
        h.seen()
    h.bind("web", "node-1")
    assert bool(ruling(h, "web").reasons) is (seen and not harmless)


# -- namespaces


def test_namespace_selectors_are_judged_by_recorded_labels() -> None:
    """A history saved before labels were recorded cannot be judged by them."""
    own = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
    for labels, guessed, wrong in (
        ({"team": "red"}, False, True),
        ({"team": "blue"}, False, False),
        (None, True, True),
    ):
        h = zoned("core/affinity-namespaces")
        if labels is not None:
            h.namespace(NAMESPACE, **labels)
        h.pod("db", role="filler", scheduler="other", node="node-2", labels={"app": "db"})
        h.seen()
        h.pod("web", affinity=apart(term("db", **own)))
        h.bind("web", "node-1")
        assert (ruling(h, "web").guessed, bool(ruling(h, "web").reasons)) == (guessed, wrong)
