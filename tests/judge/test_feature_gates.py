"""The feature gates of the supported minor versions: each has clauses or a reason, and verdicts heed them."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.binaries.lock import load
from schedproof.history.acts import RunCluster
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.feature_gates import FeatureGate, load_gates, minors
from schedproof.judge.judge import applies

from .histories import CLAIMS

GATES = load_gates().values()


def test_gates_are_listed_for_each_pinned_minor() -> None:
    assert minors() == tuple(load().kubernetes)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_each_gate_has_clauses_or_a_reason_why_there_are_none(gate: FeatureGate) -> None:
    assert gate.clauses or gate.why
    assert set(gate.clauses) <= CATALOGUE.keys()


def test_a_clause_about_a_gate_is_listed_beside_it() -> None:
    for clause in CATALOGUE.values():
        assert not clause.gate or clause.id in load_gates()[clause.gate].clauses


def test_a_gate_is_on_from_the_version_in_which_its_default_is() -> None:
    gate = FeatureGate("X", {"1.35": "alpha, off", "1.36": "beta, on"})
    assert [gate.is_on(minor) for minor in ("1.34", "1.35", "1.36")] == [False, False, True]
    assert gate.since == "1.36"
    assert gate.is_new("1.36")
    assert not gate.is_new("1.37")
    assert "1.36" in gate.new


def test_a_gate_that_is_on_and_disappears_is_on_for_good() -> None:
    assert FeatureGate("X", {"1.34": "GA, on (locked)"}).is_on("1.37")
    assert not FeatureGate("X", {"1.34": "alpha, off"}).is_on("1.37")


def test_what_the_oldest_version_has_is_not_new() -> None:
    assert FeatureGate("X", {"1.34": "beta, on"}).new == ""


def test_versions_beyond_the_listed_ones_count_as_the_nearest() -> None:
    gate = FeatureGate("X", {"1.34": "beta, on", "1.35": "beta, on", "1.36": "beta, on", "1.37": "GA, on"})
    assert gate.is_on("1.33")
    assert gate.is_on("1.40")


def test_a_clause_is_not_claimed_on_a_version_without_its_gate() -> None:
    clause = CATALOGUE["core/declared-features"]
    claims = dataclasses.replace(CLAIMS, features=("declared-features",))

    def code(minor: str) -> str:
        cluster = RunCluster(name="embedded", minor=minor, capabilities=sorted(clause.needs))
        verdict = applies(clause, claims, cluster)
        return verdict.code if verdict is not None else ""

    assert code("1.35") == "not-in-this-kubernetes"
    assert code("1.36") == code("") == ""
