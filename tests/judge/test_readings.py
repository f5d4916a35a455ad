"""Readings that are zero, missing or unavailable, and the cost of queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from schedproof.candidate.claims import Claims

from .histories import CLAIMS, NETWORK, NODES, HistoryBuilder, told
from .probing import AFTER, BEFORE, Choice, quietest

ZERO, MISSING, COST = "network/zero-traffic", "network/missing-node", "network/query-cost"
OUTAGES = ("network/prometheus-down", "network/prometheus-slow", "network/prometheus-error")
NOTHING = ("network/no-samples", "network/missing-all", "network/nan")
STALE = "network/stale-series"
IDLE = dict.fromkeys(NODES, 0.0)


def claiming(**network: Any) -> Claims:
    return dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, **network))


# -- network/zero-traffic


READ = '{"data": {"result": [{"metric": {}, "value": [1, "0"]}]}}'


def idle(
    *, bound: str = "node-3", load: dict[str, float] | None = None, query: dict[str, Any] | None = None, **spec: Any
) -> HistoryBuilder:
    """Create pods in an idle cluster; `query`: the response to the candidate's query."""
    h = HistoryBuilder(ZERO, claims=claiming(refresh=0.0))
    h.load(0, IDLE if load is None else load)
    h.pod("probe-1", phase=0, **spec)
    h.query(**{"answer": READ} | (query or {}))
    if bound:
        h.bind("probe-1", bound)
    h.expect("probe-1", "bound")
    return h


def test_pods_scheduled_in_an_idle_cluster_pass() -> None:
    told(idle().verdict(), "passed", "", "1")


def test_pods_not_bound_in_an_idle_cluster_fail() -> None:
    told(idle(bound="").verdict(), "failed", "not-bound-in-time", "probe-1")


def test_single_feasible_node_is_invalid() -> None:
    h = idle(nodeSelector={"kubernetes.io/hostname": "node-3"})
    told(h.verdict(), "invalid", "no-choice")


@pytest.mark.parametrize("load", [{}, {**IDLE, "node-2": 1.0}], ids=["none", "some"])
def test_cluster_not_shown_to_be_idle_is_invalid(load: dict[str, float]) -> None:
    told(idle(load=load).verdict(), "invalid", "load-not-shown")


@pytest.mark.parametrize(
    "query",
    [{"status": 503}, {"status": 0, "answer": ""}, {"answer": '{"data": {"result": []}}'}, {"fault": "down"}],
    ids=["refused", "unanswered", "nothing found", "broken"],
)
def test_candidate_without_samples_is_invalid(query: dict[str, Any]) -> None:
    told(idle(query=query).verdict(), "invalid", "no-samples-seen")


@pytest.mark.parametrize(("seconds", "code"), [(1.2, "no-samples-seen"), (3.0, "answered-late")])
def test_each_load_must_have_been_read(seconds: float, code: str) -> None:
    """While the harness does not run, its tap forwards no query."""
    h = idle()
    h.load(1, IDLE)
    h.pod("probe-2", phase=1)
    h.wait(seconds, etcd=0.1)
    h.bind("probe-2", "node-1")
    h.expect("probe-2", "bound")
    told(h.verdict(), "invalid", code)


@pytest.mark.parametrize("fields", [{"status": 0}, {"status": 500, "error": "boom"}, {"scores": None}])
@pytest.mark.parametrize("clause", [ZERO, "network/missing-node", *NOTHING])
def test_prioritize_without_scores_fails_even_if_pods_are_bound(clause: str, fields: dict[str, Any]) -> None:
    h = {ZERO: idle, "network/missing-node": lambda: missing("neutral", "node-1")}.get(
        clause, lambda: outage(case=clause)
    )()
    assert h.verdict().outcome == "passed"
    h.call("prioritize", **fields)
    told(h.verdict(), "failed", "call-failed")


# -- network/missing-node

WITHOUT = {node: rate for node, rate in BEFORE.items() if node != "node-3"}
PAIR: dict[str, Any] = {"nodeSelector": {"pair": "yes"}}
"""A pod that fits only node-3, which has no samples, and the loudest node."""


