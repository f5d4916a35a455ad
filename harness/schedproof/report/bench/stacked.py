"""Stacked bars, one for each candidate, whose parts are distinguishable without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from schedproof.report.bench.plot import WIDTH, axis_over, tick_below
from schedproof.report.bench.units import duration, percent

_ROW, _BAR, _TOP, _EDGE, _FOOT = 44.0, 20.0, 6.0, 14.0, 44.0
_ROW_HEAD = Markup('<text class="row" x="{}" y="{}">{}: {}</text>')
_PART = Markup('<rect class="part" fill="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}</title></rect>')
_LABEL = Markup('<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>')
_HATCHINGS = (
    Markup(),
    Markup('<path d="M-1,7L7,-1M3,11L11,3"/>'),
    Markup('<circle cx="4" cy="4" r="1.6"/>'),
    Markup('<path d="M0,4H8"/>'),
    Markup('<path d="M-1,1L7,9M3,-3L11,5M-1,7L7,-1M3,11L11,3"/>'),
    Markup('<path d="M4,0V8"/>'),
    Markup('<path d="M-1,1L7,9M3,-3L11,5"/>'),
    Markup('<path d="M0,4H8M4,0V8"/>'),
)


def stacked_bars(name: str, title: str, label: str, bars: Mapping[str, Mapping[str, float]]) -> Markup:
    """Draw a key and a picture. `name` is unique on the page; `bars` maps candidate to part to seconds, in order."""
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    axis = axis_over(label, [0.0, *(sum(bar.values()) for bar in bars.values())], duration, log=False, zero=True)
    assert axis is not None
    height = _TOP + _ROW * len(bars) + _FOOT
    foot = height - _FOOT

    def x(value: float) -> float:
        return _EDGE + axis.share(value) * (WIDTH - 2 * _EDGE)

    drawn = [tick_below(x(tick), _TOP, foot, 16, duration(tick)) for tick in axis.ticks()]
    for row, (candidate, bar) in enumerate(bars.items()):
        top, total, start = _TOP + row * _ROW, sum(bar.values()), 0.0
        drawn.append(_ROW_HEAD.format(_EDGE, top + 12, candidate, duration(total)))
        for part, value in bar.items():
            left, right = x(start), x(start + value)
            start += value
            tooltip = f"{candidate}, {part}: {duration(value)}{f', {percent(value / total)}' if total else ''}"
            drawn.append(
                _PART.format(_fill(name, parts.index(part)), left, top + 17, max(0.4, right - left), _BAR, tooltip)
            )
    drawn.append(_LABEL.format(WIDTH / 2, height - 8, label))
    return Markup(
        '{}<svg class="plot" viewBox="0 0 {:g} {:g}" role="img" aria-labelledby="{name}-title {name}-text">'
        '<title id="{name}-title">{}</title>'
        '<desc id="{name}-text">A bar for each candidate, in parts: {}.</desc>{}{}</svg>'
    ).format(
        _key(name, parts), WIDTH, height, title, ", ".join(parts), _patterns(name), Markup().join(drawn), name=name
    )


def _key(name: str, parts: Sequence[str]) -> Markup:
    item = Markup(
        '<li><svg class="swatch" viewBox="0 0 34 14" aria-hidden="true"><rect class="part" fill="{}" x="1" y="1" '
        'width="32" height="12"/></svg> {}</li>'
    )
    items = Markup().join(item.format(_fill(name, place), part) for place, part in enumerate(parts))
    return Markup('<ul class="key" aria-label="parts">{}</ul>').format(items)


def _fill(name: str, place: int) -> str:
    return f"url(#{name}-{place % len(_HATCHINGS)})"


def _patterns(name: str) -> Markup:
    pattern = Markup(
        '<pattern id="{}-{place}" class="p{place}" width="8" height="8" patternUnits="userSpaceOnUse">'
        '<rect width="8" height="8"/>{}</pattern>'
    )
    marks = Markup().join(pattern.format(name, mark, place=place) for place, mark in enumerate(_HATCHINGS))
    return Markup("<defs>{}</defs>").format(marks)
