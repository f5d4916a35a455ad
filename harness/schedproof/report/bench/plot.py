"""Charts as inline SVG: axes, lines and marks. Colours, dashes and text sizes are page.css's.

Each series has a colour, a dash and a shape of mark, so that a chart can be read without colour. Coordinates are those
of the viewBox; the picture scales with the page.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import TYPE_CHECKING

from schedproof.report.bench.markup import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["COLOURS", "Axis", "Plot", "Series", "axis_over", "swatch", "trimmed"]

WIDTH, HEIGHT = 440.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 14.0, 32.0, 46.0
COLOURS, _DASHES = 6, 5
_SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",  # a disc
    "M-4,-4H4V4H-4Z",  # a square
    "M0,-5L5,4H-5Z",  # a triangle
    "M0,-5.5L5.5,0L0,5.5L-5.5,0Z",  # a diamond
    "M-1.5,-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z",  # a plus
    "M-5,-4H5L0,5Z",  # a triangle on its tip
    "M-5,-5L-2.5,-5L0,-2L2.5,-5H5L2,0L5,5H2.5L0,2L-2.5,5H-5L-2,0Z",  # a cross
)
_CROSS = "M-5,-5L5,5M-5,5L5,-5"
_MAX_TICKS = 8
_MANY = 40
"""More points than this are a curve: marks would cover it."""


@dataclasses.dataclass(frozen=True)
class Series:
    """One candidate's look: the same everywhere on the page."""

    name: str
    number: int

    @property
    def classes(self) -> str:
        return f"c{self.number % COLOURS} d{self.number % _DASHES}"

    @property
    def shape(self) -> str:
        return _SHAPES[self.number % len(_SHAPES)]


@dataclasses.dataclass(frozen=True)
class Axis:
    """A quantity's range, and how its ticks are written."""

    label: str
    low: float
    high: float
    log: bool
    show: Callable[[float], str]

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one; beyond them it is drawn at the end."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return max(0.0, min(1.0, share))

    def ticks(self) -> list[float]:
        if self.log:
            return _log_ticks(self.low, self.high)
        step = _step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def axis_over(
    label: str, values: Iterable[float], show: Callable[[float], str], *, log: bool, zero: bool = False
) -> Axis | None:
    """An axis on which all values (on a log axis: the positive ones) can be seen; None where there are none."""
    seen = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not seen:
        return None
    low, high = min(seen), max(seen)
    if log:
        margin = max(1.1, (high / low) ** 0.05)
        return Axis(label, low / margin, high * margin, log, show)
    margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return Axis(label, 0.0 if zero else low - margin, high + margin, log, show)