def missing(
    policy: str | None, chosen: str, *, load: dict[str, float] = WITHOUT, alone: str = "", **spec: Any
) -> HistoryBuilder:
    h = HistoryBuilder(MISSING, claims=claiming(on_missing=policy))
    h.load(0, load)
    h.node("node-3", labels={"pair": "yes", "alone": "yes"})
    h.node("node-4", labels={"pair": "yes"})
    h.seen()
    h.pod("probe-1", phase=0, **spec)
    if chosen:
        h.bind("probe-1", chosen)
    h.expect("probe-1", "bound")
    if alone:
        h.pod("alone", role="alone", phase=0, nodeSelector={"alone": "yes"})
        if alone == "bound":
            h.bind("alone", "node-3")
        h.fence()
        h.expect("alone", "unwilling" if policy == "reject" else "bound")
    return h


@pytest.mark.parametrize("policy", ["neutral", "avoid", "reject", None])
def test_quietest_known_node_passes_with_every_policy(policy: str | None) -> None:
    h = missing(policy, "node-1", alone="pending" if policy == "reject" else "bound")
    told(h.verdict(), "passed", "", "1", policy)


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [("neutral", "node-3"), ("neutral", "node-4"), ("avoid", "node-4"), ("reject", "node-4"), (None, "node-3")],
)
def test_policy_decides_between_one_known_node_and_a_missing_node(policy: str | None, chosen: str) -> None:
    assert missing(policy, chosen, **PAIR).verdict().outcome == "passed"


@pytest.mark.parametrize("chosen", ["node-2", "node-3"])
def test_any_choice_passes_without_a_claimed_policy(chosen: str) -> None:
    assert missing(None, chosen).verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("policy", "chosen", "spec", "why"),
    [
        ("neutral", "node-3", {}, "competes as the median of the known nodes"),
        ("avoid", "node-3", {}, "is chosen only if no known node is feasible"),
        ("avoid", "node-3", PAIR, "is chosen only if no known node is feasible"),
        ("reject", "node-3", {}, "is never chosen"),
        ("reject", "node-3", PAIR, "is never chosen"),
        ("neutral", "node-2", {}, "does not change that node-1 is the quietest of the known nodes"),
        ("avoid", "node-2", {}, "does not change that node-1 is the quietest of the known nodes"),
        ("reject", "node-4", {}, "does not change that node-1 is the quietest of the known nodes"),
    ],
)
def test_choice_against_the_claimed_policy_fails(policy: str, chosen: str, spec: dict[str, Any], why: str) -> None:
    verdict = missing(policy, chosen, **spec).verdict()
    told(verdict, "failed", "against-on-missing", "probe-1", chosen, policy, why)
    (decision,) = verdict.evidence.decisions
    assert decision.chosen == chosen


@pytest.mark.parametrize(
    ("policy", "chosen", "outcome"),
    [
        *((policy, "node-2", "passed") for policy in ("neutral", "avoid", "reject")),
        ("neutral", "node-3", "passed"), ("avoid", "node-3", "failed"), ("reject", "node-3", "failed"),
    ],
)  # fmt: skip
def test_any_known_node_is_right_if_none_has_traffic(policy: str, chosen: str, outcome: str) -> None:
    idle_ones = dict.fromkeys(WITHOUT, 0.0)
    assert missing(policy, chosen, load=idle_ones).verdict().outcome == outcome


@pytest.mark.parametrize("policy", ["neutral", "avoid", None])
def test_pod_left_pending_because_of_a_missing_node_fails(policy: str | None) -> None:
    told(missing(policy, "").verdict(), "failed", "not-bound-in-time", "probe-1")
    told(missing(policy, "node-1", alone="pending").verdict(), "failed", "not-bound-in-time", "alone")


def test_policy_reject_forbids_a_node_without_samples() -> None:
    told(missing("reject", "node-1", alone="bound").verdict(), "failed", "bound-against-claim", "alone", "node-3")


@pytest.mark.parametrize("load", [BEFORE, {}], ids=["all known", "none known"])
def test_load_without_any_or_with_only_missing_nodes_is_invalid(load: dict[str, float]) -> None:
    told(missing("avoid", "node-1", load=load).verdict(), "invalid", "no-choice")


