"""Charts side by side, with a heading, a key and a table where they have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from schedproof.report import templating
from schedproof.report.bench.plot import ChartSeries, swatch


@dataclasses.dataclass(frozen=True)
class ChartGroup:
    """The charts of one workload; `key` and `table` are shown above and below them."""

    charts: Sequence[Markup]
    heading: str = ""
    key: str = ""
    table: str = ""


def chart_groups(groups: Sequence[ChartGroup], *, tapped: bool = False) -> Markup:
    """Nothing without groups. `tapped`: they are of the separate pass with taps, and a note says so."""
    return templating.render("bench/charts.html", groups=groups, tapped=tapped) if groups else Markup()


def key(series: Mapping[str, ChartSeries]) -> Markup:
    """What each colour, dash and mark stands for."""
    return templating.macro("bench/blocks.html", "key", [(one, swatch(one)) for one in series.values()])
