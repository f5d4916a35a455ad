"""Writes benchstat.txt: every valid round as a line in Go's benchmark format, for `benchstat -col /candidate`.

The format: https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md; how `golang.org/x/perf`
reads it (`Unit` lines, `ns` as seconds) is in its packages benchfmt and benchunit.
"""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterator

from schedproof.benchmark.results import BenchDocument
from schedproof.report.bench.document import METRICS, BenchTrial, trials, valid

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_UNITS = {"throughput": "pods/s", "mean": "mean-ns", "p50": "p50-ns", "p90": "p90-ns", "p99": "p99-ns",
          "cpu per pod": "cpu-ns/pod"}  # fmt: skip
_HEAD = ("Unit pods/s better=higher",)


def benchstat(document: BenchDocument) -> str:
    """Return the text of benchstat.txt. One iteration is one round; `ns/op` is its duration, in a drain from the start
    of the candidate.
    """
    machine = platform.machine()
    facts = {
        "goos": platform.system().lower(),
        "goarch": _ARCHITECTURES.get(machine, machine),
        "pkg": "schedproof",
        "cpu": " ".join((document.run.environment.cpu or "").split()),
    }
    head = [f"{name}: {value}" for name, value in facts.items() if value]
    lines = [line for trial in trials(document) for line in _lines(trial)]
    return "\n".join([*head, *_HEAD, "", *lines]) + "\n"


def _lines(trial: BenchTrial) -> Iterator[str]:
    mode = "".join(part.capitalize() for part in trial.mode.split("-"))
    rate = f"/rate={trial.rate:g}" if trial.rate is not None else ""
    for measured in trial.measurements:
        name = f"Benchmark{mode}/workload={_word(trial.workload)}{rate}/candidate={_word(measured.candidate)}"
        for round_ in valid(measured):
            # Older rounds have no time to drain.
            values = {"ns/op": (round_.time_to_drain or round_.seconds) * 1e9}
            for metric, unit in _UNITS.items():
                value = METRICS[metric].of(round_)
                if value is not None and math.isfinite(value):
                    values[unit] = value * 1e9 if "ns" in unit else value
            yield f"{name} 1 {' '.join(f'{value:.9g} {unit}' for unit, value in values.items())}"


def _word(name: str) -> str:
    """Return a part of a benchmark's name, without white space, slashes, or a final number, which would be read as
    GOMAXPROCS.
    """
    word = re.sub(r"[\s/=]+", "_", name)
    return re.sub(r"-(\d+)$", r"_\1", word)
