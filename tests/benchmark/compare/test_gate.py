"""Gates: syntax, refusals with remedies, and outcomes for comparisons."""

from __future__ import annotations

import pytest

from schedproof.benchmark.compare.gate import Gate, check_gate, evaluate
from schedproof.benchmark.compare.ratio import interval
from schedproof.benchmark.results import Comparison
from schedproof.foundation.errors import UsageError


def comparison(low, high, *, ratio=None, metric="p99", candidate="mine", workload="basic", mode="drain", **more):
    known = {
        "workload": workload, "mode": mode, "metric": metric, "candidate": candidate, "baseline": "stock",
        "ratio": (low + high) / 2 if ratio is None and low is not None else ratio, "low": low, "high": high,
        "verdict": "slower", "blocks": 10,
    }  # fmt: skip
    return Comparison(**{**known, **more})


INVALID = comparison(None, None, verdict="invalid", reason="only 3 of 10 blocks are valid")


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("p99 ratio > 1.2 vs stock", ("p99", ">", 1.2, "stock", "", "")),
        ("  throughput ratio<.8 vs my-own ", ("throughput", "<", 0.8, "my-own", "", "")),
        ("cpu per pod ratio >= 2 vs stock on basic", ("cpu per pod", ">=", 2.0, "stock", "basic", "")),
        ("p50 ratio <= 1. vs stock in open-loop", ("p50", "<=", 1.0, "stock", "", "open-loop")),
        ("mean ratio > 1.5 vs stock on basic in drain", ("mean", ">", 1.5, "stock", "basic", "drain")),
    ],
)
def test_gate_is_parsed(text, gate):
    assert Gate.parse(text) == Gate(text.strip(), *gate)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("p98 ratio > 1.2 vs stock", "no metric 'p98'", "did you mean p9"),
        ("troughput ratio < 0.8 vs stock", "no metric 'troughput'", "did you mean throughput?"),
        ("p99 ratio > 1.2 vs stock in openloop", "no mode 'openloop'", "did you mean open-loop?"),
        ("p99 ratio > 0 vs stock", "a ratio is never 0", "above 0"),
        ("p99 ratio > 1.2", "expected a gate", "METRIC ratio"),
        ("p99 ratio = 1.2 vs stock", "expected a gate", '"p99 ratio > 1.2 vs stock on basic in drain"'),
        ("p99 ratio > 20% vs stock", "expected a gate", "NUMBER vs BASELINE"),
        ("p99 > 1.2 vs stock", "expected a gate", "METRIC ratio"),
        ("", "expected a gate", "METRIC ratio"),
        ("p99 > 5ms", "vary between machines", '"p99 ratio > 1.2 vs stock"'),
        ("throughput < 100 pods/s on basic", "vary between machines", '"throughput ratio < 0.8 vs stock"'),
    ],
)
def test_invalid_gate_is_refused_with_a_remedy(text, message, remedy):
    with pytest.raises(UsageError) as caught:
        Gate.parse(text)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "low", "high", "outcome"),
    [
        ("p99 ratio > 1.2 vs stock", 1.21, 1.5, "failed"),
        ("p99 ratio > 1.2 vs stock", 1.2, 1.5, "passed"),
        ("p99 ratio >= 1.2 vs stock", 1.2, 1.5, "failed"),
        ("p99 ratio > 1.2 vs stock", 1.0, 3.0, "passed"),
        ("p99 ratio < 0.8 vs stock", 0.5, 0.79, "failed"),
        ("p99 ratio < 0.8 vs stock", 0.5, 0.8, "passed"),
        ("p99 ratio <= 0.8 vs stock", 0.5, 0.8, "failed"),
    ],
)
def test_gate_fails_if_the_whole_interval_is_beyond_the_limit(text, low, high, outcome):
    assert evaluate(Gate.parse(text), [comparison(low, high)]).outcome == outcome


def test_failure_names_the_candidate_workload_and_mode():
    gate = Gate.parse("p99 ratio > 1.2 vs stock")
    result = evaluate(gate, [comparison(1.0, 1.1), comparison(1.3, 1.6, candidate="x", mode="open-loop", rate=100.0)])
    assert result.model_dump() == {
        "gate": "p99 ratio > 1.2 vs stock", "outcome": "failed",
        "detail": "x on basic, open-loop at 100/s: 1.450 (1.300 to 1.600)",
    }  # fmt: skip


def test_ratio_beyond_the_limit_within_noise_passes_and_is_reported():
    result = evaluate(Gate.parse("p99 ratio > 1.2 vs stock"), [comparison(1.1, 1.5), comparison(0.9, 1.1)])
    assert result.outcome == "passed"
    assert (
        result.detail == "2 comparisons (at a level of 0.01 for all of them together); ratio beyond the limit, "
        "but not its whole interval: "
        "mine on basic, drain: 1.300 (1.100 to 1.500)"
    )


