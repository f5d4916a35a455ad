"""Charts as inline SVG: axes, lines and marks. Colours, dashes and text sizes are in page.css.

Each series has a colour, a dash and a shape of mark, so that a chart is readable without colour. Coordinates are
those of the viewBox; the picture scales with the page. `Markup.format` escapes its arguments.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

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
"""Curves with more points have only a few marks, because marks would cover them."""


@dataclasses.dataclass(frozen=True)
class ChartSeries:
    """A candidate's look, the same everywhere on the page."""

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
    """A quantity's range, and the format of its ticks."""

    label: str
    low: float
    high: float
    log: bool
    show: Callable[[float], str]

    def share(self, value: float) -> float:
        """Return a value's position: 0 at the low end, 1 at the high end; values beyond an end are drawn at the end."""
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
    """Return an axis that covers all values (a log axis: the positive values); None if there are none."""
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
    """A chart under construction.

    `name` is unique on the page; screen readers read `title` and `description`.
    """

    def __init__(
        self, name: str, title: str, description: str, x: Axis, y: Axis | None, *, height: float = HEIGHT
    ) -> None:
        self._name, self._title, self._description = name, title, description
        self._x_axis, self._y_axis, self._height = x, y, height
        self._parts: list[Markup] = []

    def x(self, value: float) -> float:
        left = _LEFT if self._y_axis is not None else _RIGHT
        return left + self._x_axis.share(value) * (WIDTH - left - _RIGHT)

    def y(self, value: float) -> float:
        assert self._y_axis is not None
        return self._height - _BOTTOM - self._y_axis.share(value) * (self._height - _TOP - _BOTTOM)

    def line(self, series: ChartSeries, points: Sequence[tuple[float, float]], *, thin: bool = False) -> None:
        place = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        thinly = " thin" if thin else ""
        curve = Markup('<polyline class="curve{} {}" points="{}"/>')
        self.add(series, curve.format(thinly, series.classes, place))

    def mark(self, series: ChartSeries, x: float, y: float, tooltip: str, *, doubt: str = "") -> None:
        """Draw one measured point, with a tooltip. `doubt`: `invalid` or `wrong` changes the mark."""
        shape = _CROSS if doubt == "invalid" else series.shape
        ring = Markup('<circle class="ring" r="9"/>') if doubt == "wrong" else ""
        mark = Markup(
            '<g class="mark {} {}" transform="translate({:.1f},{:.1f})"><title>{}</title>{}<path d="{}"/></g>'
        )
        self.add(series, mark.format(doubt, series.classes, self.x(x), self.y(y), tooltip, ring, shape))

    def curve(
        self, series: ChartSeries, points: Sequence[tuple[float, float]], tooltip: Callable[[float, float], str]
    ) -> None:
        """Draw a line, with marks unless there are too many points."""
        self.line(series, points)
        for x, y in points if len(points) <= _MANY else points[len(points) // 8 :: len(points) // 4]:
            self.mark(series, x, y, f"{series.name}: {tooltip(x, y)}")

    def rule(self, series: ChartSeries, x: float, tooltip: str) -> None:
        """Draw a vertical line at a value of the abscissa, with the series' mark at its upper end."""
        at = self.x(x)
        foot = self._height - _BOTTOM
        # Knees are often at the same rate, so marks are staggered.
        top = _TOP + 12 * (series.number % COLOURS)
        rule = Markup(
            '<g class="rule {}"><title>{}</title><line x1="{at:.1f}" x2="{at:.1f}" y1="{}" y2="{}"/>'
            '<path d="{}" transform="translate({at:.1f},{})"/></g>'
        )
        self.add(series, rule.format(series.classes, tooltip, _TOP, foot, series.shape, top, at=at))

    def add(self, series: ChartSeries, markup: Markup) -> None:
        """Add other markup that belongs to a series."""
        self._parts.append(Markup('<g data-series="{}">{}</g>').format(series.number, markup))

    def svg(self) -> Markup:
        return Markup(
            '<svg class="plot" viewBox="0 0 {:g} {:g}" role="img" aria-labelledby="{name}-title {name}-text">'
            '<title id="{name}-title">{}</title><desc id="{name}-text">{}</desc>{}{}{}</svg>'
        ).format(
            WIDTH, self._height, self._title, self._description, self._abscissa(), self._ordinate(),
            Markup().join(self._parts), name=self._name,
        )  # fmt: skip

    def _abscissa(self) -> Markup:
        axis, foot = self._x_axis, self._height - _BOTTOM
        label = Markup('<text class="label" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
        middle = (self.x(axis.low) + self.x(axis.high)) / 2
        return Markup().join(
            (
                *(tick_below(self.x(tick), _TOP, foot, 17, axis.show(tick)) for tick in axis.ticks()),
                label.format(middle, self._height - 8, axis.label),
            )
        )

    def _ordinate(self) -> Markup:
        axis = self._y_axis
        if axis is None:
            return Markup()
        tick_left = Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>'
            '<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
        )
        ticks = [
            tick_left.format(_LEFT, WIDTH - _RIGHT, _LEFT - 6, y + 4, trimmed(axis.show(tick)), y=y)
            for tick in axis.ticks()
            for y in (self.y(tick),)
        ]
        # The label is above the axis, not along it: this is easier to read, and stays clear of the ticks on a phone.
        return Markup().join((*ticks, Markup('<text class="label" x="2" y="13">{}</text>').format(axis.label)))


def tick_below(x: float, top: float, foot: float, drop: float, shown: str) -> Markup:
    """Draw a grid line, with its number `drop` below it."""
    return Markup(
        '<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{}" y2="{}"/>'
        '<text class="tick" x="{x:.1f}" y="{}" text-anchor="middle">{}</text>'
    ).format(top, foot, foot + drop, trimmed(shown), x=x)


def swatch(series: ChartSeries) -> Markup:
    """Draw a series' look in a key."""
    return Markup(
        '<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true"><line class="curve {look}" x1="1" x2="33" y1="7" '
        'y2="7"/><g class="mark {look}" transform="translate(17,7)"><path d="{}"/></g></svg>'
    ).format(series.shape, look=series.classes)


def trimmed(shown: str) -> str:
    """Format a tick's number without trailing zeros."""
    return "0" if shown == "0 s" else re.sub(r"\.(?!\d)", "", re.sub(r"(\.\d*?)0+(?!\d)", r"\1", shown))


def _step(rough: float) -> float:
    """Return the next round number: 1, 2, 2.5, 5 or 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten, or finer ticks if these are too few; never so many that their labels touch."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(n / 10 for n in range(10, 100))):
        ticks = [10.0**power * factor for power in powers for factor in factors]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            break
    return ticks[:: math.ceil(len(ticks) / _MAX_TICKS)] if ticks else [low]
