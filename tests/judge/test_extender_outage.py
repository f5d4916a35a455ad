"""extender/required-down, extender/ignorable-down and extender/slow."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, EXTENDER, HistoryBuilder

REQUIRED, IGNORABLE, SLOW = "extender/required-down", "extender/ignorable-down", "extender/slow"
CLAIMED = dataclasses.replace(CLAIMS, features=("ignorable",))
IGNORED = {**EXTENDER, "ignorable": True}
SCORES_ONLY = {"prioritizeVerb": "prioritize"}
BINDS = {**EXTENDER, "bindVerb": "bind"}


def outage(
    case: str, extender: Any, *, bound: str = "after", broken: bool = True, again: bool = True
) -> HistoryBuilder:
    """Create a pod while the extender is broken; `bound`: when it is bound ("during", "after", or "" for never)."""
    h = HistoryBuilder(case, extender=extender, claims=CLAIMED)
    if broken:
        h.fault("down", line="extender")
    h.pod("outage-1", role="outage")
    if bound == "during":
        h.bind("outage-1", "node-1")
    if broken:
        h.fault("", line="extender")
    if bound == "after":
        h.bind("outage-1", "node-1")
    h.expect("outage-1", "bound")
    if again:
        h.call("filter" if "filterVerb" in extender else "prioritize")
    return h


@pytest.mark.parametrize(
    ("case", "extender", "options", "outcome"),
    [
        (REQUIRED, EXTENDER, {}, "passed"),
        (REQUIRED, EXTENDER, {"bound": "during"}, "failed"),
        (REQUIRED, EXTENDER, {"bound": ""}, "failed"),
        (REQUIRED, EXTENDER, {"broken": False}, "invalid"),
        (REQUIRED, EXTENDER, {"again": False}, "invalid"),
        (REQUIRED, IGNORED, {"broken": False}, "not-claimed"),
        (REQUIRED, SCORES_ONLY, {"broken": False}, "not-claimed"),
        (REQUIRED, BINDS, {}, "passed"),
        (REQUIRED, {"bindVerb": "bind"}, {"again": False}, "passed"),
        (SLOW, {"preemptVerb": "preempt"}, {"broken": False}, "not-claimed"),
        (IGNORABLE, IGNORED, {"bound": "during"}, "passed"),
        (IGNORABLE, IGNORED, {"bound": ""}, "failed"),
        (IGNORABLE, IGNORED, {"bound": "during", "again": False}, "invalid"),
        (IGNORABLE, EXTENDER, {"broken": False}, "failed"),
        (IGNORABLE, BINDS, {"broken": False}, "failed"),
        (IGNORABLE, {**BINDS, "ignorable": True}, {"bound": "during"}, "passed"),
        (REQUIRED, {**BINDS, "ignorable": True}, {"broken": False}, "not-claimed"),
        (SLOW, EXTENDER, {}, "passed"),
        (SLOW, EXTENDER, {"bound": "during"}, "failed"),
        (SLOW, IGNORED, {"bound": "during"}, "passed"),
        (SLOW, SCORES_ONLY, {"bound": "during"}, "passed"),
        (SLOW, SCORES_ONLY, {"bound": ""}, "failed"),
    ],
)
def test_pods_wait_for_the_extender_as_configured(
    case: str, extender: Any, options: dict[str, Any], outcome: str
) -> None:
    verdict = outage(case, extender, **options).verdict()
    assert verdict.outcome == outcome, verdict.summary


def test_extender_that_stays_unavailable_after_an_outage_fails_even_if_ignorable() -> None:
    h = outage(IGNORABLE, IGNORED, bound="during", again=False)
    h.call("filter", status=0)
    verdict = h.verdict()
    assert (verdict.outcome, verdict.code) == ("failed", "call-unanswered"), verdict.summary
    h.call("filter")
    assert h.verdict().outcome == "passed"
