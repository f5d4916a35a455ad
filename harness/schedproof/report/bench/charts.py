"""The charts of one trial: its rounds, and the distribution of its latencies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from schedproof.benchmark.results import RoundResult
from schedproof.report.bench.document import BenchTrial, Metric
from schedproof.report.bench.markup import Cell, TableRow, figure, number, table
from schedproof.report.bench.plot import HEIGHT, WIDTH, Axis, ChartSeries, Plot, axis_over
from schedproof.report.bench.units import duration, figures, percent

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
_NOT_FROM_ZERO = 3.0
"""An axis begins at zero if the largest value is more than this many times the smallest. Other axes do not, so that
drift is visible.
"""
_RIDGE = 44.0
_BIN = Markup('<rect class="bin {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>')
_DODGE = 0.09
"""The distance, in blocks, between the marks of a block's candidates, so that equal values do not cover each other."""


def rounds_chart(trial: BenchTrial, series: Mapping[str, ChartSeries]) -> Markup | None:
    """Draw a mark for each round, by block: drift of the machine shows as a slope that all candidates share."""
    metric = trial.lead
    points = [
        (series[measured.candidate], round_, value)
        for measured in trial.measurements
        for round_ in measured.rounds
        if (value := metric.of(round_)) is not None
    ]
    values = [value for _, _, value in points]
    if not values:
        return None
    zero = min(values) <= 0 or max(values) / min(values) > _NOT_FROM_ZERO
    unit = "pods/s" if metric.name == "throughput" else "latency"
    show = figures if metric.name == "throughput" else duration
    ordinate = axis_over(
        f"{metric.name}, {unit}" if unit == "pods/s" else metric.name, values, show, log=False, zero=zero
    )
    blocks = [round_.block for _, round_, _ in points]
    abscissa = Axis("block", min(blocks) - 0.5, max(blocks) + 0.5, False, lambda tick: f"{tick:g}")
    assert ordinate is not None
    title = f"Each round's {metric.name}"
    plot = Plot(
        f"{trial.anchor}-rounds", f"{trial.workload}, {trial.title}: {title}",
        f"A mark for each round of each candidate, by block; {metric.better} is better.", abscissa, ordinate,
    )  # fmt: skip
    middle = (len(trial.measurements) - 1) / 2
    offsets = {measured.candidate: (n - middle) * _DODGE for n, measured in enumerate(trial.measurements)}
    for name, group in itertools.groupby(points, key=lambda point: point[0].name):
        drawn = [(round_.block + offsets[name], value, round_) for _, round_, value in group]
        plot.line(series[name], [(x, y) for x, y, round_ in drawn if not round_.invalid], thin=True)
        for x, y, round_ in drawn:
            doubt = "invalid" if round_.invalid else "wrong" if round_.wrong else ""
            tooltip = f"{name}, block {round_.block}: {metric.show(y)}{f' ({doubt})' if doubt else ''}"
            plot.mark(series[name], x, y, tooltip, doubt=doubt)
    note = "The axis does not begin at zero." if not zero else ""
    if any(round_.invalid for _, round_, _ in points):
        note += " A thin cross is an invalid round."
    if any(round_.wrong for _, round_, _ in points):
        note += " A ring is a round with wrong placements."
    return figure(title, plot.svg(), _by_block(title, trial, metric), note.strip())


def cdf_chart(trial: BenchTrial, series: Mapping[str, ChartSeries]) -> Markup | None:
    """Draw the share of pods that were bound within a time, over all valid rounds."""
    curves = {measured.candidate: [(x, y) for x, y in measured.cdf if x > 0] for measured in trial.measurements}
    curves = {name: points for name, points in curves.items() if points}
    abscissa = axis_over(
        "latency (log scale)", [x for points in curves.values() for x, _ in points], duration, log=True
    )
    if abscissa is None:
        return None
    title = "Latency: share of pods bound within a time"
    plot = Plot(
        f"{trial.anchor}-cdf", f"{trial.workload}, {trial.title}: {title}",
        "A rising curve for each candidate; the further left, the faster.",
        abscissa, Axis("share of pods", 0.0, 1.0, False, percent),
    )  # fmt: skip
    for name, points in curves.items():
        plot.curve(series[name], points, lambda x, y: f"{percent(y)} within {duration(x)}")
    rows: list[TableRow] = [
        [name, *(number(value := _within(points, share), duration(value)) for share in _QUANTILES)]
        for name, points in curves.items()
    ]
    heads = ["candidate", *(percent(share) for share in _QUANTILES[:-1]), "all"]
    return figure(title, plot.svg(), table(f"{title}: this share of the pods was bound within", heads, rows))


