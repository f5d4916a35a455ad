"""A soak as sentences and as the rows of a table, for terminals and for report.html."""

from __future__ import annotations

from collections.abc import Iterator

from schedproof.foundation.counted import counted
from schedproof.run.leaks import KEEPING_SECONDS, LIMIT, Growth, Measure, Rate, SoakReport

_MIB = 1 << 20
COLUMNS = ("process", "measure", "at the begin", "after warm-up", "at the end", "per 1000 pods", "per hour", "")


def leak_texts(report: SoakReport) -> Iterator[str]:
    """Yield a sentence for each leak."""
    for growth in report.leaks:
        unit = " MiB" if growth.measure == "memory" else ""
        rate = f"{_rate(growth.per_1000_pods, growth.measure)}{unit}"
        yield f"{growth.process} leaks {growth.measure}: {rate} for each 1000 pods"


def finding(report: SoakReport) -> str:
    """Say in a few words what a soak shows about leaks."""
    if report.undecided:
        return "nothing is said about leaks"
    return counted(len(report.leaks), "leak") if report.leaks else "no leak"


def heading(name: str, report: SoakReport) -> str:
    """Say how long a candidate was soaked, and what that shows."""
    worlds, pods = counted(report.worlds, "world"), counted(report.pods, "pod")
    return f"{name} soaked for {report.seconds / 60:.1f} min, {worlds}, {pods}: {finding(report)}"


def rows(report: SoakReport) -> Iterator[tuple[str, ...]]:
    """Yield the cells of a row for each process and measure, as in `COLUMNS`."""
    for growth in report.growths:
        yield (
            growth.process, f"{growth.measure}{', MiB' if growth.measure == 'memory' else ''}",
            *(_amount(value, growth.measure) for value in (growth.begin, growth.first, growth.last)),
            _rate(growth.per_1000_pods, growth.measure), _rate(growth.per_hour, growth.measure), _word(growth),
        )  # fmt: skip


def note(report: SoakReport) -> str:
    """Explain the table."""
    return (
        f"Growth after a warm-up of {report.warm_up / 60:.1f} min: the median slope, and its interval at a level of "
        f"{report.confidence:.0%}. A leak is said above {report.limit:.0%} of the begin for each 1000 pods"
        + (f"; above {LIMIT:.0%} in soaks of {3 * KEEPING_SECONDS / 60:.0f} min." if report.limit > LIMIT else ".")
    )


def _word(growth: Growth) -> str:
    return "LEAK" if growth.leaks else ""


def _rate(rate: Rate, measure: Measure) -> str:
    low = "any" if rate.low is None else _number(rate.low, measure)
    high = "any" if rate.high is None else _number(rate.high, measure)
    return f"{_number(rate.median, measure)} ({low} to {high})"


def _number(value: float, measure: Measure) -> str:
    shown = value / _MIB if measure == "memory" else value
    return f"{shown:+,.2f}" if abs(shown) < 100 else f"{shown:+,.0f}"


def _amount(value: float, measure: Measure) -> str:
    return f"{value / _MIB:,.1f}" if measure == "memory" else f"{value:,.0f}"
