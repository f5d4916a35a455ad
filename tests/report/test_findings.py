"""Findings of a benchmark are listed once each, the most severe first."""

from __future__ import annotations

import random

from schedproof.report.bench.document import trials
from schedproof.report.bench.findings import findings

from .example import CONTROLLER, EXTENDER, INVALID, KINDS, PLUGIN, STOCK, WRONG, document, read


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