def histogram_chart(trial: BenchTrial, series: Mapping[str, ChartSeries]) -> Markup | None:
    """Draw a row of bars for each candidate above a common axis.

    Candidates' bins may differ, so rows are not laid over each other. Heights are relative to the candidate's
    fullest bin.
    """
    bins = {
        measured.candidate: (measured.histogram.edges, measured.histogram.counts)
        for measured in trial.measurements
        if sum(measured.histogram.counts) and measured.histogram.edges[0] > 0
    }
    abscissa = axis_over(
        "latency (log scale)", [edge for edges, _ in bins.values() for edge in edges], duration, log=True
    )
    if abscissa is None:
        return None
    title = "Latency: histogram"
    height = max(HEIGHT, _RIDGE * len(bins) + 70)
    plot = Plot(
        f"{trial.anchor}-histogram", f"{trial.workload}, {trial.title}: {title}",
        "For each candidate a row of bars over the logarithm of the latency; heights are relative within a row.",
        abscissa, None, height=height,
    )  # fmt: skip
    rise = (height - 64) / len(bins)
    for place, (name, (edges, counts)) in enumerate(bins.items()):
        foot = 14 + rise * (place + 1)
        plot.add(series[name], _ridge(plot, series[name], edges, counts, foot, rise - 22))
        plot.add(series[name], Markup('<text class="row" x="14" y="{:.1f}">{}</text>').format(foot - rise + 17, name))
    rows: list[TableRow] = [
        [name, number(edges[n], duration(edges[n])), number(edges[n + 1], duration(edges[n + 1])),
         number(count, f"{count:,}")]
        for name, (edges, counts) in bins.items() for n, count in enumerate(counts) if count
    ]  # fmt: skip
    note = "Heights are relative within a row."
    return figure(title, plot.svg(), table(title, ["candidate", "from", "to", "pods"], rows), note)


def _ridge(
    plot: Plot, series: ChartSeries, edges: Sequence[float], counts: Sequence[int], foot: float, height: float
) -> Markup:
    most, total = max(counts), sum(counts)
    bars = []
    for n, count in enumerate(counts):
        left, right = plot.x(edges[n]), plot.x(edges[n + 1])
        tall = height * count / most
        if count:
            tooltip = f"{series.name}: {percent(count / total)} from {duration(edges[n])} to {duration(edges[n + 1])}"
            bars.append(_BIN.format(series.classes, left, foot - tall, max(0.5, right - left - 0.6), tall, tooltip))
    line = Markup('<line class="grid" x1="14" x2="{}" y1="{foot:.1f}" y2="{foot:.1f}"/>')
    return Markup().join((*bars, line.format(WIDTH - 14, foot=foot)))


def _by_block(title: str, trial: BenchTrial, metric: Metric) -> Markup:
    names = [measured.candidate for measured in trial.measurements]
    values: dict[int, dict[str, RoundResult]] = {}
    for measured in trial.measurements:
        for round_ in measured.rounds:
            values.setdefault(round_.block, {})[measured.candidate] = round_
    rows: list[TableRow] = []
    for block, rounds in sorted(values.items()):
        row: TableRow = [Cell(str(block), key=block)]
        for name in names:
            found = rounds.get(name)
            value = metric.of(found) if found is not None else None
            invalid = found is not None and found.invalid
            row.append(number(value, metric.show(value) + (" (invalid)" if invalid else "")))
        rows.append(row)
    return table(title, ["block", *names], rows)


def _within(points: Sequence[tuple[float, float]], share: float) -> float | None:
    return next((x for x, y in points if y >= share - 1e-9), None)
