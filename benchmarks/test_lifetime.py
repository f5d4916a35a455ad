"""How long a run takes and what of it goes where: create, deploy, run one clause, delete, on embedded and on kind.

Run with `pytest benchmarks`, side by side in one run; kind's images are made before, where they are not there yet.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live

CANDIDATE, CLAUSE = "least-traffic-extender", "core/binds"
PARTS = {"create": "cluster", "deploy": f"attach {CANDIDATE}", "run": f"{CANDIDATE} {CLAUSE}", "delete": "close"}
"""As the table calls them, and as report.json does."""


@pytest.mark.parametrize("cluster", ["embedded", "kind"])
def test_lifetime(benchmark: BenchmarkFixture, tmp_path: Path, cluster: str) -> None:
    reports: list[Path] = []

    def run() -> None:
        reports.append(tmp_path / str(len(reports)))
        command = ("schedproof", "run", CANDIDATE, f"--cluster={cluster}", f"--clause={CLAUSE}")
        subprocess.run([sys.executable, "-m", *command, f"--report={reports[-1]}"], check=True, capture_output=True)

    # The first makes what is made once.
    run()
    reports.clear()
    for folder in tmp_path.iterdir():
        folder.rename(tmp_path / "first")
    benchmark.pedantic(run, rounds=3)
    timings = [json.loads((report / "report.json").read_text())["run"]["timings"] for report in reports]
    benchmark.extra_info["median seconds"] = {
        part: round(statistics.median(one[name] for one in timings), 1) for part, name in PARTS.items()
    }
