"""Network preference: the quietest feasible node must get every probe, unless chance, the control or a reading prevents
proof.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT, ROTATIONS

from .histories import CLAIMS, CONTROL, CONTROL_USER, NETWORK, NODES, HistoryBuilder, told
from .probing import (
    AFTER,
    BEFORE,
    FEASIBLE,
    FLIP,
    LEAST,
    REAL,
    ROTATION,
    Choice,
    Traffic,
    flipped,
    loads,
    loudest,
    quietest,
    ranked,
    second,
    tried,
)

# -- what must pass


def test_every_probe_on_the_quietest_node_of_a_full_rotation_passes() -> None:
    verdict = tried().verdict()
    told(verdict, "passed", "", "12 of 12", "4")
    assert verdict.evidence.measured == {"probes": 12, "chance_of_a_random_chooser": pytest.approx(0.25**12)}


@pytest.mark.parametrize("case", [FLIP, REAL, "network/joins", "network/direction"])
def test_a_preference_that_follows_the_load_passes(case: str) -> None:
    assert flipped(case=case).verdict().outcome == "passed"


def test_quietest_feasible_node_is_right_if_the_quietest_is_infeasible() -> None:
    h = HistoryBuilder(LEAST)
    h.node("node-4", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    feasible = NODES[:3]
    phases = [{"node-4": 1.0, **loads(node, feasible)} for node in (*feasible, "node-1")]
    verdict = tried(phases=phases, count=4, choose=second, world=h).verdict()
    # It was not the quietest of all in any phase, so the rotation is incomplete; but no probe was wrong.
    told(verdict, "invalid", "best-node-unchanged", "3 of 4")


def test_readings_of_infeasible_nodes_do_not_matter() -> None:
    h = HistoryBuilder(FLIP)
    h.node("node-3", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    known = {node for node in NODES if node != "node-3"}
    verdict = flipped(count=8, shown=lambda traffic: {node: traffic[node] for node in known}, world=h).verdict()
    assert verdict.outcome == "passed"


def test_node_without_traffic_is_quieter_than_a_node_with_little() -> None:
    phases = [{**dict.fromkeys(NODES, 1.0), node: 0.0} for node in NODES]
    assert tried(phases=phases).verdict().outcome == "passed"


def test_one_wrong_probe_of_the_control_is_enough() -> None:
    h = tried(control=lambda traffic: "node-3" if quietest(traffic) == "node-1" else quietest(traffic))
    assert h.verdict().outcome == "passed"


def test_node_that_joins_after_the_case_does_not_matter() -> None:
    h = tried()
    h.end()
    h.node("node-5")
    assert h.verdict().outcome == "passed"


def test_only_some_of_many_nodes_need_to_be_the_quietest() -> None:
    nodes = [f"node-{n}" for n in range(1, 3 * ROTATIONS)]
    rotation = [loads(node, nodes) for node in nodes[:ROTATIONS]]
    world = HistoryBuilder(LEAST, nodes=nodes)
    assert tried(phases=rotation, count=1, control=lambda _: nodes[-1], world=world).verdict().outcome == "passed"


def undecided(node: str) -> HistoryBuilder:
    """After correct probes, node-1 and node-2 differ by less than the claimed 10 %, and all others by more."""
    h = tried()
    h.load(len(ROTATION), {"node-1": 100.0, "node-2": 109.5, "node-3": 121.0, "node-4": 121.0})
    h.pod("undecided-1", role="undecided", phase=len(ROTATION), cpu="100m")
    if node:
        h.bind("undecided-1", node)
    return h


@pytest.mark.parametrize("node", ["node-1", "node-2"])
def test_either_node_below_the_claimed_resolution_is_right(node: str) -> None:
    assert undecided(node).verdict().outcome == "passed"


@pytest.mark.parametrize("node", ["node-3", "ghost", ""])
def test_node_beyond_the_claimed_resolution_is_wrong(node: str) -> None:
    assert undecided(node).verdict().outcome == "failed"


@pytest.mark.parametrize(("wait", "outcome"), [(NETWORK.look_back, "passed"), (0.0, "failed")])
def test_node_beyond_the_claimed_resolution_may_be_due_to_earlier_placements(wait: float, outcome: str) -> None:
    h = undecided("node-3")
    h.delete("undecided-1")
    h.wait(wait)
    h.pod("undecided-2", role="undecided", phase=len(ROTATION), cpu="100m")
    h.bind("undecided-2", "node-1")
    assert h.verdict().outcome == outcome


def test_direction_is_not_claimed_for_a_metric_without_a_direction() -> None:
    claims = Claims(("network-aware",), network=dataclasses.replace(NETWORK, metric="nic_bytes_total"))
    h = HistoryBuilder("network/direction", claims=claims)
    assert h.verdict().outcome == "not-claimed"


# -- one planted defect each


@pytest.mark.parametrize("case", [LEAST, FLIP, REAL])
@pytest.mark.parametrize(
    "choose", [second, loudest, lambda _: "node-1", lambda _: "ghost"], ids=["second", "loudest", "constant", "ghost"]
)
def test_a_wrong_preference_fails(case: str, choose: Choice) -> None:
    assert tried(case, choose=choose).verdict().outcome == "failed"


def test_a_single_wrong_probe_fails_and_is_shown() -> None:
    seen: list[str] = []

    def once(traffic: Traffic) -> str:
        seen.append(second(traffic) if len(seen) == 7 else quietest(traffic))
        return seen[-1]

    verdict = tried(choose=once).verdict()
    told(verdict, "failed", "probe-not-on-quietest", "1 of 12", "sp-tested/probe-2-1")
    (decision,) = verdict.evidence.decisions
    rows = {row.node: row for row in decision.nodes}
    assert [node for node in rows if rows[node].expected] == ["node-3"]
    assert [node for node in rows if rows[node].chosen] == [seen[7]]
    assert rows["node-3"].traffic == 100_000


def test_a_preference_that_does_not_follow_the_swapped_load_fails() -> None:
    verdict = flipped(choose=lambda _: "node-1").verdict()
    told(verdict, "failed", "probe-not-on-quietest", "6 of 12")


def test_a_quiet_node_that_is_infeasible_must_not_be_chosen() -> None:
    h = HistoryBuilder(LEAST)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    assert tried(world=h).verdict().outcome == "failed"


def test_feasible_first_fails_for_an_infeasible_node() -> None:
    h = HistoryBuilder(FEASIBLE)
    h.load(0, BEFORE)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"status": 400}, "; Prometheus responded with 400 to its query rate(x[2ss])"),
        ({"answer": '{"status": "success", "data": {"result": []}}'}, "; its query finds no series: rate(x[2ss])"),
        ({"answer": '{"status": "success", "data": {"result": [{}]}}'}, ""),
        ({"status": 503, "fault": "503"}, ""),
        (
            {"status": 0, "fault": "hang"},
            "; it sent no more queries to Prometheus after a request without a response: requests need a timeout",
        ),
    ],
)
def test_summary_names_a_query_without_usable_readings(query: dict[str, Any], expected: str) -> None:
    h = HistoryBuilder(LEAST)
    h.query("rate(x[2ss])", **query)
    verdict = tried(choose=lambda _: "node-1", world=h).verdict()
    assert verdict.outcome == "failed"
    assert verdict.summary.partition("chose node-1")[2] == expected


def test_unanswered_request_followed_by_others_is_not_named() -> None:
    h = HistoryBuilder(LEAST)
    h.query(status=0, fault="hang")
    h.query()
    verdict = tried(choose=lambda _: "node-1", world=h).verdict()
    assert verdict.summary.partition("chose node-1")[2] == ""


def test_a_probe_that_is_never_bound_fails() -> None:
    verdict = tried(choose=lambda traffic: "" if quietest(traffic) == "node-2" else quietest(traffic)).verdict()
    told(verdict, "failed", "not-bound-in-time", "probe-1-0", "3 of 12")


# -- invalid histories


def close(traffic: Traffic) -> dict[str, float]:
    """The quietest node stays the quietest, but the next is within the claimed resolution."""
    least = traffic[quietest(traffic)]
    return {**traffic, second(traffic): least * (1 + 0.9 * NETWORK.resolution)}


def half_as_far(traffic: Traffic) -> dict[str, float]:
    """Loads that differ by the square of a factor are shown as differing by the factor."""
    return {node: math.sqrt(rate) for node, rate in traffic.items()}


def without(traffic: Traffic, node: str) -> dict[str, float]:
    return {name: rate for name, rate in traffic.items() if name != node}


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "nothing was tried": ({"phases": []}, "not-tried"),
    "no load": ({"phases": [{}] * 4, "choose": lambda _: "node-1"}, "load-not-distinct"),
    "equal loads": ({"phases": [dict.fromkeys(NODES, 1e5)] * 4}, "load-not-distinct"),
    "no load at all": ({"phases": [dict.fromkeys(NODES, 0.0)] * 4}, "load-not-distinct"),
    "loads within the claimed resolution": (
        {"phases": [close(traffic) for traffic in ROTATION]},
        "load-not-distinct",
    ),
    "no reading": ({"shown": lambda _: None}, "load-not-shown"),
    "a reading that lacks a node": ({"shown": lambda traffic: without(traffic, "node-3")}, "load-not-shown"),
    "a reading that is not a number": ({"shown": lambda traffic: {**traffic, "node-3": math.nan}}, "load-not-shown"),
    "readings that are no numbers": ({"shown": lambda traffic: dict.fromkeys(traffic, math.nan)}, "load-not-shown"),
    "a reading of the load before": ({"shown": lambda _: BEFORE}, "load-not-shown"),
    "a reading that does not tell the nodes apart": ({"shown": close}, "load-not-shown"),
    "no control": ({"control": None}, "control-inconclusive"),
    "a control that does not bind": ({"control": lambda _: ""}, "control-inconclusive"),
    "a control that is also right": ({"control": quietest}, "control-inconclusive"),
    "too few probes": ({"count": 2}, "random-chooser-passes"),
    "one node never the quietest": (
        {"phases": [*ROTATION[:3], ROTATION[0]]},
        "best-node-unchanged",
    ),
    "fields that the oracle does not know": ({"telepathy": True}, "oracle-gap"),
}


@pytest.mark.parametrize(("changes", "code"), INVALID.values(), ids=INVALID)
def test_inconclusive_environment_is_invalid(changes: dict[str, Any], code: str) -> None:
    told(tried(**changes).verdict(), "invalid", code)


@pytest.mark.parametrize(
    ("slow", "outcome", "code"),
    [
        ({"probe-1-1": 0.4}, "failed", "probe-not-on-quietest"), ({"probe-1-1": 2.0}, "passed", ""),
        ({f"probe-{phase}-1": 2.0 for phase in range(4)}, "invalid", "answered-late"),
    ],
)  # fmt: skip
def test_probe_with_a_query_that_may_have_timed_out_is_excused(slow: dict[str, float], outcome: str, code: str) -> None:
    told(tried(slow=slow).verdict(), outcome, code)


def test_wrong_probes_with_slow_queries_everywhere_fail() -> None:
    everywhere = {f"probe-{phase}-{number}": 2.0 for phase in range(4) for number in range(3)}
    told(tried(slow=everywhere).verdict(), "failed", "probe-not-on-quietest")


@pytest.mark.parametrize(("count", "outcome", "code"), [(5, "invalid", "answered-late"), (6, "passed", "")])
def test_additional_probe_replaces_an_excused_probe(count: int, outcome: str, code: str) -> None:
    told(flipped(count=count, slow={"probe-1-3": 2.0}).verdict(), outcome, code)


def late_probe(h: HistoryBuilder, name: str, *, took: float, node: str = "", extender: bool = False) -> None:
    """A probe of the last phase of `flipped` without a late response of Prometheus."""
    h.pod(name, phase=1, cpu="100m")
    h.wait(took)
    if extender:
        h.call("prioritize", pod=f"sp-tested/{name}", seconds=took)
    h.bind(name, node or loudest(AFTER))
    h.reading(name, AFTER)
    h.delete(name)


@pytest.mark.parametrize("extender", [True, False])
@pytest.mark.parametrize(("wrong", "outcome"), [(1, "passed"), (4, "failed")])
def test_only_few_slow_decisions_of_the_candidate_are_excused(wrong: int, outcome: str, extender: bool) -> None:
    h = flipped()
    for number in range(wrong):
        late_probe(h, f"late-{number}", took=2.0, extender=extender)
    assert h.verdict().outcome == outcome


@pytest.mark.parametrize(("seconds", "outcome"), [(3.0, "passed"), (1.2, "failed")])
def test_decisions_while_the_harness_did_not_run_are_excused(seconds: float, outcome: str) -> None:
    """Readings of processes' waits come every second, if the harness runs."""
    h = flipped()
    names = [f"late-{number}" for number in range(4)]
    for name in names:
        h.pod(name, phase=1, cpu="100m")
    h.wait(seconds, etcd=0.1)
    for name in names:
        h.bind(name, loudest(AFTER))
        h.reading(name, AFTER)
        h.delete(name)
    assert h.verdict().outcome == outcome


