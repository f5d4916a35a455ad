"""report.html is one well-formed file that needs no network, and shows nothing unescaped."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

from schedproof.candidates.descriptor.descriptor import Candidate
from schedproof.candidates.kinds import AttachedSpec
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Verdict
from schedproof.report.run.html import render
from schedproof.report.run.result import CandidateResult, RunResult

from .report.run_example import result

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


def test_it_begins_with_the_verdict_and_failures_come_before_the_matrix() -> None:
    page = render(result())
    failure = '<h2 id="least-traffic-extender-network-least-traffic">'
    run = ("2026-01-31 23:59:01 UTC", "1 min 23 s", "v1.36.3")
    parts = ("FAILED: 1 of ", "Causes", "Clauses at a glance", failure, "All clauses", *run)
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert page.index('network-flip">') > page.index('network-least-traffic">'), "what fails the run comes first"


def test_one_decision_of_a_failure_is_open_and_the_others_are_folded() -> None:
    section = render(result()).partition('<h2 id="least-traffic-extender-network-least-traffic">')[2]
    section = section.partition("</section>")[0]
    shown, folded, rest = section.partition("<details><summary>2 more decisions</summary>")
    assert folded
    assert [text.count("traffic-probe-1 &rarr;") for text in (shown, rest)] == [1, 0]
    assert [text.count("traffic-probe-3 &rarr;") for text in (shown, rest)] == [0, 1]


def test_the_candidate_s_own_score_is_beside_the_traffic_and_what_is_alike_is_folded() -> None:
    table = render(result()).partition("<thead>")[2].partition("</table>")[0]
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", table)
    assert heads == ["node", "", "traffic B/s", "score extender", "score NodeResourcesFit", "score total", "feasible"]
    assert "NodeAffinity 0, PodTopologySpread 200, TaintToleration 300" in render(result())


def test_every_id_of_a_clause_has_its_guarantee() -> None:
    """As a title, or in the same row or section."""
    page = render(result())
    for clause in CATALOGUE.values():
        rows = re.findall(
            rf"<(?:tr|li)>(?:(?!</(?:tr|li)>).)*\b{clause.id}(?![-\w])(?:(?!</(?:tr|li)>).)*</(?:tr|li)>", page
        )
        assert rows, clause.id
        assert all(clause.guarantee in html.unescape(row) for row in rows), clause.id
    gaps = page.partition("What this run does not show")[2].partition("</section>")[0]
    assert f'<span title="{CATALOGUE["core/cordon"].guarantee}">core/cordon</span>' in html.unescape(gaps)


def test_each_link_of_the_matrix_has_its_section() -> None:
    page = document()
    targets = {f"#{value}" for name, value in page.attributes if name == "id"}
    links = {value for name, value in page.attributes if name == "href"}
    assert links == {"#mine-network-least-traffic", "#mine-network-flip"}
    assert links <= targets
