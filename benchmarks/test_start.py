"""How long a warm start of the embedded cluster takes, and what of it goes where.

Run with `pytest benchmarks`; `--benchmark-json FILE` keeps the breakdown of every round.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from schedproof.binaries.resolve import resolve
from schedproof.clusters.embedded.cluster import EmbeddedCluster
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.spec import load_spec
from schedproof.foundation.content import content
from schedproof.foundation.progress import ConsoleProgress

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live


def test_warm_start_of_four_nodes(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From nothing to: nodes Ready and scraped, identities made. Some parts run beside each other."""
    spec = load_spec(content("clusters", "embedded.yaml"), count=4)
    resolved = resolve(EMBEDDED.binaries, kubernetes=spec.kubernetes, progress=ConsoleProgress())
    binaries = {name: found.path for name, found in resolved.items()}
    started: list[EmbeddedCluster] = []

    def start() -> None:
        started.append(EmbeddedCluster(spec, binaries, tmp_path / str(len(started))))

    def close() -> None:
        started[-1].close()

    # The first one warms the page cache: what lies on the disk's side is not ours to measure.
    start()
    close()
    started.clear()
    benchmark.pedantic(start, teardown=close, rounds=5)
    parts = {part: [cluster.timings[part] for cluster in started] for part in started[0].timings}
    benchmark.extra_info["seconds"] = parts
    benchmark.extra_info["median seconds"] = {
        part: round(statistics.median(seconds), 3) for part, seconds in parts.items()
    }