def test_slow_queries_are_no_excuse_if_others_are_quick() -> None:
    h = HistoryBuilder(FLIP)
    for _ in range(20):
        h.query("up")
    everywhere = {f"probe-{phase}-{number}": 2.0 for phase in range(2) for number in range(6)}
    told(flipped(slow=everywhere, world=h).verdict(), "failed", "probe-not-on-quietest")


def test_outage_without_an_end_ends_with_its_case() -> None:
    h = HistoryBuilder("network/prometheus-down")
    h.fault("down")
    h.end()
    h.begin(FLIP)
    told(flipped(slow={"probe-1-3": 2.0}, world=h).verdict(FLIP), "passed")


def test_summary_names_the_first_inconclusive_probe() -> None:
    """In the first phase, the reading of the previous load is right by coincidence."""
    verdict = tried(shown=lambda _: BEFORE).verdict()
    told(verdict, "invalid", "load-not-shown", "sp-tested/probe-1-0", "9 of 12")
    assert len(verdict.evidence.decisions) == 3


@pytest.mark.parametrize("resolution", [0.49, 0.5])
def test_loads_must_differ_by_more_than_the_claimed_resolution(resolution: float) -> None:
    claims = Claims(profiles=("network-aware",), network=dataclasses.replace(NETWORK, resolution=resolution))
    verdict = tried(world=HistoryBuilder(LEAST, claims=claims)).verdict()
    assert verdict.outcome == ("passed" if resolution < 0.5 else "invalid")
    doubled = [{node: rate**2 for node, rate in traffic.items()} for traffic in ROTATION]
    asked_more = tried(phases=doubled, shown=half_as_far, world=HistoryBuilder(LEAST, claims=claims)).verdict()
    assert asked_more.outcome == verdict.outcome


