"""Shows the CPU time and memory of each process, per pod."""

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
    """Draw CPU time by process as bars, with memory in the table; None if nothing was measured."""
    costs = [cost for measured in trial.measurements for cost in _costs(measured)]
    if not costs:
        return None
    bars: dict[str, dict[str, float]] = {}
    for cost in costs:
        bars.setdefault(cost.candidate, {})[cost.process] = cost.cpu
    most_cpu, most_peak = max(cost.cpu for cost in costs) or 1.0, max(cost.peak for cost in costs) or 1.0
    rows: list[TableRow] = [
        [
            cost.candidate,
            cost.process,
            number(cost.cpu, duration(cost.cpu), share=cost.cpu / most_cpu),
            number(cost.peak, data(cost.peak), share=cost.peak / most_peak),
            number(cost.peak / cost.pods, data(cost.peak / cost.pods)),
        ]
        for cost in costs
    ]
    caption = "CPU time for each pod (median of the valid rounds) and largest resident memory"
    numbers = table(caption, ["candidate", "process", "CPU per pod", "memory", "memory per pod"], rows, sortable=True)
    picture = stacked_bars(f"{trial.anchor}-cpu", f"{trial.workload}, {trial.title}: CPU", "CPU time per pod", bars)
    return figure("CPU time per pod, by process", picture, numbers, summary="the numbers, and memory")


def _costs(measurement: Measurement) -> list[_Cost]:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for round_ in valid(measurement):
        for process, usage in round_.usage.items():
            if (cpu := cpu_per_pod(round_, process)) is not None and round_.bound:
                found.setdefault(process, []).append((cpu, usage.peak, round_.bound))
    return [
        _Cost(
            measurement.candidate, process, statistics.median(cpu for cpu, _, _ in used),
            max(peak for _, peak, _ in used), used[0][2],
        )
        for process, used in found.items()
    ]  # fmt: skip
