"""bench.html: one well-formed file that needs no network, omits unmeasured parts, and shows every doubt."""

from __future__ import annotations

import copy
import itertools
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from schedproof.report.bench.document import METRICS, trials, typical
from schedproof.report.bench.page import render_bench

from .example import CONTROLLER, EXTENDER, INVALID, PLUGIN, TOO_FEW, WRONG, document, read

TIMES = "\N{MULTIPLICATION SIGN}"
NASTY = "<img src=x onerror=\"alert(1)\"></script><script>alert(2)</script> & 'quotes'"


class Page(HTMLParser):
    """The elements of a page; asserts that each is closed."""

    VOID = frozenset({"meta", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.text += data

    def named(self, *names: str) -> list[tuple[str, dict[str, str | None]]]:
        return [element for element in self.elements if element[0] in names]


PAGE = Page(render_bench(read()))
EMPTY: dict[str, Any] = {
    "schema": "schedproof.bench/v1", "run": {}, "candidates": [], "conformance": None,
    "workloads": [], "measurements": [], "comparisons": [], "knees": [], "scaling": [], "phases": [], "queries": [],
    "gates": [],
}  # fmt: skip


def test_every_element_of_bench_html_is_closed() -> None:
    assert PAGE.open == []


def test_bench_html_needs_nothing_from_the_network() -> None:
    assert not PAGE.named("link", "img", "iframe", "object", "base")
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in PAGE.elements)
    assert not any("src" in attributes for _, attributes in PAGE.elements)
    policy = next(a["content"] for _, a in PAGE.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_bench_html_is_reproducible() -> None:
    assert render_bench(read()) == render_bench(read())


def test_text_of_a_candidate_or_a_workload_is_escaped() -> None:
    nasty = _replaced(document(), {PLUGIN: NASTY, "basic": NASTY, WRONG: NASTY, INVALID: NASTY, "embedded": NASTY})
    page = Page(render_bench(read(nasty)))
    assert page.open == []
    assert len(page.named("script")) == 1
    assert not page.named("img")
    assert not any("onerror" in attributes for _, attributes in page.elements)


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    ids = [attributes["id"] for _, attributes in PAGE.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(attributes["href"] or "")[1:] for _, attributes in PAGE.named("a")}
    labels = {name for _, a in PAGE.elements for name in (a.get("aria-labelledby") or "").split()}
    fills = set(re.findall(r"url\(#([^)]+)\)", render_bench(read())))
    assert links | labels | fills <= set(ids)


def test_headings_are_in_order() -> None:
    levels = [int(tag[1]) for tag, _ in PAGE.named("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_scrolling_regions_are_focusable_and_have_a_name() -> None:
    regions = [a for _, a in PAGE.elements if "scroll" in (a.get("class") or "").split()]
    assert all(a.get("tabindex") == "0" and a.get("role") == "region" and a.get("aria-label") for a in regions)
    assert len(regions) == len(PAGE.named("table"))


def test_tables_and_pictures_have_a_description() -> None:
    assert all(attributes.get("scope") in ("row", "col") for _, attributes in PAGE.named("th"))
    assert len(PAGE.named("caption")) == len(PAGE.named("table"))
    pictures = [a for _, a in PAGE.named("svg")]
    assert all(a.get("aria-hidden") == "true" or a.get("aria-labelledby") or a.get("aria-label") for a in pictures)
    assert all(a.get("role") == "img" for a in pictures if a.get("aria-hidden") != "true")
    assert len(PAGE.named("figure")) == len(PAGE.named("figcaption")) > 10


@pytest.mark.parametrize(
    "words",
    ["Which is faster?", "Does it keep its guarantees?", "Workload by workload", "How much load does it sustain?",
     "How does it grow with nodes?", "Where does the time go?", "What does it request?", "Where was this measured?",
     "How to measure again", WRONG, INVALID, "retries of 31 pods", "2,100 pods/s", "not known",
     "Warm-up: the first 100",
     TOO_FEW, "UNPROVED", "99 % interval"],
)  # fmt: skip
def test_all_parts_are_shown(words: str) -> None:
    assert words in PAGE.text


@pytest.mark.parametrize(
    "part",
    ["conformance", "measurements", "knees", "scaling", "phases", "queries", "gates", "workloads", "comparisons"],
)
def test_unmeasured_part_is_left_out(part: str) -> None:
    page = Page(render_bench(read({**document(), part: None if part == "conformance" else []})))
    assert page.open == []
    empty = [a for tag, a in page.elements if tag == "section" and a.get("id") == part]
    assert empty == []


def test_run_without_measurements_has_a_page() -> None:
    page = Page(render_bench(read(EMPTY)))
    assert "Nothing was measured." in page.text
    assert not page.named("figure", "table")


def test_page_of_an_incomplete_run_shows_its_error() -> None:
    page = Page(render_bench(read({**EMPTY, "run": {"error": "the apiserver went away"}})))
    assert "Incomplete measurements: the apiserver went away" in page.text
    assert any(attributes.get("role") == "alert" for _, attributes in page.elements)


def test_candidate_that_could_not_be_brought_up_is_named() -> None:
    broken = [{"workload": "basic", "candidate": "mine", "said": "mine did not get ready"}]
    page = Page(render_bench(read({**EMPTY, "run": {"broken": broken}})))
    assert "Incomplete measurements: basic, mine: mine did not get ready" in page.text


def test_wrong_placements_are_shown_beside_the_number() -> None:
    cells = re.findall(r"<td[^>]*>(?:(?!</td>).)*faster(?:(?!</td>).)*</td>", render_bench(read()))
    wrong = [cell for cell in cells if "WRONG" in cell]
    # In the headline, and with its trial.
    assert len(wrong) == 2
    assert re.search(rf"1\.\d\d{TIMES}.*WRONG: 3 violations in 2 rounds", wrong[0])


def test_invalid_round_does_not_change_any_number() -> None:
    sane = document()
    wild = copy.deepcopy(sane)
    for measured in wild["measurements"]:
        if measured["candidate"] == EXTENDER:
            for round_ in measured["rounds"]:
                if round_["invalid"]:
                    round_["throughput"], round_["latency"] = 1e6, {}
                    round_["usage"] = {"extender": {"cpu": 1e9, "peak": 1e15}}
    lead = METRICS["throughput"]
    shown = lead.show(typical(trials(read(sane))[0].of(EXTENDER), lead))
    for document_ in (sane, wild):
        page = render_bench(read(document_))
        assert f"<b>{shown}</b>" in page
        assert "1,000,000 s" not in page


def test_rounds_without_bound_pods_are_shown() -> None:
    document_ = document()
    for measured in document_["measurements"]:
        measured |= {"cdf": [], "histogram": {"edges": [], "counts": []}}
        for round_ in measured["rounds"]:
            round_ |= {"bound": 0, "throughput": 0.0, "latency": {}, "usage": {}, "own_metrics": None, "unaccounted": 3}
    text = Page(render_bench(read({**document_, "comparisons": []}))).text
    assert "0 of 1,000" in text
    assert "pods unaccounted for" in text


def test_more_candidates_than_colours_still_differ() -> None:
    names = [f"candidate-{n}" for n in range(9)]
    document_ = {**EMPTY, "scaling": [
        {"workload": "w", "candidate": name,
         "points": [{"nodes": nodes, "throughput": 100.0 + place, "p99": 0.1} for nodes in (10, 100)]}
        for place, name in enumerate(names)
    ]}  # fmt: skip
    found = re.findall(
        r'<li data-series="(\d+)"><svg.*?class="curve (c\d d\d)".*?d="([^"]+)".*?<span>(.*?)</span>',
        render_bench(read(document_)),
    )
    assert [name for *_, name in found] == names
    assert len({look[1:3] for look in found}) == 9


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_and_marks_stand_out_from_the_page(mode: str) -> None:
    colours = _colours(mode)
    for name in ("ink", "dim", "pass", "fail", "warn", "invalid", "link"):
        assert _contrast(colours[name], colours["page"]) >= 4.5, name
    for name in ("c0", "c1", "c2", "c3", "c4", "c5"):
        assert _contrast(colours[name], colours["page"]) >= 3, name
    for name in ("p0", "p1", "p2", "p3", "p4"):
        assert _contrast(colours["hatch"], colours[name]) >= 3, name


def _colours(mode: str) -> dict[str, str]:
    style = re.search(r"<style>(.*?)</style>", render_bench(read(EMPTY)), re.DOTALL)
    assert style is not None
    dark = r"@media \(prefers-color-scheme: dark\) \{ :root \{(.*?)\} \}"
    blocks = re.findall(dark, style[1], re.DOTALL)
    light = re.findall(r":root \{(.*?)\}", re.sub(dark, "", style[1], flags=re.DOTALL), re.DOTALL)
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", "".join(light + (blocks if mode == "dark" else []))))


def _contrast(first: str, second: str) -> float:
    """Contrast ratio of WCAG 2.2."""

    def luminance(colour: str) -> float:
        channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _replaced(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_replaced(key, names): _replaced(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def test_example_has_the_candidates_of_these_tests() -> None:
    names = [candidate["name"] for candidate in document()["candidates"]]
    assert names == ["stock", PLUGIN, EXTENDER, CONTROLLER]