@pytest.mark.parametrize("choose", [loudest, lambda _: "node-1"], ids=["inverted", "constant"])
def test_reading_that_disagrees_with_the_load_is_invalid(choose: Choice) -> None:
    def reversed_(traffic: dict[str, float]) -> dict[str, float]:
        return dict(zip(traffic, reversed(traffic.values()), strict=True))

    assert tried(choose=choose, shown=reversed_).verdict().outcome == "invalid"


def test_wrong_choice_with_a_right_reading_fails_whatever_the_other_readings() -> None:
    """In the first phase, the reading of the previous load is right by coincidence."""
    assert tried(choose=loudest, shown=lambda _: BEFORE).verdict().outcome == "failed"


@pytest.mark.parametrize("node", ["node-1", "node-2", "node-3", "node-4"])
def test_reading_that_is_not_a_number_counts_as_missing(node: str) -> None:
    """Independent of the position that sorting would give it."""
    assert flipped(shown=lambda traffic: {**traffic, node: math.nan}).verdict().outcome == "invalid"


def test_flip_with_an_unchanged_load_is_invalid() -> None:
    verdict = flipped(phases=[BEFORE, BEFORE]).verdict()
    told(verdict, "invalid", "best-node-unchanged", "1 of 2")


def test_preference_with_one_feasible_node_is_invalid() -> None:
    assert flipped(nodeSelector={"kubernetes.io/hostname": "node-1"}).verdict().outcome == "invalid"


