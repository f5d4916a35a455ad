"""Preference: the quietest feasible node got every probe, and no chance, control or bad reading explains it."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.candidates.claims import Claims
from schedproof.judge.preference import RANDOM_LIMIT, ROTATIONS

from .histories import CLAIMS, CONTROL, CONTROL_USER, NETWORK, NODES, HistoryBuilder, told
from .probing import (
    AFTER,
    BEFORE,
    FEASIBLE,
    FLIP,
    LEAST,
    REAL,
    ROTATION,
    flipped,
    loads,
    loudest,
    quietest,
    ranked,
    second,
    tried,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schedproof.judge.verdict import Verdict

    from .probing import Choice, Traffic

# -- what must pass


def test_every_probe_on_the_quietest_node_which_was_each_in_turn_passes() -> None:
    verdict = tried().verdict()
    assert verdict.outcome == "passed"
    assert "12 of 12 probes on the quietest of the feasible nodes, which was each of 4 in turn" in verdict.summary
    assert verdict.evidence["measured"] == {"probes": 12, "chance_of_a_random_chooser": pytest.approx(0.25**12)}


@pytest.mark.parametrize("case", [FLIP, REAL, "network/joins", "network/direction"])
def test_a_preference_that_follows_the_load_passes(case: str) -> None:
    assert flipped(case=case).verdict().outcome == "passed"


def test_where_the_quietest_node_is_infeasible_the_next_one_is_the_one() -> None:
    h = HistoryBuilder(LEAST)
    h.node("node-4", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    feasible = NODES[:3]
    phases = [{"node-4": 1.0, **loads(node, feasible)} for node in (*feasible, "node-1")]
    verdict = tried(phases=phases, count=4, choose=second, world=h).verdict()
    # It was not the quietest of all in any phase, so the rotation is incomplete; but no probe was wrong.
    assert (verdict.outcome, verdict.summary) == ("invalid", "only 3 of 4 nodes were the quietest in turn")


def test_what_is_read_of_infeasible_nodes_does_not_matter() -> None:
    h = HistoryBuilder(FLIP)
    h.node("node-3", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    known = {node for node in NODES if node != "node-3"}
    verdict = flipped(count=8, shown=lambda traffic: {node: traffic[node] for node in known}, world=h).verdict()
    assert verdict.outcome == "passed"


def test_a_node_without_any_traffic_is_quieter_than_one_with_a_little() -> None:
    phases = [{**dict.fromkeys(NODES, 1.0), node: 0.0} for node in NODES]
    assert tried(phases=phases).verdict().outcome == "passed"


def test_one_wrong_probe_of_the_control_is_enough() -> None:
    h = tried(control=lambda traffic: "node-3" if quietest(traffic) == "node-1" else quietest(traffic))
    assert h.verdict().outcome == "passed"


def test_a_node_that_joins_after_the_case_changes_nothing() -> None:
    h = tried()
    h.end()
    h.node("node-5")
    assert h.verdict().outcome == "passed"


def test_of_many_nodes_only_some_need_to_be_the_quietest() -> None:
    nodes = [f"node-{n}" for n in range(1, 3 * ROTATIONS)]
    rotation = [loads(node, nodes) for node in nodes[:ROTATIONS]]
    world = HistoryBuilder(LEAST, nodes=nodes)
    assert tried(phases=rotation, count=1, control=lambda _: nodes[-1], world=world).verdict().outcome == "passed"


def undecided(node: str) -> HistoryBuilder:
    """After all probes were right: node-1 and node-2 differ by less than the claimed 10 %, and all others by more."""
    h = tried()
    h.load(len(ROTATION), {"node-1": 100.0, "node-2": 109.5, "node-3": 121.0, "node-4": 121.0})
    h.pod("undecided-1", role="undecided", phase=len(ROTATION), cpu="100m")
    if node:
        h.bind("undecided-1", node)
    return h


@pytest.mark.parametrize("node", ["node-1", "node-2"])
def test_below_the_claimed_resolution_either_node_is_right(node: str) -> None:
    assert undecided(node).verdict().outcome == "passed"


@pytest.mark.parametrize("node", ["node-3", "ghost", ""])
def test_below_the_claimed_resolution_a_third_node_is_wrong(node: str) -> None:
    assert undecided(node).verdict().outcome == "failed"


@pytest.mark.parametrize(("wait", "outcome"), [(NETWORK.look_back, "passed"), (0.0, "failed")])
def test_a_third_node_may_be_due_to_earlier_placements(wait: float, outcome: str) -> None:
    h = undecided("node-3")
    h.delete("undecided-1")
    h.wait(wait)
    h.pod("undecided-2", role="undecided", phase=len(ROTATION), cpu="100m")
    h.bind("undecided-2", "node-1")
    assert h.verdict().outcome == outcome


def test_a_metric_whose_name_tells_no_direction_has_no_other_one() -> None:
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
    assert verdict.outcome == "failed"
    assert verdict.summary.startswith("1 of 12 probes did not land on the quietest node; sp-tested/probe-2-1: expected")
    (decision,) = verdict.evidence["decisions"]
    rows = {row["node"]: row for row in decision["nodes"]}
    assert [node for node in rows if rows[node]["expected"]] == ["node-3"]
    assert [node for node in rows if rows[node]["chosen"]] == [seen[7]]
    assert rows["node-3"]["traffic"] == 100_000


def test_a_preference_that_does_not_follow_the_swapped_load_fails() -> None:
    verdict = flipped(choose=lambda _: "node-1").verdict()
    assert verdict.outcome == "failed"
    assert verdict.summary.startswith("6 of 12 probes")


def test_a_quiet_node_that_is_infeasible_must_not_be_chosen() -> None:
    h = HistoryBuilder(LEAST)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    assert tried(world=h).verdict().outcome == "failed"


def test_feasible_first_is_judged_by_placement() -> None:
    h = HistoryBuilder(FEASIBLE)
    h.load(0, BEFORE)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"status": 400}, "; Prometheus answered 400 to its query rate(x[2ss])"),
        ({"answer": '{"status": "success", "data": {"result": []}}'}, "; its query finds no series: rate(x[2ss])"),
        ({"answer": '{"status": "success", "data": {"result": [{}]}}'}, ""),
        ({"status": 503, "fault": "503"}, ""),
    ],
)
def test_a_query_that_could_not_help_is_shown(query: dict[str, Any], said: str) -> None:
    h = HistoryBuilder(LEAST)
    h.query("rate(x[2ss])", **query)
    verdict = tried(choose=lambda _: "node-1", world=h).verdict()
    assert verdict.outcome == "failed"
    assert verdict.summary.partition("chose node-1")[2] == said


def test_a_probe_that_is_never_bound_fails() -> None:
    verdict = tried(choose=lambda traffic: "" if quietest(traffic) == "node-2" else quietest(traffic)).verdict()
    assert verdict.outcome == "failed"
    assert "probe-1-0 was never bound (3 of 12 probes)" in verdict.summary


# -- what proves nothing


def close(traffic: Traffic) -> dict[str, float]:
    """The quietest stays so, but the next is within the claimed resolution."""
    least = traffic[quietest(traffic)]
    return {**traffic, second(traffic): least * (1 + 0.9 * NETWORK.resolution)}


def half_as_far(traffic: Traffic) -> dict[str, float]:
    """What is told apart by the square of a factor is shown as told apart by the factor."""
    return {node: math.sqrt(rate) for node, rate in traffic.items()}


def without(traffic: Traffic, node: str) -> dict[str, float]:
    return {name: rate for name, rate in traffic.items() if name != node}


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "nothing was tried": ({"phases": []}, "nothing was tried"),
    "no load": ({"phases": [{}] * 4, "choose": lambda _: "node-1"}, "does not tell the nodes apart"),
    "equal loads": ({"phases": [dict.fromkeys(NODES, 1e5)] * 4}, "does not tell the nodes apart"),
    "no load at all": ({"phases": [dict.fromkeys(NODES, 0.0)] * 4}, "does not tell the nodes apart"),
    "loads within the claimed resolution": (
        {"phases": [close(traffic) for traffic in ROTATION]},
        "does not tell the nodes apart by more than the claimed 10%",
    ),
    "no reading": ({"shown": lambda _: None}, "Prometheus showed {} where"),
    "a reading that lacks a node": ({"shown": lambda traffic: without(traffic, "node-3")}, "Prometheus showed"),
    "a reading that is not a number": ({"shown": lambda traffic: {**traffic, "node-3": math.nan}}, "Prometheus showed"),
    "readings that are no numbers": ({"shown": lambda traffic: dict.fromkeys(traffic, math.nan)}, "Prometheus showed"),
    "a reading of the load before": ({"shown": lambda _: BEFORE}, "Prometheus showed"),
    "a reading that does not tell the nodes apart": ({"shown": close}, "Prometheus showed"),
    "no control": ({"control": None}, "no control ran beside the candidate"),
    "a control that does not bind": ({"control": lambda _: ""}, "the control did not schedule"),
    "a control that is also right": ({"control": quietest}, "also placed all 4 of its probes on the quietest node"),
    "too few probes": ({"count": 2}, "a random chooser would pass with probability 1.5e-05"),
    "one node never the quietest": (
        {"phases": [*ROTATION[:3], ROTATION[0]]},
        "only 3 of 4 nodes were the quietest in turn",
    ),
    "fields that the oracle does not know": ({"telepathy": True}, "the oracle does not model spec.telepathy"),
}


@pytest.mark.parametrize(("changes", "reason"), INVALID.values(), ids=INVALID)
def test_what_the_environment_cannot_prove_is_invalid(changes: dict[str, Any], reason: str) -> None:
    verdict: Verdict = tried(**changes).verdict()
    assert verdict.outcome == "invalid"
    assert reason in verdict.summary


def test_the_first_probe_that_proves_nothing_is_named() -> None:
    """In the first phase the reading of the load before happens to be right."""
    verdict = tried(shown=lambda _: BEFORE).verdict()
    assert verdict.summary.startswith("sp-tested/probe-1-0: Prometheus showed")
    assert verdict.summary.endswith("(9 of 12 probes)")
    assert len(verdict.evidence["decisions"]) == 3


@pytest.mark.parametrize("resolution", [0.49, 0.5])
def test_loads_must_differ_by_more_than_the_claimed_resolution_not_just_by_it(resolution: float) -> None:
    claims = Claims(profiles=("network-aware",), network=dataclasses.replace(NETWORK, resolution=resolution))
    verdict = tried(world=HistoryBuilder(LEAST, claims=claims)).verdict()
    assert verdict.outcome == ("passed" if resolution < 0.5 else "invalid")
    doubled = [{node: rate**2 for node, rate in traffic.items()} for traffic in ROTATION]
    asked_more = tried(phases=doubled, shown=half_as_far, world=HistoryBuilder(LEAST, claims=claims)).verdict()
    assert asked_more.outcome == verdict.outcome


@pytest.mark.parametrize("choose", [loudest, lambda _: "node-1"], ids=["inverted", "constant"])
def test_nobody_is_blamed_for_a_reading_that_disagrees_with_the_load(choose: Choice) -> None:
    def reversed_(traffic: dict[str, float]) -> dict[str, float]:
        return dict(zip(traffic, reversed(traffic.values()), strict=True))

    assert tried(choose=choose, shown=reversed_).verdict().outcome == "invalid"


def test_a_wrong_choice_by_a_right_reading_fails_whatever_other_readings_were() -> None:
    """In the first phase the reading of the load before happens to be right."""
    assert tried(choose=loudest, shown=lambda _: BEFORE).verdict().outcome == "failed"


@pytest.mark.parametrize("node", ["node-1", "node-2", "node-3", "node-4"])
def test_a_node_whose_reading_is_not_a_number_has_no_reading(node: str) -> None:
    """Wherever sorting would put it."""
    assert flipped(shown=lambda traffic: {**traffic, node: math.nan}).verdict().outcome == "invalid"


def test_a_flip_without_a_flip_is_invalid() -> None:
    verdict = flipped(phases=[BEFORE, BEFORE]).verdict()
    assert (verdict.outcome, verdict.summary) == ("invalid", "only 1 of 2 nodes were the quietest in turn")


def test_with_one_feasible_node_there_is_nothing_to_prefer() -> None:
    assert flipped(nodeSelector={"kubernetes.io/hostname": "node-1"}).verdict().outcome == "invalid"


def test_a_control_probe_under_no_load_proves_nothing() -> None:
    h = tried(control=None)
    h.pod("control-0", role="control", scheduler=CONTROL)
    h.bind("control-0", "node-1", by=CONTROL_USER)
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "no load was on when the control placed sp-tested/control-0" in verdict.summary


def test_few_feasible_nodes_make_a_random_chooser_more_likely() -> None:
    """12 probes among 4 nodes would do; among the 2 that are left they do not."""
    h = HistoryBuilder(FLIP)
    for node in ("node-2", "node-3"):
        h.node(node, taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    verdict = flipped(world=h).verdict()
    assert verdict.outcome == "invalid"
    assert "a random chooser would pass with probability" in verdict.summary
    assert verdict.evidence["measured"]["chance_of_a_random_chooser"] == 0.5**12 >= RANDOM_LIMIT


# -- the next best


def test_the_quietest_of_the_nodes_left_each_time_passes() -> None:
    verdict = ranked().verdict()
    assert verdict.outcome == "passed"
    assert "15 of 15 probes on the quietest of the feasible nodes, which was each of 3 in turn" in verdict.summary


@pytest.mark.parametrize(
    ("choose", "wrong"),
    [
        # Its second choice is any: what it does well is only to find the best.
        (lambda left: left[0] if len(left) == 4 else left[-1], "10 of 15 probes"),
        (lambda left: left[min(1, len(left) - 1)], "15 of 15 probes"),
        (lambda _: "node-1", "10 of 15 probes"),
        (lambda left: left[0] if len(left) > 2 else left[1], "5 of 15 probes"),
    ],
    ids=["best or any", "second", "the quietest of all", "not the last"],
)
def test_a_wrong_next_best_fails(choose: Callable[[Sequence[str]], str], wrong: str) -> None:
    verdict = ranked(choose=choose).verdict()
    assert verdict.outcome == "failed"
    assert verdict.summary.startswith(f"{wrong} did not land on the quietest node")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"turns": 2, "count": 8}, "only 2 of 3 nodes were the quietest in turn"),
        ({"turns": 1, "count": 10}, "only 1 of 3 nodes were the quietest in turn"),
        ({"count": 4}, "a random chooser would pass with probability"),
        ({"shown": lambda _: AFTER}, "Prometheus showed"),
        # The quietest of all is out of reach in all turns but the first: not to choose it there shows no ignorance.
        ({"control": lambda left: left[0]}, "also placed all 3 of its probes on the quietest node"),
    ],
    ids=["two turns", "one turn", "few probes", "another reading", "a control that is also right"],
)
def test_a_ranking_that_the_environment_cannot_prove_is_invalid(changes: dict[str, Any], reason: str) -> None:
    verdict = ranked(**changes).verdict()
    assert verdict.outcome == "invalid"
    assert reason in verdict.summary


# -- what packets can move


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
def test_real_traffic_is_skipped_where_packets_do_not_move_what_is_claimed(
    change: dict[str, Any], outcome: str
) -> None:
    claims = Claims(profiles=("network-aware",), network=dataclasses.replace(NETWORK, **change))
    assert flipped(world=HistoryBuilder(REAL, claims=claims)).verdict().outcome == outcome


def test_readings_that_only_the_candidate_may_have_seen_prove_nothing() -> None:
    """Packets that came late for a moment, between the pod's creation and its Binding."""
    history = tried()
    history.reading("probe-1-0", BEFORE)
    told(history.verdict(), "invalid", "sp-tested/probe-1-0: Prometheus showed")


