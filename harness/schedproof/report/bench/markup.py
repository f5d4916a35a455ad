"""HTML's building blocks: tables that scroll inside themselves, figures with their numbers, groups of charts.

`templates/bench/blocks.html` has the markup. A plain string is text, and is escaped; only `Markup` is taken as it is.
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
    """`key`: what the column is sorted by, where that is a number. `share`: how much of it a bar fills, of one."""

    content: str
    key: float | None = None
    kind: str = ""
    share: float | None = None


TableRow = list[Cell | str]


def number(value: float | None, shown: str, *, share: float | None = None) -> Cell:
    within = None if share is None else max(0.0, min(1.0, share))
    return Cell(shown, key=value, kind="number" if share is None else "number bar", share=within)


def badge(kind: str, words: str, *, says: str = "") -> Markup:
    """A word that must not be missed: `wrong` or `invalid`. The kind is in the words too; `says` is more of it."""
    return _macro("badge", kind, words, says)


def verdict(word: str) -> Markup:
    """A verdict by symbol, colour and word."""
    return _macro("verdict", kind(word), _SYMBOLS.get(word, ""), word)


def kind(word: str) -> str:
    """The class of a verdict: `good`, `bad`, `invalid` or `same`."""
    return _KINDS.get(word, "same")


def small(words: str | None) -> Markup:
    """On a line of its own, below what stands before it."""
    return _macro("small", words)


def table(caption: str, heads: Sequence[str], rows: Iterable[TableRow], *, sortable: bool = False) -> Markup:
    """The first cell of a row is its head. A column with a key is one of numbers."""
    kept = [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    numeric = [any(cell.key is not None for cell in column) for column in zip(*kept, strict=True)]
    return _macro("table", caption, list(itertools.zip_longest(heads, numeric)), kept, sortable)


def cards(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table whose rows become cards on a narrow page."""
    return _macro("cards", caption, heads, rows)


def details(summary: str, content: Markup) -> Markup:
    return _macro("details", summary, content)


def figure(title: str, picture: Markup, data: Markup, note: str = "", *, summary: str = "the numbers") -> Markup:
    """A chart with its title, and the numbers that it shows."""
    return _macro("figure", title, picture, data, note, summary)


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
    return _macro("key", [(one, swatch(one)) for one in series.values()])


def _macro(name: str, *arguments: object) -> Markup:
    return templating.macro("bench/blocks.html", name, *arguments)
