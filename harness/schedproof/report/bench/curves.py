"""What happens when something grows: the arrival rate until the knee, the nodes, the cost of questions."""

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
"""By candidate."""


def knees(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """Latency and completed pods against the offered rate, and the rate up to which a candidate keeps up."""
    parts = []
    for place, (workload, ones) in enumerate(_by_workload(document.knees)):
        charts = []
        for name, title, label, show in (
            ("p99", "Latency (p99) at each rate", "latency, p99 (log scale)", duration),
            ("completed", "Completed at each rate", "completed, pods/s (log scale)", figures),
        ):
            points = {one.candidate: _points(one, "rate", name) for one in ones}
            charts.append(
                _chart(
                    f"knee{place}-{name}", title, points, series, "offered, pods/s (log scale)", label, show,
                    rules={one.candidate: one.knee for one in ones if one.knee},
                )
            )  # fmt: skip
        rows: list[TableRow] = [[one.candidate, number(one.knee, _knee(one))] for one in ones]
        found = table(
            f"{workload}: the knee, where latency leaves its plateau or pods pile up", ["candidate", "knee"], rows
        )
        parts.append(_group(workload, ones, series, charts, found))
    return chart_groups(parts)


def scaling(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    parts = []
    for place, (workload, ones) in enumerate(_by_workload(document.scaling)):
        charts = []
        for name, title, label, show in (
            ("throughput", "Throughput against nodes", "pods/s (log scale)", figures),
            ("p99", "Latency (p99) against nodes", "latency, p99 (log scale)", duration),
        ):
            points = {one.candidate: _points(one, "nodes", name) for one in ones}
            charts.append(_chart(f"scaling{place}-{name}", title, points, series, "nodes (log scale)", label, show))
        rows: list[TableRow] = [
            [one.candidate, number(point.nodes, f"{point.nodes:,}"),
             number(point.throughput, throughput(point.throughput)),
             *(number(value, duration(value)) for value in (point.p50, point.p99))]
            for one in ones for point in one.points
        ]  # fmt: skip
        caption = f"{workload}: throughput of drains, latency one at a time, as the number of nodes grows"
        heads = ["candidate", "nodes", "throughput", "p50", "p99"]
        parts.append(_group(workload, ones, series, charts, table(caption, heads, rows, sortable=True)))
    return chart_groups(parts)


def queries(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """Questions to Prometheus and calls of an extender, for each pod; how they grow with the nodes."""
    ones = sorted(document.queries, key=lambda one: one.nodes)
    if not ones:
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
        for one in ones:
            if (value := _asked(one, part, name)) is not None:
                points.setdefault(one.candidate, []).append((one.nodes, value))
        label = f"{'bytes' if name == 'bytes' else name.replace('_', ' ')} (log scale)"
        charts.append(_chart(f"queries-{part}-{name}", title, points, series, "nodes (log scale)", label, show))
    rows: list[TableRow] = [
        [one.candidate, one.workload, number(one.nodes, f"{one.nodes:,}"),
         *(number(value := _asked(one, part, name), show(value)) for part, name, _, show in kinds)]
        for one in ones
    ]  # fmt: skip
    heads = ["candidate", "workload", "nodes", *(title for _, _, title, _ in kinds)]
    caption = "requests for each pod that is scheduled; a dash: no such requests"
    return chart_groups([_group("", ones, series, charts, table(caption, heads, rows, sortable=True))], tapped=True)


def _chart(
    name: str, title: str, points: Points, series: Mapping[str, ChartSeries], across: str, up: str,
    show: Callable[[float | None], str], *, rules: Mapping[str, float] | None = None,
) -> Markup | None:  # fmt: skip
    """Lines on logarithmic axes; None where nothing grows. What is zero has no place there, only in the table."""
    drawn = {name: [(x, y) for x, y in ones if x > 0 and y > 0] for name, ones in points.items()}
    drawn = {name: ones for name, ones in drawn.items() if ones}
    everywhere = [point for ones in drawn.values() for point in ones]
    if len({x for x, _ in everywhere}) < 2:
        return None
    abscissa = axis_over(across, [*(x for x, _ in everywhere), *(rules or {}).values()], figures, log=True)
    ordinate = axis_over(up, [y for _, y in everywhere], show, log=True)
    assert abscissa is not None
    assert ordinate is not None
    plot = Plot(name, title, f"A line for each candidate: {up} over {across}.", abscissa, ordinate)
    for candidate, ones in drawn.items():
        plot.curve(series[candidate], ones, lambda x, y: f"{show(y)} at {figures(x)}")
    for candidate, value in (rules or {}).items():
        plot.rule(series[candidate], value, f"{candidate}: knee at {throughput(value)}")
    rows: list[TableRow] = [
        [candidate, number(x, figures(x)), number(y, show(y))] for candidate, ones in points.items() for x, y in ones
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
    ones: Sequence[Measured],
    series: Mapping[str, ChartSeries],
    charts: Iterable[Markup | None],
    found: Markup,
) -> ChartGroup:
    """`found`: the table of what was found."""
    names = dict.fromkeys(one.candidate for one in ones)
    shown = [chart for chart in charts if chart is not None]
    return ChartGroup(shown, workload, key({name: series[name] for name in names}), found)


def _by_workload(found: Iterable[_Grown]) -> list[tuple[str, list[_Grown]]]:
    groups: dict[str, list[_Grown]] = {}
    for one in found:
        groups.setdefault(one.workload, []).append(one)
    return list(groups.items())


def _points(one: Knee | Scaling, across: str, up: str) -> list[tuple[float, float]]:
    return [(getattr(point, across), value) for point in one.points if (value := getattr(point, up)) is not None]


def _asked(one: QueryCost, part: str, name: str) -> float | None:
    """For each pod; None where the candidate does not ask there."""
    asked: Mapping[str, float] | None = getattr(one, part)
    return asked.get(name) if asked is not None else None


def _knee(knee: Knee) -> str:
    if knee.knee:
        return throughput(knee.knee)
    return f"none up to {throughput(max(point.rate for point in knee.points))}" if knee.points else NONE
