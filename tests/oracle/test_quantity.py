"""Quantities are parsed and rounded exactly as in Kubernetes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.oracle.quantity import format_bytes, milli, parse_quantity, whole

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        ("+3", Fraction(3)),
        ("-3", Fraction(-3)),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("007", Fraction(7)),
        ("250m", Fraction(1, 4)),
        ("1.5m", Fraction(3, 2000)),
        ("100u", Fraction(1, 10_000)),
        ("1n", Fraction(1, 10**9)),
        ("2k", Fraction(2_000)),
        ("2M", Fraction(2 * 10**6)),
        ("2G", Fraction(2 * 10**9)),
        ("2T", Fraction(2 * 10**12)),
        ("2P", Fraction(2 * 10**15)),
        ("2E", Fraction(2 * 10**18)),
        ("2Ki", Fraction(2 * 2**10)),
        ("2Mi", Fraction(2 * 2**20)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("2Ti", Fraction(2 * 2**40)),
        ("2Pi", Fraction(2 * 2**50)),
        ("2Ei", Fraction(2 * 2**60)),
        ("1e3", Fraction(1_000)),
        ("1E3", Fraction(1_000)),
        ("1.5e+3", Fraction(1_500)),
        ("12E-1", Fraction(6, 5)),
        ("1E", Fraction(10**18)),
    ],
)
def test_every_form_of_the_grammar_is_parsed_exactly(text: str, value: Fraction) -> None:
    """Decimal, binary and exponent suffixes, signs and bare points; `E` alone is exa."""
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 ", "Gi", ".", "m", "1.2.3", "1K", "1ki", "1MI", "1mi", "1i", "1GiB", "1e", "1e1.5", "1e3m",
     "1_000", "0x10", "1,5", "--1", "nan", "inf", "\u0661"],
)  # fmt: skip
def test_text_that_is_not_a_quantity_is_refused_and_quoted(text: str) -> None:
    """The error quotes the text."""
    with pytest.raises(ValueError, match="is not a quantity") as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)


def test_unknown_suffix_is_refused_with_the_valid_suffixes() -> None:
    """A common mistake is `1K`: the suffix of a thousand is a small k."""
    with pytest.raises(ValueError, match="the suffix 'K' is none of n u m k M G T P E Ki Mi Gi Ti Pi Ei"):
        parse_quantity("1K")


@pytest.mark.parametrize(("number", "value"), [(2, Fraction(2)), (0.5, Fraction(1, 2)), (1e-07, Fraction(1, 10**7))])
def test_json_numbers_are_quantities(number: float, value: Fraction) -> None:
    """A hand-written manifest may say `cpu: 2`; the API itself writes strings."""
    assert parse_quantity(number) == value


@pytest.mark.parametrize("text", ["0.1n", "1e-50", "0.0000000001", "1e-999999999999"])
def test_quantity_below_a_billionth_is_rounded_up(text: str) -> None:
    """A positive quantity never becomes zero."""
    assert parse_quantity(text) == Fraction(1, 10**9)


@pytest.mark.parametrize("text", ["9Ei", "9223372036854775808", "1e50", "1e999999999999"])
def test_too_large_quantity_is_capped(text: str) -> None:
    """No quantity is above 2^63-1, and a large exponent is never computed."""
    assert parse_quantity(text) == LARGEST
    assert parse_quantity(f"-{text}") == -LARGEST


@pytest.mark.parametrize(
    ("text", "thousandths", "units"),
    [
        ("0", 0, 0),
        ("1m", 1, 1),
        ("100u", 1, 1),
        ("1500u", 2, 1),
        ("1", 1000, 1),
        ("1001m", 1001, 2),
        ("1Ki", 1_024_000, 1024),
    ],
)
def test_units_are_rounded_up(text: str, thousandths: int, units: int) -> None:
    """kube-scheduler counts thousandths of a cpu and whole units of other resources, both rounded up."""
    assert milli(parse_quantity(text)) == thousandths
    assert whole(parse_quantity(text)) == units


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1000, "1000"),
        (1024, "1Ki"),
        (3 * 2**29, "1536Mi"),
        (2**31, "2Gi"),
        (-(2**20), "-1Mi"),
        (2**60, "1Ei"),
    ],
)
def test_bytes_are_shown_with_the_largest_suffix_that_is_exact(count: int, text: str) -> None:
    """Reasons show a short and exact value."""
    assert format_bytes(count) == text


@given(st.integers(-LARGEST, LARGEST))
def test_formatted_bytes_parse_to_the_same_count(count: int) -> None:
    """Law: parsing the shown text gives the same count."""
    assert parse_quantity(format_bytes(count)) == count


SUFFIXES = st.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi", "e3", "E-2"])
QUANTITIES = st.builds("{}{}".format, st.integers(0, 10**9), SUFFIXES)


@given(st.integers(0, 10**12), st.integers(0, 9))
def test_decimal_point_equals_a_power_of_ten(digits: int, places: int) -> None:
    """Law: 12.345 is 12345 with exponent -3."""
    text = f"{digits:0{places + 1}d}"
    pointed = f"{text[:-places]}.{text[-places:]}" if places else text
    assert parse_quantity(pointed) == parse_quantity(f"{digits}e-{places}")


@given(QUANTITIES)
def test_thousandths_and_units_round_up_by_less_than_one(text: str) -> None:
    """Law: rounding never decreases a value and adds less than one unit."""
    value = parse_quantity(text)
    assert 0 <= milli(value) - value * 1000 < 1
    assert 0 <= whole(value) - value < 1


@given(QUANTITIES, QUANTITIES)
def test_rounded_sum_is_never_more_than_the_sum_of_rounded_values(first: str, second: str) -> None:
    """Law: so a pod's requests are added before they are rounded."""
    total = parse_quantity(first) + parse_quantity(second)
    assert milli(total) <= milli(parse_quantity(first)) + milli(parse_quantity(second))


@given(st.text("0123456789.+-eEinumkKMGTP", max_size=8))
def test_any_text_is_either_a_quantity_in_range_or_refused(text: str) -> None:
    """Law: no other result is possible."""
    try:
        value = parse_quantity(text)
    except ValueError:
        return
    assert -LARGEST <= value <= LARGEST
    assert math.gcd(value.denominator, 10**9) == value.denominator
