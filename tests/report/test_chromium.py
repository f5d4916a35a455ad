"""bench.html in Chromium: clicks, keyboard, phone, dark mode, print, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedproof.report.bench.page import render_bench

from .browser import DESKTOP, PHONE, Browser
from .example import CONTROLLER, EXTENDER, PLUGIN, STOCK, WRONG, document, read

pytestmark = pytest.mark.browser

WORKLOADS = ["basic", "network-aware", "topology-spread"]
MODES = ["drain", "open-loop, 80 pods/s", "one-at-a-time"]
SHOWN = "return [...document.querySelectorAll('.panel')].filter(p => p.checkVisibility()).map(p => p.dataset.tab)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "bench.html"
    path.write_text(render_bench(read()), encoding="utf-8")
    return path


def tab(window: Browser, name: str) -> Any:
    return next(element for element in window.find_all("[role=tab]") if element.is_displayed() and element.text == name)


def test_bench_html_makes_no_requests_and_logs_no_errors(window: Browser, page: Path) -> None:
    window.complaints()
    window.requests(page)
    window.open(page)
    window.run(
        "document.querySelectorAll('[role=tab], th button, .key button, summary').forEach((element) => element.click())"
    )
    assert window.requests(page) == [page.as_uri()]
    assert window.complaints() == []


def test_script_in_a_name_does_not_run(window: Browser, tmp_path: Path) -> None:
    bench = document()
    nasty = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
    for part in ("candidates", "measurements", "comparisons"):
        for item in bench[part]:
            for key in ("name", "candidate"):
                if item.get(key) == PLUGIN:
                    item[key] = nasty
    path = tmp_path / "bench.html"
    path.write_text(render_bench(read(bench)), encoding="utf-8")
    window.complaints()
    window.open(path)
    assert window.run("return window.harmed") is None
    assert nasty in window.find("main").text
    assert window.complaints() == []


def test_click_switches_tabs(window: Browser, page: Path) -> None:
    window.open(page)
    assert window.run(SHOWN) == ["basic", "drain"]
    tab(window, MODES[1]).click()
    assert window.run(SHOWN) == ["basic", MODES[1]]
    tab(window, "topology-spread").click()
    assert window.run(SHOWN) == ["topology-spread", "drain"]
    selected = [element.text for element in window.find_all("[role=tab][aria-selected=true]") if element.is_displayed()]
    assert selected == ["topology-spread"]


def test_keyboard_switches_tabs(window: Browser, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    window.open(page)
    first = tab(window, "basic")
    window.run("arguments[0].focus()", first)
    for key, expected in (
        (Keys.ARROW_RIGHT, WORKLOADS[1]), (Keys.ARROW_RIGHT, WORKLOADS[2]), (Keys.ARROW_RIGHT, WORKLOADS[0]),
        (Keys.ARROW_LEFT, WORKLOADS[2]), (Keys.HOME, WORKLOADS[0]), (Keys.END, WORKLOADS[2]),
    ):  # fmt: skip
        window.driver.switch_to.active_element.send_keys(key)
        assert window.driver.switch_to.active_element.text == expected
        assert window.run(SHOWN)[0] == expected
    # Each list is one stop in the tab order, before its panel.
    stops = [
        element.get_attribute("tabindex")
        for element in window.find_all("[role=tablist][aria-label=workloads] [role=tab]")
    ]
    assert stops == ["-1", "-1", "0"]


def test_tabs_and_panels_refer_to_each_other(window: Browser, page: Path) -> None:
    window.open(page)
    assert window.run(
        "return [...document.querySelectorAll('[role=tab]')].every(tab => {"
        "const panel = document.getElementById(tab.getAttribute('aria-controls'));"
        "return panel.getAttribute('role') === 'tabpanel' && panel.getAttribute('aria-labelledby') === tab.id})"
    )


def test_link_in_the_headline_opens_its_panel(window: Browser, page: Path) -> None:
    window.open(page)
    links = window.find_all("#faster tbody th a")
    assert len(links) == 5
    links[2].click()
    window.wait_for_result(SHOWN, ["basic", "one-at-a-time"])
    links[4].click()
    window.wait_for_result(f"{SHOWN}[0]", "topology-spread")


def test_link_from_another_page_opens_its_panel(window: Browser, page: Path) -> None:
    window.open(page)
    target = window.find_all("#faster tbody th a")[3].get_attribute("href")
    window.driver.get("about:blank")
    window.driver.get(str(target))
    assert window.run(SHOWN)[0] == "network-aware"


def test_series_is_hidden_in_every_chart_and_shown_again(window: Browser, page: Path) -> None:
    window.open(page)
    # An SVG element that is not displayed has no client rects.
    count = """
        const drawn = [...document.querySelectorAll('svg.plot [data-series="2"]')];
        return drawn.filter((element) => element.getClientRects().length).length;
    """
    before = window.run(count)
    button = next(
        element for element in window.find_all(".key button") if element.is_displayed() and element.text == EXTENDER
    )
    button.click()
    assert (before > 20, window.run(count), button.get_attribute("aria-pressed")) == (True, 0, "false")
    button.click()
    assert (window.run(count), button.get_attribute("aria-pressed")) == (before, "true")


def test_table_is_sorted_by_numbers_and_by_text(window: Browser, page: Path) -> None:
    window.open(page)
    table = next(element for element in window.find_all("table.sortable") if element.is_displayed())
    heads = {element.text: element for element in table.find_elements("css selector", "thead th")}

    def column(place: int) -> list[str]:
        return [cell.text for cell in table.find_elements("css selector", f"tbody tr > :nth-child({place})")]

    heads["ratio to stock"].find_element("css selector", "button").click()
    ratios = [float(text.split("\N{MULTIPLICATION SIGN}")[0]) for text in column(4)]
    assert ratios == sorted(ratios)
    assert heads["ratio to stock"].get_attribute("aria-sort") == "ascending"
    heads["ratio to stock"].find_element("css selector", "button").click()
    ratios = [float(text.split("\N{MULTIPLICATION SIGN}")[0]) for text in column(4)]
    assert ratios == sorted(ratios, reverse=True)
    heads["candidate"].find_element("css selector", "button").click()
    assert column(1) == sorted(column(1))
    assert heads["ratio to stock"].get_attribute("aria-sort") is None
    wrong = table.find_elements("css selector", ".badge.wrong")
    assert {element.find_element("xpath", "ancestor::tr/th").text for element in wrong} == {CONTROLLER}


@pytest.mark.parametrize("size", [PHONE, (320, 640), (768, 1024), DESKTOP])
def test_the_page_does_not_scroll_sideways(window: Browser, page: Path, size: tuple[int, int]) -> None:
    window.open(page, size)
    for name in WORKLOADS:
        tab(window, name).click()
        window.run("document.querySelectorAll('details').forEach(element => element.open = true)")
        assert window.run("return document.documentElement.scrollWidth") == size[0]


def test_text_in_charts_is_readable_on_a_phone(window: Browser, page: Path) -> None:
    window.open(page, PHONE)
    heights = window.run("""
        return [...document.querySelectorAll("svg.plot text")].filter((text) => text.checkVisibility()).map((text) => {
            const svg = text.ownerSVGElement;
            return parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width;
        })
    """)
    assert min(heights) > 10


def test_text_of_a_chart_stays_inside_it(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        beyond = window.run("""
            return [...document.querySelectorAll("svg.plot text")].filter((text) => {
                const [a, b] = [text, text.ownerSVGElement].map((element) => element.getBoundingClientRect());
                return a.left < b.left - 6 || a.right > b.right + 8 || a.bottom > b.bottom + 2;
            }).map((text) => text.textContent)
        """)
        assert beyond == [], size


def test_column_headers_do_not_overlap(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        window.run("document.querySelectorAll('details').forEach(element => element.open = true)")
        assert window.crowded_headers() == [], size


def test_dark_mode_has_a_dark_background(window: Browser, page: Path) -> None:
    assert window.backgrounds(page) == ("rgba(255, 255, 255, 1)", "rgba(13, 17, 23, 1)")


def test_print_shows_every_panel(window: Browser, page: Path) -> None:
    window.open(page)
    tab(window, "network-aware").click()
    window.print_as("print")
    assert window.run(SHOWN) == ["basic", *MODES, "network-aware", "drain", "topology-spread", "drain"]
    assert not any(element.is_displayed() for element in window.find_all("[role=tablist], nav"))
    headings = [element.text for element in window.find_all(".panel h3, .panel h4")]
    assert headings == ["basic", *MODES, "network-aware", "drain", "topology-spread", "drain"]
    window.print_as("")
    assert window.pdf().startswith(b"%PDF")


def test_everything_is_shown_without_scripts(window: Browser, page: Path) -> None:
    window.scripts(enabled=False)
    try:
        window.open(page)
        shown = [element.get_attribute("data-tab") for element in window.find_all(".panel") if element.is_displayed()]
        assert shown == ["basic", *MODES, "network-aware", "drain", "topology-spread", "drain"]
        assert not window.find_all("[role=tablist], .key button, th button")
        assert WRONG in window.find("main").text
        assert STOCK in window.find("h1").text
    finally:
        window.scripts(enabled=True)


def test_focusable_elements_have_a_name(window: Browser, page: Path) -> None:
    window.open(page)
    shown = window.run("""
        const all = document.querySelectorAll("button, a, summary, [tabindex='0'], svg[role=img], nav, [role=tablist]");
        return [...all].filter((element) => element.checkVisibility() && element.getClientRects().length);
    """)
    nameless = [element.get_attribute("outerHTML")[:100] for element in shown if not element.accessible_name]
    assert len(shown) > 50
    assert nameless == []


def test_tables_shown_as_cards_keep_their_roles(window: Browser, page: Path) -> None:
    window.open(page, PHONE)
    table = window.find("table.cards")
    assert table.aria_role == "table"
    assert table.find_element("css selector", "tbody td").aria_role == "cell"
    assert table.find_element("css selector", "tbody th").aria_role == "rowheader"
