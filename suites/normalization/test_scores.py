"""normalization: thousands of questions, on every surface where the candidate offers its scores."""

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
    """What the resolution tells apart, scores tell apart."""
    case.scores.search()


@pytest.mark.clause("normalize/best-is-top")
def test_best_is_top(case: Case) -> None:
    """No node scores higher than the quietest."""
    case.scores.search()


@pytest.mark.clause("normalize/best-is-max")
def test_best_is_max(case: Case) -> None:
    """The quietest has the best score of the scale."""
    case.scores.search()


@pytest.mark.clause("normalize/worst-is-min")
def test_worst_is_min(case: Case) -> None:
    """The loudest has none."""
    case.scores.search()


@pytest.mark.clause("normalize/equal")
def test_equal(case: Case) -> None:
    """Equal readings, equal scores."""
    case.scores.search()


@pytest.mark.clause("normalize/permutation")
def test_permutation(case: Case) -> None:
    """The nodes are asked about in two orders."""
    case.scores.search()


@pytest.mark.clause("normalize/scale")
def test_scale(case: Case) -> None:
    """The readings come in two units."""
    case.scores.search()


@pytest.mark.clause("normalize/repeat")
def test_repeat(case: Case) -> None:
    """Readings change and come back."""
    case.scores.search()


@pytest.mark.clause("normalize/same-nodes")
def test_same_nodes(case: Case) -> None:
    """Every node in, every node out, once."""
    case.scores.search()


@pytest.mark.clause("normalize/zero")
def test_zero(case: Case) -> None:
    """There is no traffic anywhere."""
    case.scores.search()


@pytest.mark.clause("normalize/single")
def test_single(case: Case) -> None:
    """One node is asked about alone."""
    case.scores.search()


@pytest.mark.clause("normalize/huge")
def test_huge(case: Case) -> None:
    """Readings beyond int32, beyond 2^53, and beyond int64."""
    case.scores.search()


@pytest.mark.clause("normalize/nonfinite")
def test_nonfinite(case: Case) -> None:
    """NaN, infinities, readings that are negative, or not there."""
    case.scores.search()


@pytest.mark.clause("normalize/surfaces-agree")
def test_surfaces_agree(case: Case) -> None:
    """The same questions on each surface."""
    case.scores.compare()


@pytest.mark.clause("normalize/documented")
def test_documented(case: Case) -> None:
    """The worked examples that are claimed."""
    case.scores.ask_examples()