def test_control_pod_without_a_load_is_invalid() -> None:
    h = tried(control=None)
    h.pod("control-0", role="control", scheduler=CONTROL)
    h.bind("control-0", "node-1", by=CONTROL_USER)
    verdict = h.verdict()
    told(verdict, "invalid", "control-inconclusive", "sp-tested/control-0")


def test_few_feasible_nodes_make_a_random_chooser_more_likely() -> None:
    """12 probes suffice among 4 nodes, but not among the 2 that are left."""
    h = HistoryBuilder(FLIP)
    for node in ("node-2", "node-3"):
        h.node(node, taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    verdict = flipped(world=h).verdict()
    told(verdict, "invalid", "random-chooser-passes")
    assert verdict.evidence.measured["chance_of_a_random_chooser"] == 0.5**12 >= RANDOM_LIMIT


# -- the next best


def test_quietest_of_the_remaining_nodes_in_each_turn_passes() -> None:
    verdict = ranked().verdict()
    told(verdict, "passed", "", "15 of 15", "3")


@pytest.mark.parametrize(
    ("choose", "wrong"),
    [
        # The second choice is arbitrary: only the best node is found.
        (lambda left: left[0] if len(left) == 4 else left[-1], "10 of 15 probes"),
        (lambda left: left[min(1, len(left) - 1)], "15 of 15 probes"),
        (lambda _: "node-1", "10 of 15 probes"),
        (lambda left: left[0] if len(left) > 2 else left[1], "5 of 15 probes"),
    ],
    ids=["best or any", "second", "the quietest of all", "not the last"],
)
def test_wrong_choice_among_the_remaining_nodes_fails(choose: Callable[[Sequence[str]], str], wrong: str) -> None:
    verdict = ranked(choose=choose).verdict()
    told(verdict, "failed", "probe-not-on-quietest", wrong)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"turns": 2, "count": 8}, "best-node-unchanged"),
        ({"turns": 1, "count": 10}, "best-node-unchanged"),
        ({"count": 4}, "random-chooser-passes"),
        ({"shown": lambda _: AFTER}, "load-not-shown"),
        # The quietest node is infeasible in all turns but the first: avoiding it there does not show that traffic is
        # ignored.
        ({"control": lambda left: left[0]}, "control-inconclusive"),
    ],
    ids=["two turns", "one turn", "few probes", "another reading", "a control that is also right"],
)
def test_inconclusive_ranking_is_invalid(changes: dict[str, Any], code: str) -> None:
    told(ranked(**changes).verdict(), "invalid", code)


