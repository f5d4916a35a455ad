"""What is wrong or in doubt is said once, the worst first."""

from __future__ import annotations

import random

from schedproof.report.bench.document import trials
from schedproof.report.bench.findings import findings

from .example import CONTROLLER, EXTENDER, INVALID, KINDS, PLUGIN, STOCK, WRONG, document, read


def test_the_worst_comes_first() -> None:
    drain = trials(read())[0]
    assert [(one.kind, one.where, one.text) for one in findings(drain)] == [
        ("wrong", f"{CONTROLLER}, block 2", WRONG), ("invalid", f"{EXTENDER}, block 5", INVALID),
    ]  # fmt: skip


def test_what_differs_in_numbers_only_is_said_once() -> None:
    one = document()
    for number, measured in enumerate(one["measurements"]):
        for round_ in measured["rounds"]:
            round_["wrong"] = []
            round_["invalid"] = [f"other processes used {number}.{round_['block']}% of the machine; 10% are allowed"]
    (found,) = findings(trials(read(one))[0])
    assert (found.kind, found.where) == ("invalid", f"{STOCK}, block 0")
    assert found.more == "(and 31 more like it, of 4 candidates)"


def test_each_candidate_answers_for_its_own_placements() -> None:
    one = document()
    for measured in one["measurements"]:
        for round_ in measured["rounds"]:
            round_ |= {"invalid": [], "wrong": [WRONG]}
    found = findings(trials(read(one))[0])
    assert [each.where for each in found] == [f"{name}, block 0" for name in KINDS]
    assert {each.more for each in found} == {"(and 7 more like it)"}


def test_lost_pods_and_clocks_that_differ_are_in_doubt() -> None:
    one = document()
    one["measurements"][0]["rounds"][0]["unaccounted"] = 2
    one["measurements"][1]["rounds"][0]["own_metrics"] = {"agrees": False, "explanation": ""}
    one["measurements"][2]["rounds"][0]["not_judged"] = ["topology spread constraints"]
    found = {each.kind: each for each in findings(trials(read(one))[0])}
    assert found["lost"].where == STOCK
    assert "2 pods" in found["lost"].text
    assert found["unjudged"].text == "topology spread constraints"
    assert (found["own"].where, found["own"].text) == (f"{PLUGIN}, block 0", "no explanation")


def test_candidates_come_in_one_order_whatever_the_rounds_order_was() -> None:
    one = document()
    random.Random(3).shuffle(one["measurements"])
    random.Random(4).shuffle(one["comparisons"])
    for trial in trials(read(one)):
        assert [each.candidate for each in trial.measurements] == list(KINDS)
        assert list(dict.fromkeys(each.candidate for each in trial.comparisons)) == list(KINDS)[1:]
