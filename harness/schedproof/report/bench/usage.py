"""What each process cost: CPU time and memory, for each pod."""

from __future__ import annotations

import dataclasses
import statistics

from markupsafe import Markup

from schedproof.benchmark.results import Measurement
from schedproof.report.bench.document import BenchTrial, cpu_per_pod, valid
from schedproof.report.bench.markup import TableRow, figure, number, table
from schedproof.report.bench.stacked import stacked_bars
from schedproof.report.bench.units import data, duration


@dataclasses.dataclass(frozen=True)
class _Cost:
    candidate: str
    process: str
    cpu: float
    """Seconds for each pod: the median of the valid rounds."""
    peak: float
    """Bytes: the largest of the valid rounds."""
    pods: int


def usage_chart(trial: BenchTrial) -> Markup | None:
    """CPU time by process as bars, memory in the table; None where nothing was measured."""
    costs = [cost for measured in trial.measurements for cost in _costs(measured)]
    if not costs:
        return None
    bars: dict[str, dict[str, float]] = {}
    for one in costs:
        bars.setdefault(one.candidate, {})[one.process] = one.cpu
    most_cpu, most_peak = max(one.cpu for one in costs) or 1.0, max(one.peak for one in costs) or 1.0
    rows: list[TableRow] = [
        [
            one.candidate,
            one.process,
            number(one.cpu, duration(one.cpu), share=one.cpu / most_cpu),
            number(one.peak, data(one.peak), share=one.peak / most_peak),
            number(one.peak / one.pods, data(one.peak / one.pods)),
        ]
        for one in costs
    ]
    caption = "CPU time for each pod (median of the valid rounds) and largest resident memory"
    numbers = table(caption, ["candidate", "process", "CPU per pod", "memory", "memory per pod"], rows, sortable=True)
    picture = stacked_bars(f"{trial.anchor}-cpu", f"{trial.workload}, {trial.title}: CPU", "CPU time per pod", bars)
    return figure("CPU time per pod, by process", picture, numbers, summary="the numbers, and memory")


def _costs(measurement: Measurement) -> list[_Cost]:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for one in valid(measurement):
        for process, usage in one.usage.items():
            if (cpu := cpu_per_pod(one, process)) is not None and one.bound:
                found.setdefault(process, []).append((cpu, usage.peak, one.bound))
    return [
        _Cost(
            measurement.candidate, process, statistics.median(cpu for cpu, _, _ in used),
            max(peak for _, peak, _ in used), used[0][2],
        )
        for process, used in found.items()
    ]  # fmt: skip