@pytest.mark.parametrize(
    ("late", "source", "outcome"), [(2, "packets", "passed"), (3, "packets", "invalid"), (1, "scripted", "invalid")]
)
def test_probes_for_which_packets_came_late_are_left_out_where_the_others_suffice(
    late: int, source: str, outcome: str
) -> None:
    history = flipped()
    for number in range(late):
        history.reading(f"probe-0-{number}", AFTER)
    for record in history.records:
        if record["kind"] == "load":
            record["source"] = source
    verdict = history.verdict()
    assert verdict.outcome == outcome
    assert (
        verdict.evidence["measured"]["probes"] == 12 - late
        if outcome == "passed"
        else "measured" not in verdict.evidence
    )


def test_late_packets_do_not_hide_a_probe_that_is_wrong() -> None:
    history = flipped(choose=lambda traffic: "node-1" if traffic == AFTER else min(traffic, key=lambda n: traffic[n]))
    history.reading("probe-0-0", AFTER)
    for record in history.records:
        if record["kind"] == "load":
            record["source"] = "packets"
    assert history.verdict().outcome == "failed"


# -- candidates that count what they have just placed


def counted(
    choices: Sequence[tuple[str, bool]], own_placements: str | None = None, *, count: int = 7, phases: int = 2
) -> HistoryBuilder:
    """Probes of network/flip; in its first phase these, each with where it went and whether it was apart."""
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