# -- metrics that packets can change


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "passed"),
        ({"metric": "node_network_transmit_bytes_total", "direction": "transmit"}, "passed"),
        ({"metric": "node_network_receive_packets_total"}, "skipped"),
        ({"direction": "transmit"}, "skipped"),
        ({"device": "eth1"}, "skipped"),
        ({"device": "eth0"}, "passed"),
    ],
)
def test_real_traffic_is_skipped_if_packets_do_not_change_the_claimed_metric(
    change: dict[str, Any], outcome: str
) -> None:
    claims = Claims(profiles=("network-aware",), network=dataclasses.replace(NETWORK, **change))
    assert flipped(world=HistoryBuilder(REAL, claims=claims)).verdict().outcome == outcome


def test_late_reading_at_a_decision_is_invalid() -> None:
    """Packets that are late for a moment, between the creation of the pod and its Binding."""
    history = tried()
    history.reading("probe-1-0", BEFORE)
    told(history.verdict(), "invalid", "load-not-shown", "sp-tested/probe-1-0")


@pytest.mark.parametrize(
    ("late", "source", "outcome"), [(2, "packets", "passed"), (3, "packets", "invalid"), (1, "scripted", "invalid")]
)
def test_probes_with_late_packets_are_left_out_if_the_others_suffice(late: int, source: str, outcome: str) -> None:
    history = flipped()
    for number in range(late):
        history.reading(f"probe-0-{number}", AFTER)
    for record in history.records:
        if record["kind"] == "load":
            record["source"] = source
    verdict = history.verdict()
    assert verdict.outcome == outcome
    assert (
        verdict.evidence.measured["probes"] == 12 - late
        if outcome == "passed"
        else "measured" not in verdict.evidence.model_fields_set
    )


