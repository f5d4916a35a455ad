"""How long it takes to judge candidates by all that they claim, by the number of clusters side by side.

Run with `pytest benchmarks/test_jobs.py` on a machine that does nothing else. Each benchmark's extra_info has the
processor time of all processes, and by how much the machine's available memory fell meanwhile.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live

EXTENDER = "least-traffic-extender"
REFERENCES = ("stock", EXTENDER, "least-traffic-controller", "least-traffic-plugin")
# What authors claim: the references' window of 2 s without a refresh flatters.
LONG_WINDOW = """\
extends: {extender}
metadata: {{name: long-window}}
spec:
  extender:
    command:
      - "{{python}}"
      - "{extender}/extender.py"
      - --listen={{address}}:{{port}}
      - --prometheus={{prometheus}}
      - --device={{device}}
      - --window={{window}}
      - --resolution=10%
      - --on-missing=neutral
      - --on-outage=schedule
  claims: {{network: {{window: 30s, refresh: 5s}}}}
"""
_LOOKS = 0.5
"""Seconds between two looks at the memory."""

_verdicts: dict[tuple[str, ...], dict[str, str]] = {}


class Memory:
    """By how many bytes the machine's available memory falls at most."""

    def __enter__(self) -> Memory:
        self._before, self.most = _available(), 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(_LOOKS):
            self.most = max(self.most, self._before - _available())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def _available() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("candidates", [(EXTENDER,), REFERENCES, ("long-window",)], ids="+".join)
def test_all_claims(benchmark: BenchmarkFixture, tmp_path: Path, candidates: tuple[str, ...], jobs: int) -> None:
    """The whole command, with its start, the cluster's, and the candidates' builds where they are cached."""
    named = list(candidates)
    if named == ["long-window"]:
        here = Path(__file__).parents[1] / "fixtures/candidates" / EXTENDER
        (tmp_path / "candidate.yaml").write_text(LONG_WINDOW.format(extender=here))
        named = [str(tmp_path)]
    report = tmp_path / "report"
    command = [sys.executable, "-m", "schedproof", "run", *named, "--jobs", str(jobs), "--report", str(report)]

    def judge() -> None:
        subprocess.run(command, check=True, capture_output=True, text=True)

    before = _processor_seconds()
    with Memory() as memory:
        benchmark.pedantic(judge, rounds=1)
    benchmark.extra_info["processor seconds"] = round(_processor_seconds() - before, 1)
    benchmark.extra_info["peak memory, MiB"] = memory.most >> 20
    verdicts = {
        f"{candidate['name']} {clause['id']}": clause["outcome"]
        for candidate in json.loads((report / "report.json").read_text())["candidates"]
        for clause in candidate["clauses"]
    }
    assert verdicts == _verdicts.setdefault(candidates, verdicts)
