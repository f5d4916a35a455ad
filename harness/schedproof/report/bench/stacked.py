"""Stacked bars, one for each candidate, whose parts can be told apart without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.report.bench.markup import text
from schedproof.report.bench.plot import WIDTH, axis_over, trimmed
from schedproof.report.bench.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["stacked_bars"]

_ROW, _BAR, _TOP, _EDGE, _FOOT = 44.0, 20.0, 6.0, 14.0, 44.0
_HATCHINGS = (
    "",
    '<path d="M-1,7L7,-1M3,11L11,3"/>',
    '<circle cx="4" cy="4" r="1.6"/>',
    '<path d="M0,4H8"/>',
    '<path d="M-1,1L7,9M3,-3L11,5M-1,7L7,-1M3,11L11,3"/>',
    '<path d="M4,0V8"/>',
    '<path d="M-1,1L7,9M3,-3L11,5"/>',
    '<path d="M0,4H8M4,0V8"/>',
)


def stacked_bars(name: str, title: str, label: str, bars: Mapping[str, Mapping[str, float]]) -> str:
    """A key and a picture. `name` is its own on the page; `bars`: candidate to part to seconds, in order."""
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    axis = axis_over(label, [0.0, *(sum(bar.values()) for bar in bars.values())], duration, log=False, zero=True)
    assert axis is not None
    height = _TOP + _ROW * len(bars) + _FOOT
    foot = height - _FOOT

    def x(value: float) -> float:
        return _EDGE + axis.share(value) * (WIDTH - 2 * _EDGE)

    drawn = [
        f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{foot}"/>'
        f'<text class="tick" x="{x(tick):.1f}" y="{foot + 16}" text-anchor="middle">'
        f"{text(trimmed(duration(tick)))}</text>"
        for tick in axis.ticks()
    ]
    for row, (candidate, bar) in enumerate(bars.items()):
        top, total, start = _TOP + row * _ROW, sum(bar.values()), 0.0
        drawn.append(f'<text class="row" x="{_EDGE}" y="{top + 12}">{text(candidate)}: {text(duration(total))}</text>')
        for part, value in bar.items():
            left, right = x(start), x(start + value)
            start += value
            says = f"{candidate}, {part}: {duration(value)}{f', {percent(value / total)}' if total else ''}"
            drawn.append(
                f'<rect class="part" {_fill(name, parts.index(part))} x="{left:.1f}" y="{top + 17}" '
                f'width="{max(0.4, right - left):.1f}" height="{_BAR}"><title>{text(says)}</title></rect>'
            )
    drawn.append(f'<text class="label" x="{WIDTH / 2}" y="{height - 8}" text-anchor="middle">{text(label)}</text>')
    return (
        f'{_key(name, parts)}<svg class="plot" viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{text(title)}</title>'
        f'<desc id="{name}-text">A bar for each candidate, in parts: {text(", ".join(parts))}.</desc>'
        f"{_patterns(name)}{''.join(drawn)}</svg>"
    )


def _key(name: str, parts: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg class="swatch" viewBox="0 0 34 14" aria-hidden="true"><rect class="part" {_fill(name, place)} x="1" '
        f'y="1" width="32" height="12"/></svg> {text(part)}</li>'
        for place, part in enumerate(parts)
    )
    return f'<ul class="key" aria-label="parts">{items}</ul>'


def _fill(name: str, place: int) -> str:
    return f'fill="url(#{name}-{place % len(_HATCHINGS)})"'


def _patterns(name: str) -> str:
    marks = "".join(
        f'<pattern id="{name}-{place}" class="p{place}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8"/>{mark}</pattern>'
        for place, mark in enumerate(_HATCHINGS)
    )
    return f"<defs>{marks}</defs>"