def test_late_packets_do_not_hide_a_wrong_probe() -> None:
    history = flipped(choose=lambda traffic: "node-1" if traffic == AFTER else min(traffic, key=lambda n: traffic[n]))
    history.reading("probe-0-0", AFTER)
    for record in history.records:
        if record["kind"] == "load":
            record["source"] = "packets"
    assert history.verdict().outcome == "failed"


# -- candidates that count their own placements


def counted(
    choices: Sequence[tuple[str, bool]], own_placements: str | None = None, *, count: int = 7, phases: int = 2
) -> HistoryBuilder:
    """Probes of network/flip; `choices`: the node of each probe of the first phase, and whether it was apart."""
    claims = dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, own_placements=own_placements))
    h = HistoryBuilder(FLIP, claims=claims)
    for phase, load in enumerate((BEFORE, AFTER)[:phases]):
        h.load(phase, load)
        for number, (node, apart) in enumerate(choices if not phase else [(quietest(AFTER), True)] * count):
            if apart:
                h.wait(NETWORK.look_back)
            probe = f"probe-{phase}-{number}"
            h.pod(probe, phase=phase, cpu="100m")
            h.bind(probe, node)
            h.reading(probe, load)
            h.delete(probe)
        h.pod(f"control-{phase}", role="control", scheduler=CONTROL, phase=phase, cpu="100m")
        h.bind(f"control-{phase}", "node-2", by=CONTROL_USER)
        h.delete(f"control-{phase}")
    return h


BEST, OTHER, LOUDER = sorted(BEFORE, key=BEFORE.__getitem__)[:3]
ANEW = [(BEST, True), (OTHER, False), *[(BEST, True)] * 7]
"""The second probe followed at once and went elsewhere; then the phase was repeated, with probes further apart."""


@pytest.mark.parametrize("claim", [None, "counted"])
def test_probe_after_other_placements_is_excused_by_later_correct_probes(claim: str | None) -> None:
    verdict = counted(ANEW, claim).verdict()
    told(verdict, "passed", "", "1")
    # Seven probes after the excused one and seven in the other phase; factor 2 for two more attempts, twice.
    assert verdict.evidence.measured["chance_of_a_random_chooser"] == pytest.approx(4 * 0.25**14)


@pytest.mark.parametrize(
    ("choices", "claim"),
    [
        (ANEW, "ignored"),
        ([(BEST, True), (OTHER, True), *[(BEST, True)] * 7], None),
        ([(BEST, True), (OTHER, False), *[(BEST, True)] * 6, (OTHER, True)], None),
        ([(BEST, True), (OTHER, False), *[(BEST, False)] * 7], None),
        ([*[(BEST, True)] * 7, (OTHER, False)], None),
        ([(BEST, True), (LOUDER, False), *[(BEST, True)] * 7], None),
        ([(BEST, True), (LOUDER, False), *[(BEST, True)] * 7], "counted"),
    ],
    ids=[
        "it claims not to count",
        "it was apart",
        "so was a later one",
        "no later one was",
        "there is no later one",
        "a quieter one had got nothing",
        "which counts where placements do",
    ],
)
def test_unexcused_wrong_probe_fails(choices: Sequence[tuple[str, bool]], claim: str | None) -> None:
    told(counted(choices, claim).verdict(), "failed", "probe-not-on-quietest")