BEST, OTHER = quietest(BEFORE), "node-3"
ANEW = [(BEST, True), (OTHER, False), *[(BEST, True)] * 7]
"""The second one followed the first at once, and went elsewhere; then all were asked again, further apart."""


@pytest.mark.parametrize("claim", [None, "counted"])
def test_what_may_be_due_to_earlier_placements_is_excused_by_later_probes(claim: str | None) -> None:
    verdict = counted(ANEW, claim).verdict()
    told(verdict, "passed", "1 probes soon after others went elsewhere")
    # Seven after the excused one and seven in the other phase; twice two more chances.
    assert verdict.evidence["measured"]["chance_of_a_random_chooser"] == pytest.approx(4 * 0.25**14)


@pytest.mark.parametrize(
    ("choices", "claim"),
    [
        (ANEW, "ignored"),
        ([(BEST, True), (OTHER, True), *[(BEST, True)] * 7], None),
        ([(BEST, True), (OTHER, False), *[(BEST, True)] * 6, (OTHER, True)], None),
        ([(BEST, True), (OTHER, False), *[(BEST, False)] * 7], None),
        ([*[(BEST, True)] * 7, (OTHER, False)], None),
    ],
    ids=["it claims not to count", "it was apart", "so was a later one", "no later one was", "there is no later one"],
)
def test_what_nothing_excuses_fails(choices: Sequence[tuple[str, bool]], claim: str | None) -> None:
    told(counted(choices, claim).verdict(), "failed", "did not land on the quietest node")


