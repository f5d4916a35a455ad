"""What a case does to the load and to its readings: what is scripted, what is on record, and how it is taken back."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schedproof.history.acts import LineFault, NodesLoad
from schedproof.history.faults import Fault
from schedproof.traffic.script import OTHER_HOSTS, UNLABELLED
from schedproof.traffic.series import Counter

from .played_traffic import CLAIMS, CLUSTERS, LOAD, RECEIVED, SENT, Traffic
from .world import CLAUSE, NODES


@pytest.fixture
def traffic(make_world: Any) -> Traffic:
    return Traffic(make_world(network=CLAIMS))


def test_the_candidate_is_led_to_a_server_that_is_ready_and_scripted(traffic: Traffic) -> None:
    assert [traffic.load.script(LOAD), traffic.load.script(LOAD)] == [0, 1]
    assert traffic.acts == [
        (what, f"http://scripted-{number}") for number in range(2) for what in ("ready", "script", "lead to")
    ]
    assert traffic.load.phases == [LOAD, LOAD]
    records = traffic.world.of(NodesLoad)
    assert [(one.case, one.phase, one.traffic, one.source) for one in records] == [
        (CLAUSE, 0, LOAD, "scripted"), (CLAUSE, 1, LOAD, "scripted"),
    ]  # fmt: skip


def test_the_harness_own_node_is_as_loud_as_the_loudest_and_the_other_direction_is_turned_around(
    traffic: Traffic,
) -> None:
    traffic.load.script(LOAD)
    assert traffic.rates() == {**LOAD, "reserved": 3000.0}
    sent = traffic.rates(SENT)
    assert sent["node-1"] == 3000.0
    assert min(sent, key=lambda node: sent[node]) != "node-1"


def test_a_load_that_has_changed_was_another_one_before(traffic: Traffic) -> None:
    traffic.load.script(LOAD, before={"node-1": 7.0, "node-2": 5.0}, changed=2.0)
    (begin, before), (change, now) = traffic.script.counters[RECEIVED, "eth0"]["node-1"].phases
    assert (before, now) == (7.0, 1000.0)
    assert change - begin == pytest.approx(2 * CLAIMS.window + 5)


def test_what_is_not_to_be_taken_for_the_load_is_scripted_beside_it(traffic: Traffic) -> None:
    beside = traffic.load.other_devices[0]
    traffic.load.script(
        LOAD, devices={beside: {"node-1": 9.0, "node-2": 8.0}}, other_way={"node-1": 1.0, "node-2": 2.0},
        totals={"node-1": 77.0}, rebooted=["node-2"], replicated=["node-1"],
    )  # fmt: skip
    assert traffic.rates(RECEIVED, beside) == {"node-1": 9.0, "node-2": 8.0, "reserved": 9.0}
    assert traffic.rates(SENT) == {"node-1": 1.0, "node-2": 2.0, "reserved": 2.0}
    counters = traffic.script.counters[RECEIVED, "eth0"]
    assert counters["node-1"].start_value == 77.0
    assert (counters["node-1"].reset, counters["node-2"].every) == (math.inf, CLAIMS.window)
    assert counters["node-2"].reset < math.inf
    assert traffic.script.replicated == {"node-1"}


def test_readings_that_have_ended_are_no_load_but_a_fault(traffic: Traffic) -> None:
    traffic.load.end_all_readings(Fault.STALE, LOAD)
    counters = traffic.script.counters[RECEIVED, "eth0"]
    assert all(counters[node].gone < math.inf for node in NODES)
    assert [record.traffic for record in traffic.world.of(NodesLoad)] == [{}]
    assert [(record.line, record.fault, record.on) for record in traffic.world.of(LineFault)] == [
        ("prometheus", "stale", True)
    ]


def test_samples_of_which_none_is_a_number_are_no_load_but_a_fault(traffic: Traffic) -> None:
    traffic.load.end_all_readings(Fault.NAN)
    assert all(math.isnan(counter.start_value) for counter in traffic.script.counters[RECEIVED, "eth0"].values())
    assert [record.traffic for record in traffic.world.of(NodesLoad)] == [{}]
    assert [record.fault for record in traffic.world.of(LineFault)] == ["NaN"]


def test_a_prometheus_without_anything_is_not_scripted(traffic: Traffic) -> None:
    traffic.load.end_all_readings(Fault.EMPTY)
    assert traffic.acts == [("ready", "http://scripted-0"), ("lead to", "http://scripted-0")]
    assert [record.fault for record in traffic.world.of(LineFault)] == ["empty"]


def test_where_no_node_is_scraped_nothing_is_known_of_the_harness_own_either(traffic: Traffic) -> None:
    traffic.load.end_all_readings(Fault.NO_NODE)
    assert traffic.rates() == {}
    assert [record.fault for record in traffic.world.of(LineFault)] == ["no node"]


def test_a_broken_line_is_on_record_until_it_is_healed(traffic: Traffic) -> None:
    began = traffic.world.recorder.now()
    traffic.load.break_prometheus(Fault.DOWN)
    traffic.load.heal_prometheus()
    assert traffic.acts == [("inject", Fault.DOWN), ("heal",)]
    assert [(record.fault, record.on) for record in traffic.world.of(LineFault)] == [
        (Fault.DOWN.value, True),
        ("", False),
    ]
    assert began <= traffic.load.broken_at <= traffic.world.recorder.now()


def test_healing_mends_the_line_and_lets_go_what_waits(traffic: Traffic) -> None:
    traffic.load.heal()
    assert traffic.acts == [("heal",), ("release",)]


def test_packets_are_sent_in_the_claimed_direction_and_silenced_at_the_end(
    traffic: Traffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = iter([{"node-1": 1.0, "node-2": 0.0}, {"node-1": 1.0, "node-2": 1.0}])
    monkeypatch.setattr(traffic.load, "reading", lambda _query: next(up))
    assert traffic.load.send(LOAD) == 0
    assert next(up, None) is None, "scrapes that have failed are waited for"
    traffic.load.undo()
    silent = dict.fromkeys((*NODES, "reserved"), 0.0)
    assert traffic.acts == [
        ("lead to", CLUSTERS), ("packets", {**LOAD, "reserved": 3000.0}, "receive"),
        ("lead to", CLUSTERS), ("packets", silent, "receive"),
    ]  # fmt: skip
    assert [record.source for record in traffic.world.of(NodesLoad)] == ["packets"]


def test_other_hosts_are_scraped_wherever_nodes_have_readings(traffic: Traffic) -> None:
    traffic.load.script(LOAD)
    assert traffic.script.others == OTHER_HOSTS
    traffic.load.script(LOAD, unlabelled=True)
    assert traffic.script.others == UNLABELLED
    for fault in (Fault.NO_NODE, Fault.NAN, Fault.STALE):
        traffic.load.end_all_readings(fault, LOAD)
        assert not traffic.script.others


def test_readings_that_are_scripted_end_a_fault_of_the_readings_only(traffic: Traffic) -> None:
    traffic.load.end_all_readings(Fault.EMPTY)
    traffic.load.end_all_readings(Fault.NAN)
    traffic.load.script(LOAD)
    traffic.load.break_prometheus(Fault.DOWN)
    traffic.load.script(LOAD)
    faults = [record.fault for record in traffic.world.of(LineFault)]
    assert faults == [Fault.EMPTY, "", Fault.NAN, "", Fault.DOWN]


def test_samples_that_could_not_be_pushed_are_known(traffic: Traffic) -> None:
    for _ in range(2):
        traffic.load.script(LOAD)
    assert not traffic.load.failure
    traffic.servers[0].failure = "refused"
    assert traffic.load.failure == "refused"


def test_counters_go_on_for_a_candidate_that_takes_samples(traffic: Traffic) -> None:
    def now(counter: Counter) -> float:
        return counter.samples(end=counter.phases[-1][0], step=0.001)[-1][1]

    traffic.load.script(LOAD)
    before = traffic.script.counters[RECEIVED, "eth0"]["node-1"]
    traffic.world.trial.queries.look_back = lambda _: 0.0
    traffic.load.script(LOAD)
    traffic.load.script({"node-1": 9000.0, "node-2": 3000.0})
    first, second = (server.scripts[0].counters[RECEIVED, "eth0"]["node-1"] for server in traffic.servers[1:])
    # The load changed at `phases[-1]` of the second: until then the first has grown on.
    passed = second.phases[-1][0] - first.phases[-1][0]
    assert now(second) == pytest.approx(now(first) + 1000.0 * passed, abs=5.0)
    assert now(first) == pytest.approx(now(before), abs=1e6)


def test_undo_leads_the_candidate_back_before_its_servers_end(traffic: Traffic) -> None:
    traffic.load.even_out()
    traffic.load.script(LOAD)
    del traffic.acts[:]
    traffic.load.undo()
    assert traffic.acts == [("lead to", CLUSTERS), ("close", "http://scripted-0"), ("close", "http://scripted-1")]


def test_all_servers_but_the_last_can_be_ended_before(traffic: Traffic) -> None:
    for _ in range(2):
        traffic.load.script(LOAD)
    traffic.load.end_others(traffic.servers[1])  # type: ignore[arg-type]
    traffic.load.undo()
    assert [act for act in traffic.acts if act[0] == "close"] == [
        ("close", "http://scripted-0"), ("close", "http://scripted-1"),
    ]  # fmt: skip


def test_reversed_totals_rank_nodes_the_other_way_round(traffic: Traffic) -> None:
    assert traffic.load.reversed_totals(LOAD) == {"node-2": 1e9, "node-1": 1e10}
