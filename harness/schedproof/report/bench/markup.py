"""HTML's building blocks: text, tables that scroll inside themselves, figures with their data behind them."""

from __future__ import annotations

import dataclasses
import html
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Cell", "Row", "badge", "cards", "details", "figure", "kind", "number", "table", "text", "verdict"]

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
    """`content` is markup. `key`: what the column is sorted by, where that is a number."""

    content: str
    key: float | None = None
    kind: str = ""
    share: float | None = None
    """How much of the cell a bar fills, of one."""


Row = list[Cell | str]
"""Plain strings are markup."""


def text(value: object) -> str:
    """What somebody else wrote, as markup."""
    return html.escape(str(value))


def number(value: float | None, shown: str, *, share: float | None = None) -> Cell:
    return Cell(text(shown), key=value, kind="number" if share is None else "number bar", share=share)


def badge(kind: str, words: str, *, says: str = "") -> str:
    """A word that must not be missed: `wrong` or `invalid`. The kind is in the words too; `says` is more of it."""
    title = f' title="{text(says)}"' if says else ""
    return f'<strong class="badge {kind}"{title}>{text(words)}</strong>'


def verdict(word: str) -> str:
    """A symbol and the word itself: never by colour alone."""
    symbol = f'<span aria-hidden="true">{_SYMBOLS[word]}</span> ' if word in _SYMBOLS else ""
    return f'<span class="verdict {kind(word)}">{symbol}{text(word)}</span>'


def kind(word: str) -> str:
    """The class of a verdict: `good`, `bad`, `invalid` or `same`."""
    return _KINDS.get(word, "same")


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell | str]], *, sortable: bool = False) -> str:
    """Heads and plain strings are markup. The first cell of a row is its head."""
    kept = list(rows)
    body = "".join(f"<tr>{''.join(_cell(cell, head=not place) for place, cell in enumerate(row))}</tr>" for row in kept)
    numeric = [
        any(isinstance(cell, Cell) and cell.key is not None for cell in column) for column in zip(*kept, strict=True)
    ]
    head = "".join(
        f'<th scope="col"{" class=number" if right else ""}>{one}</th>'
        for one, right in itertools.zip_longest(heads, numeric)
    )
    marked = ' class="sortable"' if sortable else ""
    # A region that scrolls must be reachable by keyboard, and so must have a name.
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}"><table{marked}>'
        f"<caption><span>{text(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cards(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose rows become cards on a narrow page. Roles are written out: page.css changes `display`, and with it
    browsers forget that it is a table.
    """
    body = "".join(
        f'<tr role="row"><th scope="row" role="rowheader">{row[0]}</th>'
        + "".join(
            f'<td role="cell"><span class="card-head">{head}</span>{one}</td>'
            for head, one in zip(heads[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    head = "".join(f'<th scope="col" role="columnheader">{one}</th>' for one in heads)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">'
        f'<table class="cards" role="table"><caption><span>{text(caption)}</span></caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div>'
    )


def details(summary: str, content: str) -> str:
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def figure(title: str, picture: str, data: str, note: str = "", *, summary: str = "the numbers") -> str:
    """A chart with its title, and the numbers that it shows. `picture`, `data` and `note` are markup."""
    below = f'<p class="note">{note}</p>' if note else ""
    return f"<figure><figcaption>{text(title)}</figcaption>{picture}{below}{details(summary, data)}</figure>"


def _cell(cell: Cell | str, *, head: bool) -> str:
    if isinstance(cell, str):
        cell = Cell(cell)
    name, scope = ("th", ' scope="row"') if head else ("td", "")
    kind = f' class="{cell.kind}"' if cell.kind else ""
    key = f' data-key="{cell.key!r}"' if cell.key is not None else ""
    share = f' style="--share: {max(0.0, min(1.0, cell.share)):.1%}"' if cell.share is not None else ""
    return f"<{name}{scope}{kind}{key}{share}>{cell.content}</{name}>"