def test_louder_node_is_excused_after_placements_on_both_quieter_nodes() -> None:
    choices = [(BEST, True), (OTHER, False), (LOUDER, False), *[(BEST, True)] * 7]
    told(counted(choices).verdict(), "passed", "", "2")


def test_correct_probes_before_a_repeated_phase_do_not_count() -> None:
    told(counted([*[(BEST, True)] * 9, (OTHER, False), (BEST, True)]).verdict(), "invalid", "random-chooser-passes")


# -- network/waiting


def waited(choose: Choice, *, count: int = 6, apart: bool = True) -> HistoryBuilder:
    """Pods that are created during one load and tolerate the taint of nodes during another, in two phases."""
    h = HistoryBuilder("network/waiting")
    h.load(0, AFTER)
    for phase, load in enumerate((BEFORE, AFTER), 1):
        pods = [f"waits-{phase}-{number}" for number in range(count + 2)]
        for pod in pods:
            h.pod(pod, role="waits", cpu="100m")
        h.load(phase, load)
        for pod in pods[:count]:
            if apart:
                h.wait(NETWORK.look_back)
            h.tolerates(pod, phase)
            h.bind(pod, choose(load))
            h.reading(pod, load)
            h.delete(pod)
        h.pod(f"control-{phase}", role="control", scheduler=CONTROL, phase=phase, cpu="100m")
        h.bind(f"control-{phase}", "node-2", by=CONTROL_USER)
        h.delete(f"control-{phase}")
    return h


def test_waiting_pods_placed_by_the_current_load_pass() -> None:
    verdict = waited(quietest).verdict()
    told(verdict, "passed", "", "12 of 12")
    assert verdict.evidence.measured["chance_of_a_random_chooser"] == pytest.approx(0.25**12)


def test_waiting_pods_placed_by_the_load_at_their_creation_fail() -> None:
    told(
        waited(lambda load: quietest(AFTER if load == BEFORE else BEFORE)).verdict(), "failed", "probe-not-on-quietest"
    )


def test_waiting_pods_count_as_apart_by_the_time_of_their_toleration() -> None:
    """All pods were created long after other placements; one got its toleration right after another."""
    h = HistoryBuilder("network/waiting")
    h.load(0, BEFORE)
    for number in range(12):
        h.pod(f"waits-{number}", role="waits", cpu="100m")
    for number in range(12):
        if number != 1:
            h.wait(NETWORK.look_back)
        h.tolerates(f"waits-{number}", 0)
        h.bind(f"waits-{number}", "node-2" if number == 1 else quietest(BEFORE))
        h.reading(f"waits-{number}", BEFORE)
        h.delete(f"waits-{number}")
    told(h.verdict(), "invalid", "best-node-unchanged")  # but not failed


def test_waiting_pod_not_bound_once_it_can_be_fails() -> None:
    h = waited(quietest)
    h.pod("waits-left", role="waits", cpu="100m")
    assert h.verdict().outcome == "passed"
    h.tolerates("waits-left", 2)
    told(h.verdict(), "failed", "not-bound-in-time", "waits-left")


# -- network/bind-refused

REFUSED = "network/bind-refused"


