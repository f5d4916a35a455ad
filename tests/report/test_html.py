"""report.html: one well-formed file that needs no network, escapes all text, and shows decisions as bars."""

from __future__ import annotations

import dataclasses
import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.evidence import Decision, Evidence
from schedproof.report import templating
from schedproof.report.run.html import render
from schedproof.report.run.lane_picture import lane_picture
from schedproof.report.run.pictures import Picture, decision_picture
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of
from . import run_example
from .run_example import decision, result

NASTY = "<script>alert(\"x\")</script> & 'quotes'"
DECISION = {
    "pod": f"ns/{NASTY}", "requests": [], "expected": "a", "chosen": NASTY, "query": f"rate(x{{{NASTY}}}[1m])",
    "nodes": [
        {"node": "a", "feasible": True, "reasons": [], "traffic": 1.0, "scores": {"total": 1}, "expected": True,
         "chosen": False},
        {"node": NASTY, "feasible": False, "reasons": [NASTY], "traffic": None, "scores": {}, "expected": False,
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


LANES = {
    "seconds": 0.0, "more": 3, "load": [{"at": 0.0, "traffic": {NASTY: 0.0}}],
    "lanes": [{"name": NASTY, "kind": "pod", "text": NASTY, "more": 1, "events": [
        {"at": 0.0, "until": 0.0, "kind": kind, "text": NASTY}
        for kind in ("waits", "bound", "refused", "answered", "done")
    ]}],
    "requests": [{"request": NASTY, "code": 403, "count": 2}],
}  # fmt: skip


class Wellformed(HTMLParser):
    """A parser that asserts that every element is closed in order, and collects names, links and ids."""

    VOID = frozenset({"meta", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)


def document() -> Wellformed:
    candidate = Candidate(name="mine", scheduler_name="mine", attached=AttachedSpec(), path=Path("candidate.yaml"))
    evidence = {
        "decisions": [DECISION],
        "scorings": [SCORING],
        "timeline": [NASTY],
        "lanes": LANES,
        "logs": {NASTY: [NASTY]},
        "measured": {"probes": 12},
    }
    verdicts = [
        verdict_of("core/binds", "required", "passed", "fine"),
        verdict_of("network/least-traffic", "required", "failed", NASTY, evidence),
        verdict_of("network/flip", "required", "passed", "holds", stale=True),
        verdict_of("core/fit-cpu", "required", "not-claimed", "not claimed"),
    ]
    result = RunResult(7, "embedded", Path("report"), versions={"kubernetes": NASTY})
    result.candidates["mine"] = CandidateResult(candidate, tuple(v.clause for v in verdicts), verdicts)
    page = Wellformed()
    page.feed(render(result))
    page.close()
    return page


def test_every_element_of_report_html_is_closed() -> None:
    assert document().open == []


def test_text_of_a_candidate_is_escaped() -> None:
    """The only script is the page's own, and its policy allows no other."""
    page = document()
    assert page.scripts == [templating.render("run/report.js")]
    (policy,) = [value for name, value in page.attributes if name == "content" and "script-src" in (value or "")]
    assert templating.digest(page.scripts[0]) in (policy or "")


def test_report_html_needs_nothing_from_the_network() -> None:
    page = document()
    assert not page.names & {"link", "img", "iframe"}
    assert all((value or "").startswith("#") for name, value in page.attributes if name in ("href", "src"))


def test_verdict_comes_first_and_failures_before_the_matrix() -> None:
    page = render(result())
    failure = '<section id="least-traffic-extender-network-least-traffic"'
    run = ("2026-01-31 23:59:01 UTC", "1 min 23 s", "v1.36.3")
    parts = ("FAILED: 1 of ", "Causes", "Clauses at a glance", failure, "All clauses", *run)
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    first, then = (
        page.index(f'<section id="least-traffic-extender-network-{name}"') for name in ("least-traffic", "flip")
    )
    assert first < then, "what fails the run comes first"


def test_first_decision_of_a_failure_is_open_and_the_others_are_folded() -> None:
    section = render(result()).partition('<section id="least-traffic-extender-network-least-traffic"')[2]
    section = section.partition("</section>")[0]
    shown, folded, rest = section.partition("<details><summary>2 more decisions</summary>")
    assert folded
    assert [
        text.count("decision on sp-least-traffic-extender/network-least-traffic-probe-1") for text in (shown, rest)
    ] == [1, 0]
    assert [
        text.count("decision on sp-least-traffic-extender/network-least-traffic-probe-3") for text in (shown, rest)
    ] == [0, 1]


def test_own_score_is_beside_the_traffic_and_equal_scores_are_folded() -> None:
    table = render(result()).partition("<thead>")[2].partition("</table>")[0]
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)<", table)
    scores = [f"score {name}" for name in ("extender", "NodeResourcesFit", "total")]
    assert heads == ["node", "traffic B/s", *scores, "cpu free", "feasible"]
    assert "NodeAffinity 0, PodTopologySpread 200, TaintToleration 300" in render(result())


def test_every_id_of_a_clause_has_its_guarantee() -> None:
    """As a title, or in the same row or section."""
    page = render(result())
    for clause in CATALOGUE.values():
        rows = re.findall(
            rf"<(?:tr|li)[^>]*>(?:(?!</(?:tr|li)>).)*\b{clause.id}(?![-\w])(?:(?!</(?:tr|li)>).)*</(?:tr|li)>", page
        )
        assert rows, clause.id
        assert all(clause.guarantee in html.unescape(row) for row in rows), clause.id
    gaps = page.partition("What this run does not show")[2].partition("</section>")[0]
    assert f'<span title="{CATALOGUE["core/cordon"].guarantee}">core/cordon</span>' in html.unescape(gaps)


def test_each_link_of_the_matrix_has_a_section() -> None:
    page = document()
    targets = {f"#{value}" for name, value in page.attributes if name == "id"}
    links = {value for name, value in page.attributes if name == "href"}
    assert links == {"#mine-network-least-traffic", "#mine-network-flip", "#/core/binds"}
    assert links <= targets


# -- pictures


def drawn(decision: dict[str, Any]) -> Picture:
    return decision_picture(Decision.model_validate(decision))


def rows(picture: Picture) -> dict[str, list[str]]:
    """Lengths of the bars of each node."""
    return {node.node: [bar.share for bar in bars] for node, bars in picture.rows}


def test_decision_has_a_bar_for_each_node_scaled_by_column() -> None:
    picture = drawn(decision(1))
    assert [column.head for column in picture.columns] == [
        "traffic B/s", "score extender", "score NodeResourcesFit", "score total", "cpu free",
    ]  # fmt: skip
    assert all(len(column.bars) == len(picture.of.nodes) for column in picture.columns)
    assert [bars[0] for bars in rows(picture).values()] == ["82%", "90%", "74%", "100%", ""]
    assert picture.columns[0].scale == "0 to 134,923"


def test_expected_and_chosen_nodes_are_marked() -> None:
    table = render(result()).partition("<tbody>")[2].partition("</tbody>")[0]
    marked = {
        re.findall(r'<th scope="row">([\w-]+)', row)[0]: re.findall(r'class="tag (\w+)">[^a-z]*(\w+)<', row)
        for row in table.split("<tr")[1:]
    }
    assert marked.pop("node-1") == [("wrong", "chosen")]
    assert marked.pop("node-3") == [("hoped", "expected")]
    assert not any(marked.values())
    assert table.count("<tr") == 5


def test_free_resources_are_shown_if_they_matter_for_the_decision() -> None:
    def shown(*, traffic: float | None, free: int, chosen: bool = False, feasible: bool = True) -> list[str]:
        room = {"cpu": {"asked": 100, "free": free, "total": 400}, "pods": {"asked": 1, "free": 9, "total": 10}}
        row = {
            "node": "a", "feasible": feasible, "reasons": [], "traffic": traffic, "scores": {}, "expected": False,
            "chosen": chosen, "room": room,
        }  # fmt: skip
        made = drawn({**DECISION, "nodes": [row]})
        return [column.head for column in made.columns if column.head.endswith(" free")]

    assert shown(traffic=None, free=300) == ["cpu free"], "it fits, and was not bound"
    assert shown(traffic=1.0, free=300) == [], "it is about traffic"
    assert shown(traffic=1.0, free=50) == ["cpu free"], "it does not fit"
    assert shown(traffic=None, free=300, chosen=True, feasible=False) == [], "another rule was broken"


def test_lacking_resources_are_marked_without_colour() -> None:
    (bar,) = [bars[-1] for node, bars in drawn(decision(1)).rows if node.node == "node-2"]
    assert (bar.short, bar.share, bar.needed, bar.text) == (True, "1%", "2%", "50m of 4000m")
    assert "&#10007; 50m of 4000m" in render(result())


def test_decision_of_an_earlier_version_is_shown_without_free_resources() -> None:
    assert rows(drawn(DECISION)) == {"a": ["100%", "100%"], NASTY: ["", ""]}


def test_lanes_have_shapes_for_important_events_and_a_path_for_others() -> None:
    made = lane_picture(Evidence.model_validate({"lanes": run_example.LANES}).lanes)
    pod, queries = made.lanes
    assert [(shape.kind, shape.x, shape.width) for shape in pod.shapes] == [
        ("waits", 50, 125), ("refused", 100, 0), ("bound", 175, 825),
    ]  # fmt: skip
    assert ([shape.kind for shape in queries.shapes], queries.ticks.count("M")) == (["refused"], 17)
    assert [bool(load.quietest) for load in made.load] == [True, False, True]
    assert [load.path.count("M") for load in made.load] == [2, 2, 2]


def test_each_lane_has_a_text_description() -> None:
    figure = render(result()).partition('<figure class="lanes"')[2].partition("</figure>")[0]
    told = re.findall(r'<svg [^>]*role="img"><title>([^<]+)</title>', figure)
    assert len(told) == figure.count("<svg") == 5
    assert "409" in next(text for text in told if text.startswith("probe-1"))


def test_data_of_pictures_is_not_in_report_json() -> None:
    (first, *_) = result().document().as_dict()["candidates"]
    shown = [clause["evidence"] for clause in first["clauses"] if clause["evidence"]]
    assert shown
    assert all("decisions" in evidence and "lanes" not in evidence for evidence in shown)


def test_cells_of_three_candidates_are_aligned() -> None:
    run = result()
    run.candidates["third"] = dataclasses.replace(run.candidates["stock"])
    run.candidates["third"].verdicts = run.candidates["third"].verdicts[:1]  # its run ended early
    cells = render(run).partition('<div class="cells">')[2].partition('<p class="legend">')[0]
    for profile in cells.split('<div class="profile"')[1:]:
        counts = [lane.count('class="cell ') for lane in profile.split('<div class="candidate">')[1:]]
        assert len(counts) == 3
        assert len({*counts} - {0}) == 1, "a clause is in the same column for all that claim some of the profile"
