"""report.html in Chromium: phone, dark mode, print and keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.report.run.html import render

from .browser import DESKTOP, PHONE, Browser
from .run_example import result

pytestmark = pytest.mark.browser

OPEN_ALL = "document.querySelectorAll('details').forEach((element) => element.open = true)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(result()), encoding="utf-8")
    return path


def test_report_html_makes_no_requests_and_logs_no_errors(window: Browser, page: Path) -> None:
    window.complaints()
    window.requests(page)
    window.open(page)
    assert window.requests(page) == [page.as_uri()]
    assert window.complaints() == []


@pytest.mark.parametrize("size", [PHONE, (320, 640), (400, 800), (768, 1024), DESKTOP])
def test_the_page_does_not_scroll_sideways(window: Browser, page: Path, size: tuple[int, int]) -> None:
    window.open(page, size)
    window.run(OPEN_ALL)
    assert window.run("return document.documentElement.scrollWidth") == size[0]


def test_no_element_scrolls_sideways_on_a_phone(window: Browser, page: Path) -> None:
    window.open(page, (400, 800))
    window.run(OPEN_ALL)
    wide = window.run("""
        return [...document.querySelectorAll(".scroll, .lanes, .lane, .cells")]
            .filter((el) => el.scrollWidth > el.clientWidth + 1).map((el) => el.textContent.slice(0, 60))
    """)
    assert wide == []
    assert window.find_all(".scroll:has(.picture)")
    assert window.find_all(".lane")


def test_verdict_and_first_cause_are_visible_without_scrolling(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        ends = [
            window.run(f"return document.querySelector('{selector}').getBoundingClientRect().bottom")
            for selector in (".verdict", ".cause h3")
        ]
        assert max(ends) < size[1], size


def test_traffic_and_own_score_are_visible_without_scrolling_sideways(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        for place in range(2):
            bar = window.find_all(".picture tbody tr:first-child td.number .meter")[place]
            sides = window.run(
                "const box = arguments[0].getBoundingClientRect(); return [box.left, box.right, box.width]", bar
            )
            assert 0 <= sides[0] < sides[1] <= size[0], size
            assert sides[2] > 60, size


def test_column_headers_do_not_overlap(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        window.run(OPEN_ALL)
        assert window.crowded_headers() == [], size


def visible(window: Browser, selector: str) -> int:
    """Return the number of visible elements."""
    return int(window.run(
        "return [...document.querySelectorAll(arguments[0])].filter((el) => el.checkVisibility()).length", selector
    ))  # fmt: skip


SECTIONS, ROWS = "section.f", "tr.f"


def test_filters_by_outcome_and_profile_need_no_script(window: Browser, page: Path) -> None:
    window.scripts(enabled=False)
    try:
        window.open(page)
        everything = visible(window, SECTIONS), visible(window, ROWS)
        assert everything == (len(window.find_all(SECTIONS)), len(window.find_all(ROWS)))
        assert visible(window, ".filters label:has([type=search])") == 0, "it would do nothing"
        window.find("label:has(#o-invalid)").click()
        assert (visible(window, SECTIONS), visible(window, ROWS)) == (1, 1)
        window.find("label:has(#p-core)").click()
        assert (visible(window, SECTIONS), visible(window, ROWS)) == (0, 0)
        window.find("label:has(#o-all)").click()
        assert visible(window, ROWS) == len(window.find_all("tr.f[data-p=core]"))
        window.find("label:has(#p-all)").click()
        assert (visible(window, SECTIONS), visible(window, ROWS)) == everything
    finally:
        window.scripts(enabled=True)


def test_search_finds_clauses_by_their_text(window: Browser, page: Path) -> None:
    window.open(page)
    field = window.find(".filters [type=search]")
    field.send_keys("9 of 14  PROBES")
    assert visible(window, SECTIONS) == 1
    assert window.find("section.f:not(.away)").get_attribute("id") == "least-traffic-extender-network-least-traffic"
    field.clear()
    field.send_keys("nothing has this")
    assert (visible(window, SECTIONS), visible(window, ROWS)) == (0, 0)
    assert "0" in window.find(".filters output").text


def test_link_shows_its_failure_even_if_a_filter_hides_it(window: Browser, page: Path) -> None:
    window.open(page)
    window.find("label:has(#o-passed)").click()
    assert visible(window, SECTIONS) == 0
    window.find(".cause a").click()
    window.wait_for_result("return document.querySelector(':target')?.checkVisibility()", expected=True)


def test_print_shows_filtered_and_folded_parts(window: Browser, page: Path) -> None:
    window.open(page)
    window.find("label:has(#o-invalid)").click()
    window.find(".filters [type=search]").send_keys("nothing has this")
    window.print_as("print")
    assert visible(window, SECTIONS) == len(window.find_all(SECTIONS))
    assert visible(window, ROWS) == len(window.find_all(ROWS))
    assert visible(window, ".filters") == 0
    folded = window.run("""
        return [...document.querySelectorAll("details > *:not(summary)")]
            .filter((element) => element.getBoundingClientRect().height === 0).length
    """)
    assert folded == 0
    window.print_as("")


def test_cells_are_distinguishable_without_colour(window: Browser, page: Path) -> None:
    window.open(page)
    signs = window.run("""
        return [...new Set([...document.querySelectorAll("a.cell")].map((el) => el.dataset.o + el.textContent))]
    """)
    assert len({sign[-1] for sign in signs}) == len(signs) > 3


def test_text_has_enough_contrast_in_both_modes(window: Browser, page: Path) -> None:
    for scheme in ("light", "dark"):
        window.open(page, scheme=scheme)
        low: list[str] = window.run(CONTRASTS, 4.5)
        assert low == [], scheme


CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
function over(colours) {
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return canvas.getImageData(0, 0, 1, 1).data;
}
function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}
const low = [];
for (const element of document.querySelectorAll(".tag, .cell, .picture th, .picture td, .picture small, .lane span, " +
    ".filters span, .filters small, .filters legend, .legend, .brief, .count, .verdict, figcaption, .requests span")) {
  if (!element.checkVisibility() || !element.textContent.trim()) continue;
  const grounds = [];
  for (let up = element; up; up = up.parentElement) grounds.unshift(getComputedStyle(up).backgroundColor);
  const ground = over(grounds), ink = over([...grounds, getComputedStyle(element).color]);
  const [bright, dark] = [luminance(ground), luminance(ink)].sort((a, b) => b - a);
  if ((bright + 0.05) / (dark + 0.05) < arguments[0]) low.push(element.outerHTML.slice(0, 100));
}
return low;
"""
"""Script that returns elements of the page with less contrast than its argument."""