def paired(
    policy: str | None, choose: Callable[[int, str, str], str], count: int = 10, *, apart: int = -1, **network: Any
) -> HistoryBuilder:
    """Pods that fit two nodes: one has no samples (each in turn), the other is the loudest.

    `apart`: number of the pod before which nothing was placed for as long as a placement may count.
    """
    h = HistoryBuilder(MISSING, claims=claiming(on_missing=policy, **network))
    for node in ("node-3", "node-4"):
        h.node(node, labels={"pair": "yes"})
    h.seen()
    for phase, (lost, known) in enumerate((("node-3", "node-4"), ("node-4", "node-3"))):
        h.load(phase, {"node-1": 1e5, "node-2": 2e5, known: 3e5})
        for number in range(count):
            pod = f"probe-{phase}-{number}"
            if number == apart:
                h.wait(NETWORK.counting)
            h.pod(pod, phase=phase, nodeSelector={"pair": "yes"})
            h.bind(pod, choose(number, lost, known))
            h.expect(pod, "bound")
            h.delete(pod)
    return h


def late(number: int, lost: str, known: str) -> str:
    return lost if number in (3, 5) else known


def among_three(policy: str, chosen: Sequence[str], *, apart: int = 9, **network: Any) -> HistoryBuilder:
    """Pods go to the nodes of `chosen` and then to the quietest; node-4 has no samples. `apart`: see `paired`."""
    h = HistoryBuilder(MISSING, claims=claiming(on_missing=policy, **network))
    h.load(0, {"node-1": 1e5, "node-2": 2e5, "node-3": 3e5})
    for number in range(10):
        if number == apart:
            h.wait(NETWORK.counting)
        h.pod(f"probe-{number}", phase=0)
        h.bind(f"probe-{number}", chosen[number] if number < len(chosen) else "node-1")
        h.expect(f"probe-{number}", "bound")
        h.delete(f"probe-{number}")
    return h


@pytest.mark.parametrize("chosen", [["node-1", "node-2"], ["node-1", "node-4"], ["node-2", "node-1"]])
@pytest.mark.parametrize(
    ("apart", "claim", "outcome"),
    [(9, "counted", "passed"), (9, None, "passed"), (9, "ignored", "failed"), (-1, "counted", "failed"),
     (1, "counted", "failed")],
)  # fmt: skip
def test_choice_due_to_earlier_placements_is_excused_by_a_later_pod(
    chosen: list[str], apart: int, claim: Any, outcome: str
) -> None:
    first = among_three("neutral", chosen, apart=apart, own_placements=claim).verdict()
    assert first.outcome == ("failed" if chosen[0] == "node-2" else outcome), first.summary


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [("neutral", ["node-4"]), ("neutral", ["node-1", "node-3"]), ("avoid", ["node-1", "node-3"])],
)
def test_quieter_node_without_placements_must_not_be_passed_over(policy: str, chosen: list[str]) -> None:
    verdict = among_three(policy, chosen, own_placements="counted").verdict()
    told(verdict, "failed", "against-on-missing", f"probe-{len(chosen) - 1}", chosen[-1])


@pytest.mark.parametrize("policy", ["avoid", "reject"])
def test_placements_do_not_excuse_an_avoided_or_rejected_node(policy: str) -> None:
    missing = among_three(policy, ["node-1", "node-4"], own_placements="counted").verdict()
    told(missing, "failed", "against-on-missing", "probe-1", "node-4")
    told(paired(policy, late, apart=9, own_placements="counted").verdict(), "failed", "against-on-missing")


def test_policy_neutral_that_always_avoids_missing_nodes_fails() -> None:
    told(paired("neutral", lambda _number, _lost, known: known).verdict(), "failed", "against-on-missing")


@pytest.mark.parametrize(
    ("choose", "count"),
    [
        (lambda number, lost, known: known if number else lost, 10),
        (lambda _, lost, known: max(lost, known), 10),
        (lambda _number, lost, _known: lost, 10),
        (lambda _number, _lost, known: known, 9),
    ],
    ids=["by lot", "a fixed order", "the median of all is less", "too few to tell"],
)
def test_policy_neutral_may_choose_either_of_equal_nodes(choose: Any, count: int) -> None:
    assert paired("neutral", choose, count).verdict().outcome == "passed"


