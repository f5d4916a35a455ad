"""Findings of a benchmark are listed once each, the most severe first."""

from __future__ import annotations

import random

import pytest

from schedproof.report.bench.document import trials
from schedproof.report.bench.findings import findings
from schedproof.report.bench.headline import headline
from schedproof.report.bench.markdown import summary

from .example import CONTROLLER, EXTENDER, INVALID, KINDS, PLUGIN, STOCK, WRONG, document, read

NODES = ("basic", "network-aware")


def test_most_severe_finding_comes_first() -> None:
    drain = trials(read())[0]
    assert [(finding.kind, finding.where, finding.text) for finding in findings(drain)] == [
        ("wrong", f"{CONTROLLER}, block 2", WRONG), ("invalid", f"{EXTENDER}, block 5", INVALID),
    ]  # fmt: skip


def test_findings_that_differ_only_in_numbers_are_listed_once() -> None:
    bench = document()
    for number, measured in enumerate(bench["measurements"]):
        for round_ in measured["rounds"]:
            round_["wrong"] = []
            round_["invalid"] = [f"other processes used {number}.{round_['block']}% of the machine; 10% are allowed"]
    (found,) = findings(trials(read(bench))[0])
    assert (found.kind, found.where) == ("invalid", f"{STOCK}, block 0")
    assert found.more == "(and 31 more like it, of 4 candidates)"


def test_wrong_placements_are_listed_for_each_candidate() -> None:
    bench = document()
    for measured in bench["measurements"]:
        for round_ in measured["rounds"]:
            round_ |= {"invalid": [], "wrong": [WRONG]}
    found = findings(trials(read(bench))[0])
    assert [each.where for each in found] == [f"{name}, block 0" for name in KINDS]
    assert {each.more for each in found} == {"(and 7 more like it)"}


def test_unbound_pods_and_disagreeing_metrics_are_findings() -> None:
    bench = document()
    bench["measurements"][0]["rounds"][0]["unaccounted"] = 2
    bench["measurements"][1]["rounds"][0]["own_metrics"] = {"agrees": False, "explanation": ""}
    bench["measurements"][2]["rounds"][0]["not_judged"] = ["topology spread constraints"]
    found = {each.kind: each for each in findings(trials(read(bench))[0])}
    assert found["lost"].where == STOCK
    assert "2 pods" in found["lost"].text
    assert found["unjudged"].text == "topology spread constraints"
    assert (found["own"].where, found["own"].text) == (f"{PLUGIN}, block 0", "no explanation")


def test_order_of_candidates_is_independent_of_the_rounds() -> None:
    bench = document()
    random.Random(3).shuffle(bench["measurements"])
    random.Random(4).shuffle(bench["comparisons"])
    for trial in trials(read(bench)):
        assert [each.candidate for each in trial.measurements] == list(KINDS)
        assert list(dict.fromkeys(each.candidate for each in trial.comparisons)) == list(KINDS)[1:]


def test_other_numbers_of_nodes_to_score_are_a_finding() -> None:
    """With 500 nodes, kube-scheduler's default is 46 % of them, with 100 all."""
    bench = document()
    bench["run"]["nodes_to_score"] = {STOCK: 100, PLUGIN: 0, EXTENDER: 100}
    basic, aware = (next(trial for trial in trials(read(bench)) if trial.workload == name) for name in NODES)
    (found,) = [each for each in findings(basic) if each.kind == "unlike"]
    assert found.where == PLUGIN
    assert "500 nodes it scores 230 (percentageOfNodesToScore: not set)" in found.text
    assert f"{STOCK} 500 (percentageOfNodesToScore: 100)" in found.text
    assert not [each for each in findings(aware) if each.kind == "unlike"]


@pytest.mark.parametrize("scored", [{}, {PLUGIN: 0}, {STOCK: 0, PLUGIN: 0}, {STOCK: 46, PLUGIN: 0}])
def test_nodes_to_score_that_are_unknown_or_come_to_the_same_are_no_finding(scored: dict[str, int]) -> None:
    bench = document()
    bench["run"]["nodes_to_score"] = scored
    assert not [each for trial in trials(read(bench)) for each in findings(trial) if each.kind == "unlike"]


def test_longer_drain_decides_a_trial() -> None:
    bench = document()
    compared = next(each for each in bench["comparisons"] if each["mode"] == "drain" and each["candidate"] == PLUGIN)
    compared |= {"verdict": "no difference shown", "ratio": 1.33, "low": 1.2, "high": 1.4}
    longer = {**compared, "metric": "time to drain", "verdict": "slower", "ratio": 9.5, "low": 9.0, "high": 10.0}
    bench["comparisons"].append(longer)
    drain = trials(read(bench))[0]
    deciding = drain.deciding(PLUGIN)
    assert deciding is not None
    assert (deciding.metric, deciding.verdict) == ("time to drain", "slower")
    assert "slower</span> by time to drain" in str(headline(read(bench)))
    assert "slower** by time to drain 9.50" in summary(read(bench))
