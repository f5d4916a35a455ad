"""Faults of lines, and their outages."""

from __future__ import annotations

import math

from schedproof.history.acts import LineFault
from schedproof.history.faults import Fault
from schedproof.history.outages import Outage, Span, outages


def records(*faults: tuple[float, str, str]) -> list[LineFault]:
    return [
        LineFault.model_validate({"at": at, "case": case, "line": "prometheus", "fault": fault, "on": bool(fault)})
        for at, case, fault in faults
    ]


def test_a_fault_that_replaces_another_continues_the_outage() -> None:
    (outage,) = outages(records((1, "a", "down"), (2, "a", "503"), (3, "a", ""), (4, "a", "")))
    assert outage == Outage("a", (Span(Fault.DOWN, 1, 2), Span(Fault.UNAVAILABLE, 2, 3)))
    assert (outage.begin, outage.end, outage.healed) == (1, 3, True)
    assert [outage.at(moment) for moment in (0.9, 1, 2, 3)] == [None, Fault.DOWN, Fault.UNAVAILABLE, None]


def test_an_outage_does_not_outlast_its_case() -> None:
    first, second = outages(records((1, "a", "hang"), (5, "b", "stale"), (6, "b", "")))
    assert (first.case, first.end, first.healed) == ("a", math.inf, False)
    assert second == Outage("b", (Span(Fault.STALE, 5, 6),))


def test_a_fault_is_its_name_on_record() -> None:
    (record,) = records((1, "a", "no node"))
    assert record.fault is Fault.NO_NODE
    assert record.model_dump(mode="json")["fault"] == "no node"
    assert all(fault.words and fault.place for fault in Fault)