@pytest.mark.parametrize("policy", ["avoid", "reject", None])
def test_other_policies_may_always_avoid_missing_nodes(policy: str | None) -> None:
    assert paired(policy, lambda _number, _lost, known: known).verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("policy", "scores", "code"),
    [
        ("neutral", {"node-1": 10, "node-2": 5, "node-3": 0, "node-4": 0}, "against-on-missing"),
        ("neutral", {"node-1": 10, "node-2": 5, "node-3": 10, "node-4": 0}, "against-on-missing"),
        ("avoid", {"node-1": 10, "node-2": 5, "node-3": 4, "node-4": 0}, "against-on-missing"),
        ("neutral", {"node-1": 10, "node-2": 5, "node-3": 5, "node-4": 0}, ""),
        ("avoid", {"node-1": 10, "node-2": 5, "node-3": 0, "node-4": 1}, ""),
        ("reject", {"node-1": 10, "node-2": 5, "node-4": 0}, ""),
    ],
)
def test_scores_of_an_extender_are_checked_against_the_policy(policy: str, scores: dict[str, int], code: str) -> None:
    h = missing(policy, "node-1")
    h.call("prioritize", scores=[[node, score] for node, score in scores.items()])
    told(h.verdict(), "failed" if code else "passed", code)


def test_missing_node_that_is_infeasible_is_invalid() -> None:
    h = missing("avoid", "node-1", affinity={
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node-3"]}]}
        ]}}
    })  # fmt: skip
    told(h.verdict(), "invalid", "no-choice")


# -- network/prometheus-*


def outage(
    policy: str = "schedule",
    *,
    case: str = OUTAGES[0],
    bound: str = "",
    count: int = 10,
    choose: Choice = quietest,
    after: dict[str, float] = AFTER,
    recovers: float | None = 15.0,
    faults: str = "begin, end",
    early: bool = False,
    pods: int = 2,
    claims: Claims | None = None,
) -> HistoryBuilder:
    """An outage of Prometheus, and probes after it.

    Args:
        bound: when the outage's pods are bound ("during", "after", "never"; default: as claimed).
        count: probes after the outage, half of them with the load `BEFORE`; `choose` returns their nodes.
        after: load after the outage; the load before it is `BEFORE`.
        faults: which of its begin and its end are recorded.
        early: whether the outage's pods are created before it.
    """
    when = bound or {"schedule": "during", "wait": "after"}[policy]
    awaited = "after" if policy == "wait" or when == "after" else "during"
    h = HistoryBuilder(case, claims=claims or claiming(on_outage=policy, recovers_within=recovers))
    h.load(0, BEFORE)
    outage_pods = _OutagePods(h, pods, created="before" if early else "during", bound=when, awaited=awaited)
    outage_pods.advance("before")
    if "begin" in faults:
        h.fault("down")
    outage_pods.advance("during")
    h.load(1, after)
    if "end" in faults:
        h.fault("")
    outage_pods.advance("after")
    h.fence()
    recovery(h, after, count, choose)
    return h


@dataclasses.dataclass
class _OutagePods:
    """Creation and binding of the pods of an outage before, during or after it."""

    h: HistoryBuilder
    count: int
    created: str
    bound: str
    awaited: str

    def advance(self, moment: str) -> None:
        waited: dict[str, Any] = {"deadline": "claimed recovery", "within": 15} if moment == "after" else {}
        for name in (f"outage-{number}" for number in range(self.count)):
            if moment == self.created:
                self.h.pod(name, role="outage", cpu="100m")
            if moment == self.bound:
                self.h.bind(name, "node-2")
            if moment == self.awaited:
                self.h.expect(name, "bound", **waited)


