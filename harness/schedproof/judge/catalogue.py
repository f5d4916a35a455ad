"""The catalogue of clauses; each clause is defined beside its judge."""

from __future__ import annotations

import dataclasses
import itertools

from schedproof.candidate.profiles import PROFILES, profile_of
from schedproof.documents.suggestions import did_you_mean_one_of
from schedproof.foundation.errors import UsageError
from schedproof.judge.clause import ANSWERED, CONFIGURE, PREFERRED, TAP, Clause
from schedproof.judge.clauses import normalization, rights
from schedproof.judge.clauses.controller import api_usage
from schedproof.judge.clauses.core import (
    alive,
    binding,
    conditions,
    dra,
    freshness,
    gang,
    gang_preemption,
    idle,
    invariants,
    leader,
    placement,
    preemption,
    preemption_choice,
    priority,
    reconnecting,
    volumes,
    wishes,
    worlds,
)
from schedproof.judge.clauses.extender import always, answers, bind, outage, preempt, scores, tls
from schedproof.judge.clauses.network import competing, herd, missing, preference, readings, tie
from schedproof.judge.clauses.plugin import points, schedulers, serving, start
from schedproof.judge.own import is_own, own_clause

BINDS = "core/binds"
"""The clause that is tried first: a candidate that fails it binds nothing, and is not tried on the others."""
HEAD_OF_LINE = "core/no-head-of-line"
"""The clause about pods that keep others from being bound: tried also where such pods are why `BINDS` failed."""

_FAMILIES = (
    alive.CLAUSES,
    invariants.CLAUSES,
    conditions.CLAUSES,
    placement.CLAUSES,
    worlds.CLAUSES,
    priority.CLAUSES,
    preemption.CLAUSES,
    preemption_choice.CLAUSES,
    wishes.CLAUSES,
    volumes.CLAUSES,
    dra.CLAUSES,
    gang.CLAUSES,
    gang_preemption.CLAUSES,
    binding.CLAUSES,
    freshness.CLAUSES,
    idle.CLAUSES,
    reconnecting.CLAUSES,
    leader.CLAUSES,
    preference.CLAUSES,
    competing.CLAUSES,
    readings.CLAUSES,
    missing.CLAUSES,
    herd.CLAUSES,
    tie.CLAUSES,
    answers.CLAUSES,
    scores.CLAUSES,
    bind.CLAUSES,
    outage.CLAUSES,
    preempt.CLAUSES,
    tls.CLAUSES,
    always.CLAUSES,
    rights.CLAUSES,
    start.CLAUSES,
    serving.CLAUSES,
    schedulers.CLAUSES,
    points.CLAUSES,
    api_usage.CLAUSES,
    normalization.CLAUSES,
)


_TELL_PATTERNS = frozenset({"network/rate-not-total"})
"""Clauses that are tried although traffic does not decide: they show how it is misread."""
_WITHOUT_VERBS = frozenset({"extender/healthz", "extender/tls"})
"""Clauses of an extender that show something even if a verb gets no usable response."""


def _complete(clause: Clause) -> Clause:
    """The clause with what all clauses of its profile, or all about the start of a candidate, stand on and need."""
    profile = profile_of(clause.id)
    basics = clause.stands_on
    if (
        profile in ("extender", "network-aware", "normalization")
        and clause.id not in _WITHOUT_VERBS
        and not clause.last
    ):
        basics |= ANSWERED
    if profile in ("network-aware", "normalization") and clause.id not in _TELL_PATTERNS:
        basics |= PREFERRED
    needs = clause.needs
    if profile == "extender" and clause not in rights.CLAUSES:
        needs |= TAP
    if clause.at_start:
        needs |= CONFIGURE
    return dataclasses.replace(clause, stands_on=basics - {clause.id}, needs=needs)


class _Catalogue(dict[str, Clause]):
    """Clauses by their ids, including tests of the user's own from when they are first named."""

    def __contains__(self, clause: object) -> bool:
        return super().__contains__(clause) or is_own(clause)

    def __missing__(self, clause: str) -> Clause:
        if not is_own(clause):
            raise KeyError(clause)
        return self.setdefault(clause, own_clause(clause))


CATALOGUE: dict[str, Clause] = _Catalogue(
    (clause.id, _complete(clause))
    for clause in sorted(
        itertools.chain.from_iterable(_FAMILIES), key=lambda clause: PROFILES.index(profile_of(clause.id))
    )
)
"""All clauses in the order of reports."""

BASICS = frozenset(basic for clause in CATALOGUE.values() for basic in clause.stands_on)
"""The clauses that others stand on: they are tried before these."""


def find_clause(text: str) -> Clause:
    """The clause that a user named.

    Raises:
        UsageError: there is none.
    """
    if text not in CATALOGUE:
        remedy = did_you_mean_one_of(text, CATALOGUE, listed_by="schedproof clauses")
        raise UsageError(f"no clause {text!r}", remedy=remedy)
    return CATALOGUE[text]
