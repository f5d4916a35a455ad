"""Numbers are shown with three significant digits and a suitable unit."""

from __future__ import annotations

import pytest

from schedproof.report.bench.plot import trimmed
from schedproof.report.bench.units import NONE, data, duration, figures, percent, ratio, throughput, times

TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (310.24, "310"), (12345.6, "12,346"), (9.996, "10.0"), (99.96, "100"), (0.04561, "0.0456"), (0, "0"),
        (1, "1.00"), (None, NONE), (float("nan"), NONE), (float("inf"), NONE), (1e-9, "1.00e-09"), (-2.5, "-2.50"),
    ],
)  # fmt: skip
def test_numbers_have_three_significant_digits(value: float | None, shown: str) -> None:
    assert figures(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (3.1, "3.10 s"), (0.0123, "12.3 ms"), (0.99999, "1.00 s"), (8.5e-4, "850 µs"), (2e-8, "20.0 ns"),
     (1234.5, "1,234 s"), (None, NONE)],
)  # fmt: skip
def test_durations_have_a_suitable_unit(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (999.7, "1.00 kB"), (5300, "5.30 kB"), (1.2e8, "120 MB"), (2.53e10, "25.3 GB")]
)
def test_memory_is_in_powers_of_a_thousand(size: float, shown: str) -> None:
    assert data(size) == shown


def test_ratios_shares_and_throughput_have_their_units() -> None:
    assert (ratio(0.6184), times(12), ratio(0.0837), times(None)) == ("0.62", f"12.0{TIMES}", "0.0837", NONE)
    assert (percent(0.194), percent(0.018), percent(1), percent(0.05)) == ("19 %", "1.8 %", "100 %", "5 %")
    assert (throughput(310.2), throughput(None)) == ("310 pods/s", NONE)


@pytest.mark.parametrize(
    ("shown", "tick"),
    [
        ("10.0 ms", "10 ms"),
        ("2.50 s", "2.5 s"),
        ("100", "100"),
        ("1,000", "1,000"),
        ("0 s", "0"),
        ("1.00", "1"),
        ("20.05", "20.05"),
    ],
)
def test_ticks_have_no_trailing_zeros(shown: str, tick: str) -> None:
    assert trimmed(shown) == tick