def recovery(h: HistoryBuilder, load: dict[str, float], count: int, choose: Choice) -> None:
    h.pod("recovery-1", role="recovery", phase=1)
    h.bind("recovery-1", "node-3")  # by its claim it still may be wrong
    for number in range(count):
        if number == count // 2:
            load = BEFORE
            h.load(2, load)
        probe = f"probe-{number}"
        h.pod(probe, phase=1 if number < count // 2 else 2, cpu="100m")
        h.bind(probe, choose(load))
        h.reading(probe, load)
        h.delete(probe)


@pytest.mark.parametrize("case", OUTAGES)
@pytest.mark.parametrize(
    ("policy", "what"), [("schedule", "2 pods were scheduled during it"), ("wait", "2 pods waited for its end")]
)
def test_outage_handled_as_claimed_passes(policy: str, what: str, case: str) -> None:
    told(outage(policy, case=case).verdict(), "passed", "", what, "10")


@pytest.mark.parametrize(("seconds", "outcome"), [(20.0, "passed"), (1.0, "failed")])
def test_a_probe_before_the_claimed_time_may_be_wrong_if_later_ones_are_right(seconds: float, outcome: str) -> None:
    """`seconds`: between the wrong probe and the others of its phase; 15 are claimed."""
    h = outage(count=0)
    h.pod("early", phase=1, cpu="100m")
    h.bind("early", "node-3")
    h.reading("early", AFTER)
    h.delete("early")
    h.pass_time(seconds)
    recovery(h, AFTER, 20, quietest)
    assert h.verdict().outcome == outcome


def test_recovery_is_not_judged_without_a_claimed_time() -> None:
    verdict = outage(recovers=None, count=0).verdict()
    told(verdict, "passed", "", "2")


@pytest.mark.parametrize("case", NOTHING)
@pytest.mark.parametrize("policy", ["schedule", "wait"])
def test_missing_readings_of_all_nodes_are_an_outage(policy: str, case: str) -> None:
    assert outage(policy, case=case).verdict().outcome == "passed"
    other, code = {"schedule": ("after", "not-bound-during-outage"), "wait": ("during", "bound-during-outage")}[policy]
    told(outage(policy, case=case, bound=other).verdict(), "failed", code, policy)


@pytest.mark.parametrize("case", NOTHING)
@pytest.mark.parametrize("bound", ["during", "after"])
@pytest.mark.parametrize("policies", [("schedule", "reject"), (None, "neutral")])
def test_conflicting_or_unclaimed_policies_allow_either_behavior(policies: Any, bound: str, case: str) -> None:
    on_outage, on_missing = policies
    h = outage(case=case, bound=bound, claims=claiming(on_outage=on_outage, on_missing=on_missing))
    assert h.verdict().outcome == "passed"
    told(outage(case=case, bound="never", claims=h.history().claims).verdict(), "failed", "not-bound-in-time")


def test_outage_clause_is_not_claimed_without_a_policy() -> None:
    h = HistoryBuilder(OUTAGES[0], claims=claiming(on_outage=None))
    told(h.verdict(), "not-claimed", "not-claimed", "network.on-outage")


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"bound": "never"}, ("not-bound-in-time", "outage-0", "20 s")),
        ({"bound": "after"}, ("not-bound-during-outage", "outage-0", "schedule")),
        ({"policy": "wait", "bound": "during"}, ("bound-during-outage", "node-2", "wait")),
        ({"policy": "wait", "bound": "never"}, ("not-bound-in-time", "outage-0", "15 s")),
        ({"choose": lambda _: "node-2"}, ("probe-not-on-quietest", "10 of 10")),
        ({"policy": "wait", "choose": lambda _: "node-2"}, ("probe-not-on-quietest", "10 of 10")),
        # A fixed preference for one node is right while that node is the quietest.
        ({"choose": lambda _: "node-4"}, ("probe-not-on-quietest", "5 of 10")),
        ({"choose": lambda _: "node-1"}, ("probe-not-on-quietest", "5 of 10")),
        ({"faults": "", "bound": "never"}, ("not-bound-in-time", "outage-0")),
    ],
)
def test_outage_not_handled_as_claimed_fails(changes: dict[str, Any], finding: tuple[str, ...]) -> None:
    told(outage(**changes).verdict(), "failed", *finding)


@pytest.mark.parametrize("policy", ["schedule", "wait"])
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"faults": ""}, "no-outage"),
        ({"faults": "begin"}, "no-outage"),
        ({"faults": "end"}, "no-outage"),
        ({"pods": 0}, "no-outage"),
        ({"early": True, "bound": "before"}, "no-outage"),
        ({"count": 0}, "not-tried"),
        ({"count": 9}, "random-chooser-passes"),
        ({"after": BEFORE}, "best-node-unchanged"),
    ],
)
def test_inconclusive_outage_is_invalid(policy: str, changes: dict[str, Any], code: str) -> None:
    told(outage(policy, **changes).verdict(), "invalid", code)


