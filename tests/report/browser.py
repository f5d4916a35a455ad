"""A Chromium for tests, and the network requests that it would have made."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS, DRIVERS = ("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
"""`--no-sandbox`: CI runs as root. Only the harness's own files are opened."""
DESKTOP, PHONE = (1200, 900), (360, 740)


_FOLLOWED = 30.0
"""Seconds; following a link within a page takes milliseconds."""


class Browser:
    """One browser window. Sizes are in CSS pixels."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, page: Path, size: tuple[int, int] = DESKTOP, *, scheme: str = "light", media: str = "") -> None:
        """Open a page from its file, and wait until its scripts have run."""
        self._tell("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                   mobile=size == PHONE)  # fmt: skip
        self._tell(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.driver.get(page.as_uri())

    def print_as(self, media: str) -> None:
        self._tell("Emulation.setEmulatedMedia", media=media)

    def scripts(self, *, enabled: bool) -> None:
        self._tell("Emulation.setScriptExecutionDisabled", value=not enabled)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait_for_result(self, script: str, expected: Any) -> None:
        """Wait until the script returns `expected`: the browser follows a link after the click has returned."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, _FOLLOWED, poll_frequency=0.05).until(
            lambda _: self.run(script) == expected, f"{script} does not come to {expected}"
        )

    def find_all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def styled(self, selector: str, name: str) -> str:
        return str(self.find(selector).value_of_css_property(name))

    def backgrounds(self, page: Path) -> tuple[str, str]:
        """Return the background colours of a page in light and in dark mode."""
        self.open(page)
        light = self.styled("body", "background-color")
        self.open(page, scheme="dark")
        return light, self.styled("body", "background-color")

    def crowded_headers(self) -> list[str]:
        """Return visible column headers of tables whose text is wider than the header."""
        heads: list[str] = self.run("""
            return [...document.querySelectorAll("thead th")]
                .filter((head) => head.scrollWidth > head.clientWidth + 1).map((head) => head.textContent)
        """)
        return heads

    def complaints(self) -> list[str]:
        """Return messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self, page: Path) -> list[str]:
        """Return URLs that a page requested since the last call, including its own."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in asked if params["documentURL"] == page.as_uri()]

    def picture(self, file: Path, height: int, *, under: str = "html", scale: float = 1.0) -> None:
        """Save a PNG of `height` pixels of the page, from the top of an element."""
        width = self._tell("Page.getLayoutMetrics")["cssContentSize"]["width"]
        top = self.run("return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY", under)
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": scale}
        shot = self._tell("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Return the page as printed."""
        return base64.b64decode(self._tell("Page.printToPDF", printBackground=True)["data"])

    def _tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Open a browser, or skip the test if there is none and SCHEDPROOF_REQUIRE_BROWSER is not set."""
    program, driver = _first(BROWSERS), _first(DRIVERS)
    if program is None or driver is None:
        reason = "no Chromium with its driver (Debian: chromium, chromium-driver)"
        if os.environ.get("SCHEDPROOF_REQUIRE_BROWSER") == "1":
            pytest.fail(f"SCHEDPROOF_REQUIRE_BROWSER is set: {reason}")
        pytest.skip(reason)
    # Imported here, so that selenium is needed only with a browser.
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()


def _first(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)
