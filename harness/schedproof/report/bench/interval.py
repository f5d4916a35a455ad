"""Ratios with their intervals as bars on one logarithmic axis."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from markupsafe import Markup

from schedproof.benchmark.results import Comparison
from schedproof.report.bench.markup import kind
from schedproof.report.bench.units import ratio

_WIDTH, _HEIGHT, _EDGE = 220.0, 24.0, 16.0
_WIDEST = 100.0
_LEAST = 1.25
"""The axis reaches at least this far from 1 to both sides, so that noise does not look like a difference."""
_LEAST_WIDE = 5.0


@dataclasses.dataclass(frozen=True)
class RatioAxis:
    """A logarithmic axis from `1 / reach` to `reach`."""

    reach: float

    @classmethod
    def over(cls, comparisons: Iterable[Comparison]) -> RatioAxis:
        values = [
            value
            for one in comparisons
            if one.shown_ratio is not None
            for value in (one.ratio, one.low, one.high)
            if value
        ]
        reach = max((max(value, 1 / value) for value in values), default=_LEAST)
        return cls(min(_WIDEST, max(_LEAST, reach * 1.06)))

    def bar(self, comparison: Comparison) -> Markup:
        """Draw a comparison's interval, and the ratio in it."""
        which = kind(comparison.verdict)
        value = comparison.shown_ratio
        assert value is not None
        low, high = comparison.low or 1 / self.reach, comparison.high or self.reach
        says = f"{comparison.verdict}: ratio {ratio(value)}, {interval(comparison)}"
        left, right = self._x(low), self._x(high)
        # However sure a ratio is, its interval stays visible.
        wide = max(_LEAST_WIDE, right - left)
        return Markup(
            '<svg class="interval {}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}<rect class="band" '
            'x="{:.1f}" y="7" width="{:.1f}" height="10" rx="2"/><rect class="point" x="{:.1f}" y="4" width="2" '
            'height="16"/></svg>'
        ).format(
            which, _WIDTH, _HEIGHT, says, self._grid(0, _HEIGHT), (left + right - wide) / 2, wide, self._x(value) - 1
        )

    def head(self) -> Markup:
        """Draw the axis, for the head of the column."""
        label = Markup('<text x="{:.1f}" y="14" text-anchor="middle">{}</text>')
        labels = Markup().join(label.format(self._x(tick), ratio_tick(tick)) for tick in self._ticks())
        return Markup(
            '<svg class="interval" viewBox="0 0 {:g} {:g}" role="img" '
            'aria-label="interval of the ratio, on a logarithmic axis">{}{}</svg>'
        ).format(_WIDTH, _HEIGHT, labels, self._grid(18, _HEIGHT))

    def _grid(self, top: float, foot: float) -> Markup:
        line = Markup('<line class="{}" x1="{x:.1f}" x2="{x:.1f}" y1="{:g}" y2="{:g}"/>')
        return Markup().join(
            line.format("one" if tick == 1 else "grid", top, foot, x=self._x(tick)) for tick in self._ticks()
        )

    def _x(self, value: float) -> float:
        share = (math.log(value) / math.log(self.reach) + 1) / 2
        return _EDGE + max(0.0, min(1.0, share)) * (_WIDTH - 2 * _EDGE)

    def _ticks(self) -> list[float]:
        """Return 1 and two or four other ticks, which lie symmetrically around it."""
        steps = next((steps for limit, steps in _STEPS if self.reach >= limit), ())
        return [*(1 / step for step in reversed(steps)), 1.0, *steps]


_STEPS = ((30.0, (5.0, 25.0)), (10.0, (3.0, 10.0)), (4.0, (2.0, 4.0)), (2.0, (2.0,)), (1.5, (1.5,)), (1.0, (1.2,)))


def ratio_tick(tick: float) -> str:
    return f"{tick:.2g}\N{MULTIPLICATION SIGN}"


def interval(comparison: Comparison) -> str:
    """Format both ends of the interval, or the end that is known."""
    if comparison.bound:
        return f"{comparison.bound} {ratio(comparison.high if comparison.bound == 'at most' else comparison.low)}"
    return f"{ratio(comparison.low)}\N{EN DASH}{ratio(comparison.high)}"