class Plot:
    """A chart in the making.

    `name` is its own on the page; `title` and `description` are what a screen reader says of it.
    """

    def __init__(
        self, name: str, title: str, description: str, x: Axis, y: Axis | None, *, height: float = HEIGHT
    ) -> None:
        self._name, self._title, self._description = name, title, description
        self._x_axis, self._y_axis, self._height = x, y, height
        self._parts: list[str] = []

    def x(self, value: float) -> float:
        left = _LEFT if self._y_axis is not None else _RIGHT
        return left + self._x_axis.share(value) * (WIDTH - left - _RIGHT)

    def y(self, value: float) -> float:
        assert self._y_axis is not None
        return self._height - _BOTTOM - self._y_axis.share(value) * (self._height - _TOP - _BOTTOM)

    def line(self, series: Series, points: Sequence[tuple[float, float]], *, thin: bool = False) -> None:
        place = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        thinly = " thin" if thin else ""
        self.add(series, f'<polyline class="curve{thinly} {series.classes}" points="{place}"/>')

    def mark(self, series: Series, x: float, y: float, says: str, *, doubt: str = "") -> None:
        """One measured point; it says what it is when pointed at. `doubt`: `invalid` or `wrong`, drawn so."""
        place = f'transform="translate({self.x(x):.1f},{self.y(y):.1f})"'
        shape = _CROSS if doubt == "invalid" else series.shape
        ring = '<circle class="ring" r="9"/>' if doubt == "wrong" else ""
        self.add(
            series,
            f'<g class="mark {doubt} {series.classes}" {place}><title>{text(says)}</title>{ring}'
            f'<path d="{shape}"/></g>',
        )

    def curve(self, series: Series, points: Sequence[tuple[float, float]], says: Callable[[float, float], str]) -> None:
        """A line, with marks unless there are too many."""
        self.line(series, points)
        for x, y in points if len(points) <= _MANY else points[len(points) // 8 :: len(points) // 4]:
            self.mark(series, x, y, f"{series.name}: {says(x, y)}")

    def rule(self, series: Series, x: float, says: str) -> None:
        """A vertical line at a value of the abscissa, with the series' mark on its upper end."""
        at = self.x(x)
        foot = self._height - _BOTTOM
        # Knees are often at the same rate: the marks are staggered.
        top = _TOP + 12 * (series.number % COLOURS)
        self.add(
            series,
            f'<g class="rule {series.classes}"><title>{text(says)}</title>'
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{foot}"/>'
            f'<path d="{series.shape}" transform="translate({at:.1f},{top})"/></g>',
        )

    def add(self, series: Series, markup: str) -> None:
        """Any other markup that belongs to a series."""
        self._parts.append(f'<g data-series="{series.number}">{markup}</g>')

    def svg(self) -> str:
        name = self._name
        return (
            f'<svg class="plot" viewBox="0 0 {WIDTH:g} {self._height:g}" role="img" '
            f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{text(self._title)}</title>'
            f'<desc id="{name}-text">{text(self._description)}</desc>{self._abscissa()}{self._ordinate()}'
            f"{''.join(self._parts)}</svg>"
        )

    def _abscissa(self) -> str:
        axis, foot = self._x_axis, self._height - _BOTTOM
        parts = [
            f'<line class="grid" x1="{self.x(tick):.1f}" x2="{self.x(tick):.1f}" y1="{_TOP}" y2="{foot}"/>'
            f'<text class="tick" x="{self.x(tick):.1f}" y="{foot + 17}" text-anchor="middle">'
            f"{text(trimmed(axis.show(tick)))}</text>"
            for tick in axis.ticks()
        ]
        middle = (self.x(axis.low) + self.x(axis.high)) / 2
        parts.append(
            f'<text class="label" x="{middle:.1f}" y="{self._height - 8}" text-anchor="middle">'
            f"{text(axis.label)}</text>"
        )
        return "".join(parts)

    def _ordinate(self) -> str:
        axis = self._y_axis
        if axis is None:
            return ""
        parts = [
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{self.y(tick):.1f}" y2="{self.y(tick):.1f}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{self.y(tick) + 4:.1f}" text-anchor="end">'
            f"{text(trimmed(axis.show(tick)))}</text>"
            for tick in axis.ticks()
        ]
        # Above the axis, not turned along it: so it is read easily, and stays clear of the ticks on a phone.
        parts.append(f'<text class="label" x="2" y="13">{text(axis.label)}</text>')
        return "".join(parts)


def swatch(series: Series) -> str:
    """A series' look, small: for a key."""
    return (
        f'<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true">'
        f'<line class="curve {series.classes}" x1="1" x2="33" y1="7" y2="7"/>'
        f'<g class="mark {series.classes}" transform="translate(17,7)"><path d="{series.shape}"/></g></svg>'
    )


def trimmed(shown: str) -> str:
    """A tick's number without the zeros that only say how well it is known."""
    return "0" if shown == "0 s" else re.sub(r"\.(?!\d)", "", re.sub(r"(\.\d*?)0+(?!\d)", r"\1", shown))


def _step(rough: float) -> float:
    """The next round number from 1, 2, 2.5, 5 and 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten where there are enough, else finer ones; never so many that they touch."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(n / 10 for n in range(10, 100))):
        ticks = [10.0**power * factor for power in powers for factor in factors]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            break
    return ticks[:: math.ceil(len(ticks) / _MAX_TICKS)] if ticks else [low]