def refused(
    choose: Choice,
    *,
    role: str = "refused",
    apart: bool = True,
    call: bool = True,
    rest: float = 0.0,
    world: HistoryBuilder | None = None,
) -> HistoryBuilder:
    """Refuse Bindings during one load and accept them during another, in two phases; bind after `rest` seconds."""
    h = world or HistoryBuilder(REFUSED)
    first = world is None
    if first:
        h.load(0, AFTER)
    for phase, load in enumerate((BEFORE, AFTER), 1):
        pods = [f"{role}-{phase}-{number}" for number in range(6)]
        for number, pod in enumerate(pods):
            h.pod(pod, role=role, cpu="10m")
            if call:
                h.admission(pod, f"{phase}-{number}", code=500)
        if first:
            h.load(phase, load)
        for pod in pods:
            if apart:
                h.wait(NETWORK.look_back)
            h.accepts(pod, phase)
            h.wait(rest)
            h.bind(pod, choose(load))
            h.reading(pod, load)
            h.delete(pod)
        h.pod(f"control-{role}-{phase}", role="control", scheduler=CONTROL, phase=phase, cpu="100m")
        h.bind(f"control-{role}-{phase}", "node-2", by=CONTROL_USER)
        h.delete(f"control-{role}-{phase}")
    return h


@pytest.mark.parametrize("role", ["refused", "together"])
def test_refused_pods_placed_by_the_load_at_their_retry_pass(role: str) -> None:
    told(refused(quietest, role=role).verdict(), "passed", "", "12 of 12")


@pytest.mark.parametrize("rest", [0.0, 2.0])
@pytest.mark.parametrize("role", ["refused", "together"])
def test_refused_pods_placed_by_the_load_of_their_first_attempt_fail(role: str, rest: float) -> None:
    h = refused(lambda load: quietest(AFTER if load == BEFORE else BEFORE), role=role, rest=rest)
    told(h.verdict(), "failed", "probe-not-on-quietest")


def test_pods_accepted_together_are_excused_by_correct_pods_apart() -> None:
    """Including the first pod, as it cannot be told which of them was decided on first."""

    def spread(load: Traffic) -> str:
        return next(chosen)

    chosen = iter([OTHER, *[BEST] * 5, *[quietest(AFTER)] * 6])
    together = refused(spread, role="together", apart=False)
    told(together.verdict(), "failed", "probe-not-on-quietest")
    told(refused(quietest, world=together).verdict(), "passed", "", "1 probes soon after other placements")


def test_history_without_a_refused_binding_is_invalid() -> None:
    told(refused(quietest, call=False).verdict(), "invalid", "no-binding-refused")


def test_pod_without_a_posted_binding_fails() -> None:
    h = HistoryBuilder(REFUSED)
    h.load(0, AFTER)
    h.pod("refused-1", role="refused", cpu="10m")
    h.expect("refused-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


# -- network/herd


def herd(chosen: Sequence[str], **changes: Any) -> HistoryBuilder:
    h = HistoryBuilder("network/herd", **changes)
    for number, node in enumerate(chosen):
        h.pod(f"herd-{number}", role="herd", cpu="50m")
        h.bind(f"herd-{number}", node)
        h.expect(f"herd-{number}", "bound")
    return h


def test_burst_on_several_nodes_passes() -> None:
    told(herd(["node-1"] * 11 + ["node-2"]).verdict(), "passed", "", "12", "2")


def test_a_burst_on_one_node_fails() -> None:
    told(herd(["node-1"] * 12).verdict(), "failed", "burst-on-one-node", "12", "node-1")


def test_pods_bound_after_the_window_are_not_part_of_the_burst() -> None:
    h = herd(["node-1"] * 3)
    h.wait(NETWORK.window)
    h.pod("herd-9", role="herd")
    h.bind("herd-9", "node-2")
    told(h.verdict(), "failed", "burst-on-one-node", "3")


def test_burst_of_one_pod_or_with_one_node_is_invalid() -> None:
    told(herd(["node-1"]).verdict(), "invalid", "no-choice")
    told(herd(["node-1"] * 4, nodes=["node-1"]).verdict(), "invalid", "no-choice")


@pytest.mark.parametrize("claim", [None, "ignored"])
def test_herd_is_not_claimed_without_counted_own_placements(claim: str | None) -> None:
    claims = dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, own_placements=claim))
    told(herd(["node-1"] * 4, claims=claims).verdict(), "not-claimed", "not-claimed", "network.own-placements")
