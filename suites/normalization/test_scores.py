"""normalization: thousands of inputs, on every surface where the candidate offers its scores."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("normalize/range")
def test_range(case: Case) -> None:
    """Integers within the scale."""
    case.scores.search()


@pytest.mark.clause("normalize/order")
def test_order(case: Case) -> None:
    """Less traffic never scores lower."""
    case.scores.search()


@pytest.mark.clause("normalize/strict")
def test_strict(case: Case) -> None:
    """Readings that differ by more than the resolution get different scores."""
    case.scores.search()


@pytest.mark.clause("normalize/best-is-top")
def test_best_is_top(case: Case) -> None:
    """No node scores higher than the quietest."""
    case.scores.search()


@pytest.mark.clause("normalize/best-is-max")
def test_best_is_max(case: Case) -> None:
    """The quietest node has the highest score of the scale."""
    case.scores.search()


@pytest.mark.clause("normalize/worst-is-min")
def test_worst_is_min(case: Case) -> None:
    """The busiest node has the score 0."""
    case.scores.search()


@pytest.mark.clause("normalize/equal")
def test_equal(case: Case) -> None:
    """Equal readings, equal scores."""
    case.scores.search()


@pytest.mark.clause("normalize/permutation")
def test_permutation(case: Case) -> None:
    """The same nodes are passed in two orders."""
    case.scores.search()


@pytest.mark.clause("normalize/scale")
def test_scale(case: Case) -> None:
    """The same readings in two units."""
    case.scores.search()


@pytest.mark.clause("normalize/repeat")
def test_repeat(case: Case) -> None:
    """Readings change and return to earlier values."""
    case.scores.search()


@pytest.mark.clause("normalize/same-nodes")
def test_same_nodes(case: Case) -> None:
    """Each node of the input is in the output exactly once."""
    case.scores.search()


@pytest.mark.clause("normalize/zero")
def test_zero(case: Case) -> None:
    """No node has any traffic."""
    case.scores.search()


@pytest.mark.clause("normalize/single")
def test_single(case: Case) -> None:
    """The input has a single node."""
    case.scores.search()


@pytest.mark.clause("normalize/huge")
def test_huge(case: Case) -> None:
    """Readings beyond int32, beyond 2^53, and beyond int64."""
    case.scores.search()


@pytest.mark.clause("normalize/nonfinite")
def test_nonfinite(case: Case) -> None:
    """NaN, infinities, negative readings, and missing readings."""
    case.scores.search()


@pytest.mark.clause("normalize/surfaces-agree")
def test_surfaces_agree(case: Case) -> None:
    """The same inputs on each surface."""
    case.scores.compare()


@pytest.mark.clause("normalize/documented")
def test_documented(case: Case) -> None:
    """The worked examples of the candidate's claims."""
    case.scores.ask_examples()
