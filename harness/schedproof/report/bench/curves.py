"""Charts against a growing load: arrival rate up to the knee, number of nodes, cost of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, Knee, Measured, QueryCost, Scaling
from schedproof.report.bench.markup import ChartGroup, TableRow, chart_groups, figure, key, number, table
from schedproof.report.bench.plot import ChartSeries, Plot, axis_over
from schedproof.report.bench.units import NONE, data, duration, figures, throughput

_Grown = TypeVar("_Grown", Knee, Scaling)

Points = dict[str, list[tuple[float, float]]]
"""Points (x, y) by candidate."""


def knees(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """Draw latency and completed pods against the offered rate, with each candidate's knee."""
    parts = []
    for place, (workload, group) in enumerate(_by_workload(document.knees)):
        charts = []
        for name, title, label, show in (
            ("p99", "Latency (p99) at each rate", "latency, p99 (log scale)", duration),
            ("completed", "Completed at each rate", "completed, pods/s (log scale)", figures),
        ):
            points = {measured.candidate: _points(measured, "rate", name) for measured in group}
            charts.append(
                _chart(
                    f"knee{place}-{name}", title, points, series, "offered, pods/s (log scale)", label, show,
                    rules={measured.candidate: measured.knee for measured in group if measured.knee},
                )
            )  # fmt: skip
        rows: list[TableRow] = [[measured.candidate, number(measured.knee, _knee(measured))] for measured in group]
        numbers = table(
            f"{workload}: the knee, the highest rate at which p99 stays low and all pods are bound",
            ["candidate", "knee"],
            rows,
        )
        parts.append(_group(workload, group, series, charts, numbers))
    return chart_groups(parts)


def scaling(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    parts = []
    for place, (workload, group) in enumerate(_by_workload(document.scaling)):
        charts = []
        for name, title, label, show in (
            ("throughput", "Throughput against nodes", "pods/s (log scale)", figures),
            ("p99", "Latency (p99) against nodes", "latency, p99 (log scale)", duration),
        ):
            points = {measured.candidate: _points(measured, "nodes", name) for measured in group}
            charts.append(_chart(f"scaling{place}-{name}", title, points, series, "nodes (log scale)", label, show))
        rows: list[TableRow] = [
            [measured.candidate, number(point.nodes, f"{point.nodes:,}"),
             number(point.throughput, throughput(point.throughput)),
             *(number(value, duration(value)) for value in (point.p50, point.p99))]
            for measured in group for point in measured.points
        ]  # fmt: skip
        caption = f"{workload}: throughput of drain, latency of one-at-a-time, by number of nodes"
        heads = ["candidate", "nodes", "throughput", "p50", "p99"]
        parts.append(_group(workload, group, series, charts, table(caption, heads, rows, sortable=True)))
    return chart_groups(parts)


def queries(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """Draw queries to Prometheus and calls of an extender per pod, against the number of nodes."""
    costs = sorted(document.queries, key=lambda cost: cost.nodes)
    if not costs:
        return Markup()
    kinds = (
        ("prometheus", "queries", "Prometheus queries per pod", figures),
        ("prometheus", "bytes", "bytes from Prometheus per pod", data),
        ("extender", "round_trips", "extender round trips per pod", figures),
        ("extender", "bytes", "bytes to and from the extender per pod", data),
    )
    charts = []
    for part, name, title, show in kinds:
        points: Points = {}
        for cost in costs:
            if (value := _per_pod(cost, part, name)) is not None:
                points.setdefault(cost.candidate, []).append((cost.nodes, value))
        label = f"{'bytes' if name == 'bytes' else name.replace('_', ' ')} (log scale)"
        charts.append(_chart(f"queries-{part}-{name}", title, points, series, "nodes (log scale)", label, show))
    rows: list[TableRow] = [
        [cost.candidate, cost.workload, number(cost.nodes, f"{cost.nodes:,}"),
         *(number(value := _per_pod(cost, part, name), show(value)) for part, name, _, show in kinds)]
        for cost in costs
    ]  # fmt: skip
    heads = ["candidate", "workload", "nodes", *(title for _, _, title, _ in kinds)]
    caption = "requests per scheduled pod; a dash: no such requests"
    return chart_groups([_group("", costs, series, charts, table(caption, heads, rows, sortable=True))], tapped=True)


def _chart(
    name: str, title: str, points: Points, series: Mapping[str, ChartSeries], across: str, up: str,
    show: Callable[[float | None], str], *, rules: Mapping[str, float] | None = None,
) -> Markup | None:  # fmt: skip
    """Draw lines on logarithmic axes; None if there are fewer than two abscissas. Zeros are only in the table."""
    drawn = {name: [(x, y) for x, y in line if x > 0 and y > 0] for name, line in points.items()}
    drawn = {name: line for name, line in drawn.items() if line}
    everywhere = [point for line in drawn.values() for point in line]
    if len({x for x, _ in everywhere}) < 2:
        return None
    abscissa = axis_over(across, [*(x for x, _ in everywhere), *(rules or {}).values()], figures, log=True)
    ordinate = axis_over(up, [y for _, y in everywhere], show, log=True)
    assert abscissa is not None
    assert ordinate is not None
    plot = Plot(name, title, f"A line for each candidate: {up} over {across}.", abscissa, ordinate)
    for candidate, line in drawn.items():
        plot.curve(series[candidate], line, lambda x, y: f"{show(y)} at {figures(x)}")
    for candidate, value in (rules or {}).items():
        plot.rule(series[candidate], value, f"{candidate}: knee at {throughput(value)}")
    rows: list[TableRow] = [
        [candidate, number(x, figures(x)), number(y, show(y))] for candidate, line in points.items() for x, y in line
    ]
    note = "A vertical line is a candidate's knee." if rules else ""
    return figure(
        title[0].upper() + title[1:],
        plot.svg(),
        table(title, ["candidate", across.removesuffix(" (log scale)"), up.removesuffix(" (log scale)")], rows),
        note,
    )


def _group(
    workload: str,
    group: Sequence[Measured],
    series: Mapping[str, ChartSeries],
    charts: Iterable[Markup | None],
    numbers: Markup,
) -> ChartGroup:
    names = dict.fromkeys(measured.candidate for measured in group)
    shown = [chart for chart in charts if chart is not None]
    return ChartGroup(shown, workload, key({name: series[name] for name in names}), numbers)


def _by_workload(found: Iterable[_Grown]) -> list[tuple[str, list[_Grown]]]:
    groups: dict[str, list[_Grown]] = {}
    for measured in found:
        groups.setdefault(measured.workload, []).append(measured)
    return list(groups.items())


def _points(measured: Knee | Scaling, across: str, up: str) -> list[tuple[float, float]]:
    return [(getattr(point, across), value) for point in measured.points if (value := getattr(point, up)) is not None]


def _per_pod(cost: QueryCost, part: str, name: str) -> float | None:
    """Return a count of requests or bytes per pod; None if the candidate makes no such requests."""
    counts: Mapping[str, float] | None = getattr(cost, part)
    return counts.get(name) if counts is not None else None


def _knee(knee: Knee) -> str:
    if knee.knee:
        return throughput(knee.knee)
    return f"none up to {throughput(max(point.rate for point in knee.points))}" if knee.points else NONE
