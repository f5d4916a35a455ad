"""Draw the plots of docs/scoring.md from fixtures/scoring/formulas.py, as SVG, without further packages.

.venv/bin/python tools/plot_formulas.py          # writes docs/images/*.svg; test_formulas.py compares them

"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fixtures" / "scoring"))
import formulas  # noqa: E402

sys.path.pop(0)

WIDTH, HEIGHT, MARGIN, LEGEND = 380, 250, 48, 34
# Okabe and Ito's colours, which colour-blind readers can tell apart; dashes, for print without colours.
STROKES = (("#0072B2", ""), ("#D55E00", "7 3"), ("#009E73", "2 3"), ("#CC79A7", "9 3 2 3"), ("#555555", "4 4"))


@dataclasses.dataclass(frozen=True)
class Line:
    """A curve: its legend, its points, and which of STROKES draws it. `dots` marks each point."""

    legend: str
    points: Sequence[tuple[float, float]]
    stroke: int
    dots: bool = False


@dataclasses.dataclass(frozen=True)
class Panel:
    """A chart of scores 0..100. `ticks` are (position, text) below its horizontal axis."""

    title: str
    axis: str
    ticks: Sequence[tuple[float, str]]
    lines: Sequence[Line]

    def svg(self, left: int) -> str:
        low, high = self.ticks[0][0], self.ticks[-1][0]

        def at(x: float, y: float) -> tuple[float, float]:
            across = left + MARGIN + (x - low) / (high - low) * (WIDTH - 1.5 * MARGIN)
            return across, MARGIN + (100 - y) / 100 * (HEIGHT - 2 * MARGIN)

        parts = [f'<text x="{left + MARGIN}" y="24" font-weight="bold">{self.title}</text>']
        for score in (0, 25, 50, 75, 100):
            (x1, y), (x2, _) = at(low, score), at(high, score)
            parts.append(f'<path d="M{x1:.1f} {y:.1f}H{x2:.1f}" stroke="#ddd"/>')
            parts.append(f'<text x="{x1 - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{score}</text>')
        for value, text in self.ticks:
            x, y = at(value, 0)
            parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{text}</text>')
        x, y = at((low + high) / 2, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 32:.1f}" text-anchor="middle">{self.axis}</text>')
        for line in self.lines:
            colour, dashes = STROKES[line.stroke]
            places = [at(x, y) for x, y in line.points]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            parts.append(
                f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
            )
            if line.dots:
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        return "\n".join(parts)


def picture(panels: Sequence[Panel]) -> str:
    """Return panels side by side, above one legend for all."""
    width, height = WIDTH * len(panels), HEIGHT + LEGEND
    legends = {line.legend: line.stroke for panel in panels for line in panel.lines}
    parts = [panel.svg(WIDTH * number) for number, panel in enumerate(panels)]
    for number, (text, stroke) in enumerate(legends.items()):
        x, y = MARGIN + number * (width - MARGIN) / len(legends), HEIGHT + LEGEND / 2
        colour, dashes = STROKES[stroke]
        parts.append(f'<path d="M{x:.1f} {y}h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        parts.append(f'<text x="{x + 34:.1f}" y="{y + 4}">{text}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _formulas_of(title: str, traffic: Sequence[float]) -> Panel:
    readings = {str(number): reading for number, reading in enumerate(traffic)}
    ticks = [(number, f"{traffic[number] / 1e6:g}") for number in range(0, len(traffic), 5)]
    lines = [
        Line(name, [(int(node), score) for node, score in formula(readings).items()], stroke, dots=True)
        for stroke, (name, formula) in enumerate(formulas.FORMULAS.items())
    ]
    return Panel(title, "a node's traffic in MB/s, the quietest first", ticks, lines)


def _truncated(highest: int) -> Panel:
    """Return the panel of one node's score while its traffic goes from 0 to the loudest node's 1.4 MB/s, scaled to
    0..100.
    """
    loudest, steps = 1.4e6, 280
    traffic = [loudest * step / steps for step in range(steps + 1)]
    scores = [formulas.divide_by_max({"a": reading, "loudest": loudest}, highest)["a"] for reading in traffic]
    exact = [(reading / 1e6, 100 - 100 * reading / loudest) for reading in traffic]
    whole = [(reading / 1e6, score * 100 / highest) for reading, score in zip(traffic, scores, strict=True)]
    ticks = [(tenth / 10, f"{tenth / 10:g}") for tenth in range(0, 15, 2)]
    lines = [Line("as a real number", exact, 4), Line("as an integer", whole, 0)]
    return Panel(f"0..{highest}", "a node's traffic in MB/s, beside one of 1.4", ticks, lines)


def plots() -> dict[str, str]:
    """Return each plot's SVG by file name."""
    even = [1e6 + 50e3 * number for number in range(21)]
    return {
        "formulas.svg": picture(
            [_formulas_of("Evenly spread", even), _formulas_of("The same, and one loud node", [*even[:-1], 40e6])]
        ),
        "truncation.svg": picture([_truncated(100), _truncated(10)]),
    }


if __name__ == "__main__":
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    for name, text in plots().items():
        (folder / name).write_text(text)
        print(folder.relative_to(Path.cwd()) / name)  # noqa: T201 - a program that says what it did