NO_SERIES = '{"status": "success", "data": {"result": []}}'


def summary_after_outage(*, empty_after: bool) -> str:
    """Summary for wrong probes after an outage: queries found nothing during it, and after it if `empty_after`."""
    h = HistoryBuilder(OUTAGES[0], claims=claiming(on_outage="schedule", recovers_within=15.0))
    h.load(0, BEFORE)
    h.fault("empty")
    h.query("rate(x[2s])", answer=NO_SERIES)
    h.pod("outage-1", role="outage", cpu="100m")
    h.bind("outage-1", "node-2")
    h.expect("outage-1", "bound")
    h.fault("")
    h.query("rate(x[2s])", answer=NO_SERIES)  # the server is exchanged only now
    h.load(1, AFTER)
    if empty_after:
        h.query("rate(x[2ss])", answer=NO_SERIES)
    recovery(h, AFTER, 10, lambda _: "node-1")
    verdict = h.verdict()
    told(verdict, "failed", "probe-not-on-quietest")
    return verdict.summary


def test_empty_response_caused_by_the_harness_is_not_blamed_on_the_query() -> None:
    assert "finds no series" not in summary_after_outage(empty_after=False)
    assert "the harness caused an outage of Prometheus until 0." in summary_after_outage(empty_after=False)
    assert "; its query finds no series: rate(x[2ss])" in summary_after_outage(empty_after=True)


# -- network/stale-series


def recover(h: HistoryBuilder, phase: int) -> None:
    """Readings are back, and pods go to the quietest node during two loads, numbered from `phase`."""
    for number, load in enumerate((AFTER, BEFORE), phase):
        h.load(number, load)
        for count in range(5):
            probe = f"probe-{number}-{count}"
            h.pod(probe, phase=number, cpu="100m")
            h.bind(probe, quietest(load))
            h.reading(probe, load)
            h.delete(probe)


def stale(choose: Choice, *, count: int = 5, turns: tuple[dict[str, float], ...] = (BEFORE, AFTER)) -> HistoryBuilder:
    """Samples end in each of two turns, with another quietest node; `choose` gets the last load."""
    h = HistoryBuilder(STALE, claims=claiming())
    for turn, load in enumerate(turns):
        h.load(2 * turn, load)
        h.load(2 * turn + 1, {})
        h.fault("stale")
        for number in range(count):
            pod = f"outage-{turn}-{number}"
            h.pod(pod, role="outage", phase=2 * turn + 1, cpu="100m")
            h.bind(pod, choose(load))
            h.expect(pod, "bound")
        h.fault("")
    recover(h, 4)
    return h


@pytest.mark.parametrize("node", NODES)
def test_pods_on_any_fixed_node_without_readings_pass(node: str) -> None:
    told(stale(lambda _: node).verdict(), "passed", "", "10")


def test_pods_that_follow_stale_readings_fail() -> None:
    told(stale(quietest).verdict(), "failed", "old-readings-used")


@pytest.mark.parametrize("changes", [{"count": 4}, {"turns": (BEFORE, BEFORE)}])
def test_stale_readings_are_invalid_if_chance_explains_the_placements(changes: dict[str, Any]) -> None:
    told(stale(quietest, **changes).verdict(), "invalid", "random-chooser-passes")


# -- network/prometheus-down, until the last readings are stale


def outlasting(
    choose: Choice,
    *,
    count: int = 5,
    turns: tuple[dict[str, float], ...] = (BEFORE, AFTER),
    case: str = "network/prometheus-down",
) -> HistoryBuilder:
    """Prometheus is down in each of two turns, with another quietest node before; `choose` gets the last load."""
    h = HistoryBuilder(case, claims=claiming())
    h.fault("")  # it is healed before each turn
    for turn, load in enumerate(turns):
        h.load(turn, load)
        h.fault("down")
        for number in range(count):
            pod = f"outage-{turn}-{number}"
            h.pod(pod, role="outage", phase=turn, cpu="100m")
            h.bind(pod, choose(load))
            h.expect(pod, "bound")
        h.fault("")
    recover(h, 2)
    return h