def test_dark_mode_has_a_dark_background(window: Browser, page: Path) -> None:
    assert window.backgrounds(page) == ("rgba(255, 255, 255, 1)", "rgba(13, 17, 23, 1)")


def test_print_shows_every_failure_and_every_clause(window: Browser, page: Path) -> None:
    window.open(page)
    window.print_as("print")
    assert all(element.is_displayed() for element in window.find_all("h2, tbody th summary, .verdict"))
    window.print_as("")
    assert window.pdf().startswith(b"%PDF")


def test_folded_parts_open_by_keyboard(window: Browser, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    window.open(page)
    for summary in (window.find("section.f > details summary"), window.find("tbody th summary")):
        shown = "return arguments[0].parentElement.open"
        assert not window.run(shown, summary)
        window.run("arguments[0].focus()", summary)
        summary.send_keys(Keys.ENTER)
        assert window.run(shown, summary)


def test_link_leads_to_its_failure(window: Browser, page: Path) -> None:
    window.open(page)
    link = window.find_all(".failures a")[1]
    link.click()
    window.wait_for_result("return document.querySelector(':target') !== null", expected=True)
    assert window.run("return document.querySelector(':target').textContent").startswith("least-traffic-extender")
    assert window.run("return Math.abs(document.querySelector(':target').getBoundingClientRect().top)") < DESKTOP[1]


def test_focusable_elements_have_a_name(window: Browser, page: Path) -> None:
    window.open(page)
    shown = window.run("return [...document.querySelectorAll(\"a, summary, [tabindex='0'], nav\")]"
                       ".filter((element) => element.checkVisibility())")  # fmt: skip
    nameless = [element.get_attribute("outerHTML")[:100] for element in shown if not element.accessible_name]
    assert len(shown) > 50
    assert nameless == []
