"""Takes the pictures in docs/images: `python -m tests.report.screenshots` in the checkout.

They show the example of these tests, whose numbers are made up, or another run's: give its bench.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from schedproof.report.bench.page import render_bench

from .browser import DESKTOP, PHONE, browser
from .example import document, read

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def main(arguments: list[str]) -> None:
    shown = json.loads(Path(arguments[0]).read_text()) if arguments else document()
    with tempfile.TemporaryDirectory() as name, browser(Path(name)) as window:
        page = Path(name) / "bench.html"
        page.write_text(render_bench(read(shown)), encoding="utf-8")
        window.open(page)
        window.picture(IMAGES / "bench-light.png", 940, scale=0.8)
        window.open(page, DESKTOP, scheme="dark")
        window.picture(IMAGES / "bench-dark.png", 1180, under=".panel", scale=0.7)
        window.open(page, PHONE)
        window.picture(IMAGES / "bench-phone.png", 1400)


if __name__ == "__main__":
    main(sys.argv[1:])
