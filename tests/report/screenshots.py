"""Create the pictures in docs/images: `python -m tests.report.screenshots` in the checkout.

Pictures of benchmarks show the made-up example of these tests, or the run of a given bench.json. Pictures of
report.html (`python -m tests.report.screenshots report`) show the recorded history of a planted defect, and the
example of these tests for several candidates.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path

from schedproof.report.bench.page import render_bench
from schedproof.report.run.html import render
from schedproof.run.rejudge import rejudge

from .browser import DESKTOP, PHONE, browser
from .example import document, read
from .run_example import candidate, result

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded.tar.xz"
DEFECT = "d1-ranks-by-total"
"""The shown planted defect."""


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


def of_reports() -> None:
    with tempfile.TemporaryDirectory() as name, browser(Path(name)) as window:
        with tarfile.open(RECORDED) as archive:
            wanted = [member for member in archive if member.name.split("/")[0] == DEFECT]
            archive.extractall(name, wanted, filter="data")
        page = Path(name) / "report.html"
        page.write_text(render(rejudge(Path(name) / DEFECT)), encoding="utf-8")
        window.open(page)
        window.picture(IMAGES / "report-light.png", 1080, scale=0.7)
        window.picture(IMAGES / "report-lanes.png", 560, under=".lanes", scale=0.7)
        window.open(page, PHONE, scheme="dark")
        window.picture(IMAGES / "report-phone.png", 1100)
        three = result()
        three.candidates["least-traffic-controller"] = candidate(
            "least-traffic-controller", ("core", "network-aware", "controller"), {}
        )
        page.write_text(render(three), encoding="utf-8")
        window.open(page)
        window.picture(IMAGES / "report-candidates.png", 660, under="#glance", scale=0.7)


if __name__ == "__main__":
    of_reports() if sys.argv[1:] == ["report"] else main(sys.argv[1:])
