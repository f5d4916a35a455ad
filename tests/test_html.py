"""report.html is one well-formed file that needs no network, and shows nothing unescaped."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from schedproof.candidates.descriptor import Candidate
from schedproof.candidates.kinds import AttachedSpec
from schedproof.judge.verdict import Verdict
from schedproof.report.html import render
from schedproof.report.result import CandidateResult, RunResult

NASTY = "<script>alert(\"x\")</script> & 'quotes'"
DECISION = {
    "pod": f"ns/{NASTY}", "requests": [], "expected": "a", "chosen": "b", "query": f"rate(x{{{NASTY}}}[1m])",
    "nodes": [
        {"node": "a", "feasible": True, "reasons": [], "traffic": 1.0, "scores": {"total": 1}, "expected": True,
         "chosen": False},
        {"node": "b", "feasible": False, "reasons": [NASTY], "traffic": None, "scores": {}, "expected": False,
         "chosen": True},
    ],
}  # fmt: skip


SCORING = {
    "surface": "plugin", "cases": 100, "id": "0a1b2c3d", "of": "traffic B/s",
    "questions": [
        {"unanswered": "", "more": 3, "nodes": [
            {"node": NASTY, "reading": "1e+06", "scores": [100]},
            {"node": "b", "reading": "nan", "scores": []},
            {"node": "c", "reading": "no sample", "scores": [7, "inf"]},
        ]},
        {"unanswered": NASTY, "more": 0, "nodes": []},
    ],
}  # fmt: skip


class Wellformed(HTMLParser):
    """Every element that is opened is closed, in order; collects names, links and ids."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def document() -> Wellformed:
    candidate = Candidate("mine", "mine", AttachedSpec(), Path("candidate.yaml"))
    evidence = {
        "decisions": [DECISION],
        "scorings": [SCORING],
        "timeline": [NASTY],
        "logs": {NASTY: [NASTY]},
        "measured": {"probes": 12},
    }
    verdicts = [
        Verdict("core/binds", "required", "passed", "fine"),
        Verdict("network/least-traffic", "required", "failed", NASTY, evidence),
        Verdict("network/flip", "required", "passed", "holds", stale=True),
        Verdict("core/fit-cpu", "required", "not-claimed", "not claimed"),
    ]
    result = RunResult(7, "embedded", Path("report"), versions={"kubernetes": NASTY})
    result.candidates["mine"] = CandidateResult(candidate, tuple(v.clause for v in verdicts), verdicts)
    page = Wellformed()
    page.feed(render(result))
    page.close()
    return page


def test_every_element_is_closed() -> None:
    assert document().open == []


def test_nothing_of_a_candidate_becomes_markup() -> None:
    assert "script" not in document().names


def test_it_needs_nothing_from_the_network() -> None:
    page = document()
    assert not page.names & {"link", "img", "iframe", "script"}
    assert all((value or "").startswith("#") for name, value in page.attributes if name in ("href", "src"))


def test_each_link_of_the_matrix_has_its_section() -> None:
    page = document()
    targets = {f"#{value}" for name, value in page.attributes if name == "id"}
    links = {value for name, value in page.attributes if name == "href"}
    assert links == {"#mine-network-least-traffic", "#mine-network-flip"}
    assert links <= targets
