"""Node selectors and required node affinity."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.oracle.affinity import matches, mismatches

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def node(name: str = "n1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def pod(*terms: dict[str, Any], **selector: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"nodeSelector": selector}
    if terms:
        spec["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}
    return {"metadata": {"name": "p"}, "spec": spec}


def term(*expressions: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), "matchFields": list(fields)}


@pytest.mark.parametrize(
    ("expression", "value", "holds"),
    [
        (requirement("k", "In", "a", "b"), "b", True),
        (requirement("k", "In", "a", "b"), "c", False),
        (requirement("k", "In", "a", "b"), None, False),
        (requirement("k", "In", ""), "", True),
        (requirement("k", "NotIn", "a", "b"), "a", False),
        (requirement("k", "NotIn", "a", "b"), "c", True),
        (requirement("k", "NotIn", "a", "b"), None, True),
        (requirement("k", "Exists"), "", True),
        (requirement("k", "Exists"), None, False),
        (requirement("k", "DoesNotExist"), None, True),
        (requirement("k", "DoesNotExist"), "", False),
        (requirement("k", "Gt", "4"), "5", True),
        (requirement("k", "Gt", "4"), "4", False),
        (requirement("k", "Gt", "4"), "10", True),  # as numbers, not as text
        (requirement("k", "Gt", "4"), None, False),
        (requirement("k", "Gt", "4"), "many", False),
        (requirement("k", "Gt", "many"), "5", False),
        (requirement("k", "Gt", "4"), "5.5", False),
        (requirement("k", "Gt", "4"), "007", True),
        (requirement("k", "Gt", "4"), "1_0", False),
        (requirement("k", "Gt", "4"), "9223372036854775807", True),
        (requirement("k", "Gt", "4"), "9223372036854775808", False),
        (requirement("k", "Gt", "-2"), "-1", True),
        (requirement("k", "Gt", "-9223372036854775808"), "-9223372036854775807", True),
        (requirement("k", "Gt", "-9223372036854775809"), "5", False),
        (requirement("k", "Lt", "4"), "3", True),
        (requirement("k", "Lt", "4"), "4", False),
        (requirement("k", "Lt", "4"), None, False),
        # malformed: the API refuses them, and they match no node
        (requirement("k", "In"), "a", False),
        (requirement("k", "NotIn"), "a", False),
        (requirement("k", "Exists", "a"), "a", False),
        (requirement("k", "DoesNotExist", "a"), None, False),
        (requirement("k", "Gt"), "5", False),
        (requirement("k", "Gt", "4", "5"), "9", False),
        (requirement("k", "Near", "a"), "a", False),
    ],
)
def test_operators_of_requirements(expression: dict[str, Any], value: str | None, holds: bool) -> None:
    """A label with this value (None: no such label) meets the requirement or not."""
    assert matches(expression, {} if value is None else {"k": value}) is holds


def test_node_selector_requires_every_label() -> None:
    """Each label that differs or is missing is a reason."""
    assert mismatches(pod(disk="ssd", zone="a"), node(disk="ssd", zone="a", more="x")) == ()
    assert mismatches(pod(disk="ssd", zone="a"), node(disk="hdd")) == (
        "node selector disk=ssd: the node has disk=hdd",
        "node selector zone=a: the node has no zone",
    )


IN_A, IN_B, SSD = requirement("zone", "In", "a"), requirement("zone", "In", "b"), requirement("disk", "In", "ssd")


@pytest.mark.parametrize(
    ("terms", "selected"),
    [
        ([term(IN_A)], True),
        ([term(IN_B)], False),
        ([term(IN_B), term(IN_A)], True),
        ([term(IN_A, SSD)], False),
        ([term(IN_B), term(IN_A, SSD)], False),
        ([term()], False),
        ([{}], False),
        ([{"matchExpressions": None}], False),
        ([term(), term(IN_A)], True),
        ([term(requirement("zone", "Near", "a"))], False),
        ([term(requirement("zone", "Near", "a")), term(IN_A)], True),
        ([term(fields=(requirement("metadata.name", "In", "n1"),))], True),
        ([term(fields=(requirement("metadata.name", "In", "n2"),))], False),
        ([term(fields=(requirement("metadata.name", "NotIn", "n1"),))], False),
        ([term(fields=(requirement("metadata.name", "NotIn", "n2"),))], True),
        ([term(IN_A, fields=(requirement("metadata.name", "In", "n1"),))], True),
        ([term(IN_B, fields=(requirement("metadata.name", "In", "n1"),))], False),
        ([term(IN_A, fields=(requirement("metadata.name", "In", "n2"),))], False),
        # matchFields takes exactly one value, and no other operators
        ([term(fields=(requirement("metadata.name", "In", "n1", "n2"),))], False),
        ([term(fields=(requirement("metadata.name", "Exists"),))], False),
    ],
)
def test_terms_are_ored_and_requirements_of_a_term_are_anded(terms: list[dict[str, Any]], selected: bool) -> None:
    """The node is n1 in zone a with a hard disk; an empty term selects nothing."""
    assert (mismatches(pod(*terms), node(zone="a", disk="hdd")) == ()) is selected


def test_required_affinity_without_terms_selects_nothing() -> None:
    """No term matches, so no node is selected."""
    manifest = {
        "metadata": {"name": "p"},
        "spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
    }
    assert mismatches(manifest, node()) == ("required node affinity: it has no terms",)


def test_selector_and_affinity_must_both_hold() -> None:
    """Neither replaces the other."""
    assert mismatches(pod(term(IN_A), disk="ssd"), node(zone="a", disk="ssd")) == ()
    assert len(mismatches(pod(term(IN_A), disk="ssd"), node(zone="a"))) == 1
    assert len(mismatches(pod(term(IN_A), disk="ssd"), node(disk="ssd"))) == 1
    assert len(mismatches(pod(term(IN_A), disk="ssd"), node())) == 2


def test_preferred_affinity_excludes_nothing() -> None:
    """Preferred affinity is used for scoring only."""
    preferred = [{"weight": 1, "preference": term(IN_B)}]
    manifest = {"metadata": {"name": "p"}, "spec": {"affinity": {"nodeAffinity": {PREFERRED: preferred}}}}
    assert mismatches(manifest, node(zone="a")) == ()


def test_reason_shows_the_first_failure_of_every_term() -> None:
    """The reason also shows the node's own values."""
    terms = term(IN_B), term(IN_A, SSD), term(fields=(requirement("metadata.name", "In", "n2"),)), {}
    (reason,) = mismatches(pod(*terms), node(zone="a"))
    assert reason == (
        "required node affinity: zone In [b] (the node has zone=a) or disk In [ssd] (the node has no disk) "
        "or metadata.name In [n2] (the node has metadata.name=n1) or an empty term selects no node"
    )


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y", "1", "2"]))
VALUES = st.lists(st.sampled_from(["x", "y", "1", "2"]), min_size=1)
EXPRESSIONS = st.one_of(
    st.builds(lambda k, o, v: requirement(k, o, *v), st.sampled_from("abc"), st.sampled_from(["In", "NotIn"]), VALUES),
    st.builds(requirement, st.sampled_from("abc"), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(requirement, st.sampled_from("abc"), st.sampled_from(["Gt", "Lt"]), st.sampled_from("12")),
)
TERMS = st.lists(EXPRESSIONS, max_size=3).map(lambda expressions: term(*expressions))
OPPOSITES = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}


@given(EXPRESSIONS.filter(lambda e: e["operator"] in OPPOSITES), LABELS)
def test_opposite_operators_never_agree(expression: dict[str, Any], labels: dict[str, str]) -> None:
    """Law: In and NotIn, and Exists and DoesNotExist, partition all nodes."""
    opposite = {**expression, "operator": OPPOSITES[expression["operator"]]}
    assert matches(expression, labels) is not matches(opposite, labels)


@given(st.lists(TERMS, min_size=1, max_size=3), TERMS, LABELS)
def test_additional_term_never_excludes_a_node(terms: list[Any], more: dict[str, Any], labels: dict[str, str]) -> None:
    """Law: terms are ORed."""
    if not mismatches(pod(*terms), node(**labels)):
        assert not mismatches(pod(*terms, more), node(**labels))


@given(TERMS.filter(lambda t: t["matchExpressions"]), EXPRESSIONS, LABELS)
def test_additional_expression_never_admits_a_node(
    base: dict[str, Any], more: dict[str, Any], labels: dict[str, str]
) -> None:
    """Law: expressions are ANDed."""
    if mismatches(pod(base), node(**labels)):
        assert mismatches(pod(term(*base["matchExpressions"], more)), node(**labels))
