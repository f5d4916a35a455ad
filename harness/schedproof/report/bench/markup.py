"""HTML building blocks: tables that scroll horizontally, figures with their numbers, groups of charts.

`templates/bench/blocks.html` has the markup. Plain strings are escaped; only `Markup` is inserted unchanged.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from schedproof.report import templating
from schedproof.report.bench.plot import ChartSeries, swatch

_SYMBOLS = {
    "faster": "\N{BLACK UP-POINTING TRIANGLE}",
    "less": "\N{BLACK UP-POINTING TRIANGLE}",
    "slower": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "more": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "no difference shown": "\N{WHITE CIRCLE}",
    "invalid": "\N{MULTIPLICATION X}",
}
_KINDS = {"faster": "good", "less": "good", "slower": "bad", "more": "bad", "invalid": "invalid"}


@dataclasses.dataclass(frozen=True)
class Cell:
    """A table cell.

    `key`: the number by which the column is sorted, if any. `share`: the part of the cell that a bar fills, 0 to 1.
    """

    content: str
    key: float | None = None
    kind: str = ""
    share: float | None = None


TableRow = list[Cell | str]


def number(value: float | None, shown: str, *, share: float | None = None) -> Cell:
    within = None if share is None else max(0.0, min(1.0, share))
    return Cell(shown, key=value, kind="number" if share is None else "number bar", share=within)


def badge(kind: str, words: str, *, tooltip: str = "") -> Markup:
    """Show a warning, `wrong` or `invalid`. The words name the kind too; `tooltip` has details."""
    return _macro("badge", kind, words, tooltip)


def verdict(word: str) -> Markup:
    """Show a verdict by symbol, colour and word."""
    return _macro("verdict", kind(word), _SYMBOLS.get(word, ""), word)


def kind(word: str) -> str:
    """Return the CSS class of a verdict: `good`, `bad`, `invalid` or `same`."""
    return _KINDS.get(word, "same")


def small(words: str | None) -> Markup:
    """Show words on a separate line, in small print."""
    return _macro("small", words)


def table(caption: str, heads: Sequence[str], rows: Iterable[TableRow], *, sortable: bool = False) -> Markup:
    """Show a table. The first cell of a row is its head. A column in which a cell has a key is numeric."""
    kept = [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    numeric = [any(cell.key is not None for cell in column) for column in zip(*kept, strict=True)]
    return _macro("table", caption, list(itertools.zip_longest(heads, numeric)), kept, sortable)


def cards(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Show a table whose rows become cards on a narrow page."""
    return _macro("cards", caption, heads, rows)


def details(summary: str, content: Markup) -> Markup:
    return _macro("details", summary, content)


def figure(title: str, picture: Markup, data: Markup, note: str = "", *, summary: str = "the numbers") -> Markup:
    """Show a chart with its title, and its numbers."""
    return _macro("figure", title, picture, data, note, summary)


@dataclasses.dataclass(frozen=True)
class ChartGroup:
    """The charts of one workload; `key` is shown above them, `table` below."""

    charts: Sequence[Markup]
    heading: str = ""
    key: str = ""
    table: str = ""


def chart_groups(groups: Sequence[ChartGroup], *, tapped: bool = False) -> Markup:
    """Show the groups; empty without groups. `tapped`: adds a note that they were measured in the pass with taps."""
    return templating.render("bench/charts.html", groups=groups, tapped=tapped) if groups else Markup()


def key(series: Mapping[str, ChartSeries]) -> Markup:
    """Show the colour, dash and mark of each series."""
    return _macro("key", [(entry, swatch(entry)) for entry in series.values()])


def _macro(name: str, *arguments: object) -> Markup:
    return templating.macro("bench/blocks.html", name, *arguments)
