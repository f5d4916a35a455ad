"""report.html in a real Chromium: on a phone, in the dark, printed, by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedproof.report.run.html import render

from .browser import DESKTOP, PHONE, Browser
from .run_example import result

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

OPEN_ALL = "document.querySelectorAll('details').forEach((one) => one.open = true)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(result()), encoding="utf-8")
    return path


def test_nothing_is_fetched_and_nothing_is_complained_of(window: Browser, page: Path) -> None:
    window.complaints()
    window.requests(page)
    window.open(page)
    assert window.requests(page) == [page.as_uri()]
    assert window.complaints() == []


@pytest.mark.parametrize("size", [PHONE, (320, 640), (768, 1024), DESKTOP])
def test_the_page_does_not_scroll_sideways(window: Browser, page: Path, size: tuple[int, int]) -> None:
    window.open(page, size)
    window.run(OPEN_ALL)
    assert window.run("return document.documentElement.scrollWidth") == size[0]


def test_the_verdict_and_the_first_cause_are_seen_at_once(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        ends = [window.run(f"return document.querySelector('{one}').getBoundingClientRect().bottom") for one in (
            ".verdict", ".cause h3"
        )]  # fmt: skip
        assert max(ends) < size[1], size


def test_the_traffic_and_the_candidate_s_own_score_are_seen_without_scrolling(window: Browser, page: Path) -> None:
    """On a phone at least the traffic."""
    for size, columns in ((PHONE, 3), (DESKTOP, 4)):
        window.open(page, size)
        right = window.run(
            "return arguments[0].getBoundingClientRect().right", window.all("section thead th")[columns - 1]
        )
        assert right <= size[0], size


def test_heads_of_columns_do_not_run_into_each_other(window: Browser, page: Path) -> None:
    for size in (PHONE, DESKTOP):
        window.open(page, size)
        window.run(OPEN_ALL)
        assert window.crowded_heads() == [], size


def test_dark_mode_is_dark(window: Browser, page: Path) -> None:
    assert window.backgrounds(page) == ("rgba(255, 255, 255, 1)", "rgba(13, 17, 23, 1)")


def test_print_shows_every_failure_and_every_clause(window: Browser, page: Path) -> None:
    window.open(page)
    window.print_as("print")
    assert all(one.is_displayed() for one in window.all("h2, tbody th summary, .verdict"))
    window.print_as("")
    assert window.pdf().startswith(b"%PDF")


def test_folded_parts_open_by_keyboard(window: Browser, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    window.open(page)
    for summary in (window.one("section > details summary"), window.one("tbody th summary")):
        shown = "return arguments[0].parentElement.open"
        assert not window.run(shown, summary)
        window.run("arguments[0].focus()", summary)
        summary.send_keys(Keys.ENTER)
        assert window.run(shown, summary)


def test_a_link_leads_to_its_failure(window: Browser, page: Path) -> None:
    window.open(page)
    link = window.all(".failures a")[1]
    link.click()
    window.comes_to("return document.querySelector(':target') !== null", expected=True)
    assert window.run("return document.querySelector(':target').textContent").startswith("least-traffic-extender")
    assert window.run("return Math.abs(document.querySelector(':target').getBoundingClientRect().top)") < DESKTOP[1]


def test_what_can_be_focused_has_a_name(window: Browser, page: Path) -> None:
    window.open(page)
    shown = window.run("return [...document.querySelectorAll(\"a, summary, [tabindex='0'], nav\")]"
                       ".filter((one) => one.checkVisibility())")  # fmt: skip
    nameless = [one.get_attribute("outerHTML")[:100] for one in shown if not one.accessible_name]
    assert len(shown) > 50
    assert nameless == []