def test_invalid_comparison_makes_a_gate_unproved_unless_another_fails():
    gate = Gate.parse("p99 ratio > 1.2 vs stock")
    result = evaluate(gate, [comparison(0.9, 1.1), INVALID])
    assert result.outcome == "unproved"
    assert result.detail == "mine on basic, drain: invalid: only 3 of 10 blocks are valid"
    assert evaluate(gate, [comparison(1.3, 1.5), INVALID]).outcome == "failed"
    assert evaluate(gate, [comparison(1.3, 1.5, verdict="invalid", reason="noise")]).outcome == "unproved"


def test_only_matching_comparisons_count_for_a_gate():
    gate = Gate.parse("p99 ratio > 1.2 vs stock on basic in drain")
    beyond = (1.3, 1.5)
    others = [
        comparison(*beyond, metric="p50"), comparison(*beyond, workload="churn"), comparison(*beyond, mode="open-loop"),
        comparison(*beyond, baseline="x"),
    ]  # fmt: skip
    assert evaluate(gate, [*others, comparison(0.9, 1.1)]).outcome == "passed"
    assert evaluate(gate, others).detail == "nothing was compared with all of these together"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("p99 ratio > 1 vs stok", "nothing was compared with baseline stok; did you mean stock?"),
        ("p99 ratio > 1 vs stock on basik", "nothing was compared with workload basik; did you mean basic?"),
        ("p99 ratio > 1 vs stock in open-loop", "nothing was compared with mode open-loop; one of: drain"),
        ("p50 ratio > 1 vs stock", "nothing was compared with metric p50; one of: p99"),
    ],
)
def test_gate_without_a_matching_comparison_is_unproved_and_states_why(text, detail):
    result = evaluate(Gate.parse(text), [comparison(0.9, 1.1)])
    assert (result.outcome, result.detail) == ("unproved", detail)
    assert evaluate(Gate.parse(text), []).detail == "nothing was compared"


RATIOS = [1.20, 1.36, 1.21, 1.34, 1.22, 1.33, 1.23, 1.31, 1.26, 1.25]


def outcome_of(count, ratios):
    """Return a gate's outcome for one comparison with these ratios and `count - 1` far from the limit."""
    low, high = interval(ratios, 0.01)
    alike = [comparison(low, high, candidate=f"c{n}", ratios=ratios) for n in range(1)]
    rest = [comparison(0.9, 1.1, candidate=f"other{n}", ratios=[0.9, 1.1] * 5) for n in range(count - 1)]
    return evaluate(Gate.parse("p99 ratio > 1.2 vs stock"), [*alike, *rest]).outcome


def test_more_comparisons_of_a_gate_need_a_higher_confidence_each():
    """The interval is above the limit at 99 %, but not at 99.9 %, which applies to the first of ten."""
    (low, _), (lower, _) = interval(RATIOS, 0.01), interval(RATIOS, 0.001)
    assert lower < 1.2 < low
    assert outcome_of(1, RATIOS) == "failed"
    assert outcome_of(10, RATIOS) == "passed"


def test_all_comparisons_beyond_the_limit_are_named():
    (low, high) = interval([2.0, 2.1] * 5, 0.01)
    far = [comparison(low, high, candidate=f"c{n}", ratios=[2.0, 2.1] * 5) for n in range(3)]
    result = evaluate(Gate.parse("p99 ratio > 1.2 vs stock"), far)
    assert (result.outcome, result.detail.count("on basic")) == ("failed", 3)


@pytest.mark.parametrize(
    ("text", "low", "high", "outcome"),
    [
        ("p99 ratio > 1.2 vs stock", 1.3, None, "failed"),
        ("p99 ratio > 1.2 vs stock", 1.1, None, "unproved"),
        ("p99 ratio < 0.8 vs stock", 1.1, None, "passed"),
        ("p99 ratio < 0.8 vs stock", 0.7, None, "unproved"),
        ("p99 ratio < 0.8 vs stock", None, 0.7, "failed"),
        ("p99 ratio > 1.2 vs stock", None, 1.1, "passed"),
        ("p99 ratio > 1.2 vs stock", None, 1.3, "unproved"),
    ],
)
def test_one_sided_interval_decides_by_its_bound(text, low, high, outcome):
    bound = "at most" if low is None else "at least"
    bounded = comparison(
        low, high, ratio=low or high, bound=bound, verdict="invalid", reason="the apiserver was the limit"
    )
    assert evaluate(Gate.parse(text), [bounded]).outcome == outcome


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("p99 ratio > 1.2 vs stok", "with baseline stok"),
        ("p99 ratio > 1.2 vs stock on taints", "with workload taints"),
        ("p99 ratio > 1.2 vs stock in open-loop", "with mode open-loop"),
    ],
)
def test_gate_about_unmeasured_values_is_refused_in_advance(gate, message):
    measured = {"baseline": ["stock"], "workload": ["basic"], "mode": ["drain"]}
    check_gate(Gate.parse("p99 ratio > 1.2 vs stock on basic in drain"), **measured)
    with pytest.raises(UsageError, match=message) as caught:
        check_gate(Gate.parse(gate), **measured)
    assert caught.value.remedy