@pytest.mark.parametrize("node", NODES)
def test_pods_on_any_fixed_node_while_prometheus_is_down_pass(node: str) -> None:
    told(outlasting(lambda _: node).verdict(), "passed", "", "10")


@pytest.mark.parametrize("case", OUTAGES)
def test_pods_that_follow_the_last_readings_in_an_outage_fail(case: str) -> None:
    told(outlasting(quietest, case=case).verdict(), "failed", "old-readings-used")


@pytest.mark.parametrize("changes", [{"count": 4}, {"turns": (BEFORE, BEFORE)}])
def test_outage_is_invalid_if_chance_explains_the_placements(changes: dict[str, Any]) -> None:
    told(outlasting(quietest, **changes).verdict(), "invalid", "random-chooser-passes")


def test_pod_bound_only_after_the_second_outage_fails() -> None:
    h = outlasting(lambda _: NODES[0], turns=(BEFORE, AFTER))
    h.fault("down")
    h.pod("outage-late", role="outage", phase=1, cpu="100m")
    h.fault("")
    h.bind("outage-late", "node-1")
    h.expect("outage-late", "bound")
    told(h.verdict(), "failed", "not-bound-during-outage", "outage-late")


# -- network/query-cost


def costing(few: int, every: int, *, stray: int = 0, between: int = 0, roles: str = "few all", **spec: Any) -> Any:
    """Three decisions between two nodes with `few` queries each, and three between all nodes with `every` queries each.

    `stray`: polls during the last decision; `between`: polls outside all decisions.
    """
    h = HistoryBuilder(COST)
    for node in NODES[:2]:
        h.node(node, labels={"few": "yes"})
    h.seen()
    for role, queries, more in (("few", few, {"nodeSelector": {"few": "yes"}}), ("all", every, spec)):
        for number in range(3 if role in roles else 0):
            for _ in range(between):
                h.query()
            pod = f"{role}-{number}"
            h.pod(pod, role=role, phase=0, **more)
            for _ in range(queries + (stray if (role, number) == ("all", 2) else 0)):
                h.query()
            h.bind(pod, "node-1")
            for _ in range(between):
                h.query()
            h.expect(pod, "bound")
            h.delete(pod)
    return h


@pytest.mark.parametrize(
    ("args", "changes"),
    [((1, 1), {}), ((3, 3), {}), ((2, 1), {}), ((1, 1), {"stray": 2}), ((0, 0), {"between": 5}), ((4, 4), {})],
    ids=["one", "three", "fewer", "a poll in between", "polls only", "several"],
)
def test_query_count_independent_of_the_number_of_nodes_passes(args: tuple[int, int], changes: dict[str, Any]) -> None:
    verdict = costing(*args, **changes).verdict()
    mean = args[1] + changes.get("stray", 0) / 3
    told(verdict, "passed", "", f"{args[0]:.1f}", "2", "4", f"{mean:.1f}")
    assert verdict.evidence.measured == {
        "queries per pod between 2 of 4 nodes": args[0],
        "queries per pod between 4 of 4 nodes": pytest.approx(mean),
    }


@pytest.mark.parametrize(("few", "every"), [(2, 4), (1, 2), (4, 8)])
def test_query_count_that_grows_with_the_number_of_nodes_fails(few: int, every: int) -> None:
    facts = f"{few:.1f}", "2 of 4", f"{every:.1f}", "4 of 4"
    told(costing(few, every).verdict(), "failed", "queries-grow-with-nodes", *facts)


@pytest.mark.parametrize(
    ("h", "code"),
    [
        (costing(1, 4, roles="few"), "not-tried"),
        (costing(1, 4, roles="all"), "not-tried"),
        (costing(1, 4, nodeSelector={"few": "yes"}), "no-choice"),
        (costing(0, 0), "no-samples-seen"),
    ],
    ids=["few only", "all only", "as many nodes", "no query at all"],
)
def test_incomparable_query_counts_are_invalid(h: HistoryBuilder, code: str) -> None:
    told(h.verdict(), "invalid", code)


def test_unbound_pod_fails_the_query_cost() -> None:
    h = costing(1, 1)
    h.pod("all-9", role="all")
    h.expect("all-9", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "all-9")
