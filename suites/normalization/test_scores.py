"""normalization: thousands of questions, on every surface where the candidate offers its scores."""

import pytest


@pytest.mark.clause("normalize/range")
def test_range(case):
    """Integers within the scale."""
    case.search()


@pytest.mark.clause("normalize/order")
def test_order(case):
    """Less traffic never scores lower."""
    case.search()


@pytest.mark.clause("normalize/strict")
def test_strict(case):
    """What the resolution tells apart, scores tell apart."""
    case.search()


@pytest.mark.clause("normalize/best-is-top")
def test_best_is_top(case):
    """Nobody scores higher than the quietest."""
    case.search()


@pytest.mark.clause("normalize/best-is-max")
def test_best_is_max(case):
    """The quietest has the best score of the scale."""
    case.search()


@pytest.mark.clause("normalize/worst-is-min")
def test_worst_is_min(case):
    """The loudest has none."""
    case.search()


@pytest.mark.clause("normalize/equal")
def test_equal(case):
    """Equal readings, equal scores."""
    case.search()


@pytest.mark.clause("normalize/permutation")
def test_permutation(case):
    """The nodes are asked about in two orders."""
    case.search()


@pytest.mark.clause("normalize/scale")
def test_scale(case):
    """The readings come in two units."""
    case.search()


@pytest.mark.clause("normalize/repeat")
def test_repeat(case):
    """Readings change and come back."""
    case.search()


@pytest.mark.clause("normalize/same-nodes")
def test_same_nodes(case):
    """Every node in, every node out, once."""
    case.search()


@pytest.mark.clause("normalize/zero")
def test_zero(case):
    """There is no traffic anywhere."""
    case.search()


@pytest.mark.clause("normalize/single")
def test_single(case):
    """One node is asked about alone."""
    case.search()


@pytest.mark.clause("normalize/huge")
def test_huge(case):
    """Readings beyond int32, beyond 2^53, and beyond int64."""
    case.search()


@pytest.mark.clause("normalize/nonfinite")
def test_nonfinite(case):
    """NaN, infinities, readings that are negative, or not there."""
    case.search()


@pytest.mark.clause("normalize/surfaces-agree")
def test_surfaces_agree(case):
    """The same questions on each surface."""
    case.compare()


@pytest.mark.clause("normalize/documented")
def test_documented(case):
    """The worked examples that are claimed."""
    case.ask_examples()