def test_what_was_right_before_a_phase_was_begun_anew_shows_nothing() -> None:
    told(counted([*[(BEST, True)] * 9, (OTHER, False), (BEST, True)]).verdict(), "invalid", "a random chooser")


# -- network/herd


def herd(chosen: Sequence[str], **changes: Any) -> HistoryBuilder:
    h = HistoryBuilder("network/herd", **changes)
    for number, node in enumerate(chosen):
        h.pod(f"herd-{number}", role="herd", cpu="50m")
        h.bind(f"herd-{number}", node)
        h.expect(f"herd-{number}", "bound")
    return h


def test_a_burst_that_is_spread_passes() -> None:
    told(herd(["node-1"] * 11 + ["node-2"]).verdict(), "passed", "12 pods of a burst went to 2 nodes")


def test_a_burst_on_one_node_fails() -> None:
    told(herd(["node-1"] * 12).verdict(), "failed", "all 12 pods of a burst went to node-1")


def test_what_comes_after_a_window_is_no_part_of_the_burst() -> None:
    h = herd(["node-1"] * 3)
    h.wait(NETWORK.window)
    h.pod("herd-9", role="herd")
    h.bind("herd-9", "node-2")
    told(h.verdict(), "failed", "all 3 pods")


def test_a_single_pod_or_a_single_node_is_no_burst() -> None:
    told(herd(["node-1"]).verdict(), "invalid", "no burst")
    told(herd(["node-1"] * 4, nodes=["node-1"]).verdict(), "invalid", "no burst")


@pytest.mark.parametrize("claim", [None, "ignored"])
def test_who_does_not_claim_to_count_is_not_held_to_it(claim: str | None) -> None:
    claims = dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, own_placements=claim))
    told(herd(["node-1"] * 4, claims=claims).verdict(), "not-claimed", "network.own-placements")
