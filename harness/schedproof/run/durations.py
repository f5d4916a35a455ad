"""How long clauses take: measured on this machine before, otherwise estimated."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable

from schedproof.binaries.cache import cache_dir
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.judge import why_unclaimed
from schedproof.normalization.effort import Effort
from schedproof.normalization.rules import RULES, Shape

_FILE = "durations.json"
_KEPT = 5_000
"""The largest number of entries, for some fifty candidates. The oldest are dropped."""
_USUAL = 2.0
_USUAL_NETWORK = 6.0
_WINDOWS = {"network/real-traffic": 3.0, "network/flip": 2.0, "network/window": 3.0}
"""How many times the claimed look-back a clause waits for; once if it is not listed."""
_APART = 12
"""Probes of the preference in a clause, each of which waits until earlier placements no longer count."""
_NONE_APART = frozenset(
    {"network/feasible-first", "network/herd", "network/query-cost", "network/tie", "network/zero-traffic"}
)
"""Clauses whose pods follow each other at once, whatever the candidate claims."""
_WORLDS = "core/random-worlds"
_LARGE_WORLDS, _GENERATED_WORLDS, _A_WORLD = 4.0, 60.0, 0.5
"""Seconds: of the two large worlds, of the generated worlds, and of each generated world if `--worlds` says how many.
"""
_CORNERS = 10
"""The approximate number of cases by hand that are asked besides the generated cases."""
_QUESTIONS: dict[Shape, int] = {"two-orders": 2, "two-units": 2, "again": 5}
"""The number of questions in a case; one if its shape is not listed."""


class Durations:
    """Seconds by candidate and clause, kept in the cache. Entries that cannot be read or kept are ignored.

    Args:
        effort: how many cases property tests of scores try.
    """

    def __init__(self, effort: Effort = Effort()) -> None:  # noqa: B008 - immutable
        self._effort = effort
        self._path = cache_dir() / _FILE
        self._seen: dict[str, float] = {}
        with contextlib.suppress(OSError, ValueError):
            self._seen = {str(key): float(seconds) for key, seconds in json.loads(self._path.read_text()).items()}

    def expected(self, candidate: Candidate, clause: Clause) -> float:
        """The expected seconds of a clause: as measured on this machine, or else estimated."""
        seen = self._seen.get(self._key(candidate, clause.id))
        if seen is None or why_unclaimed(clause, candidate.claims):
            return self.estimated(candidate, clause)
        return seen

    def estimated(self, candidate: Candidate, clause: Clause) -> float:
        """The seconds of a clause, estimated by the claims: the same on each machine."""
        if why_unclaimed(clause, candidate.claims):
            return 0.0
        if clause.id == _WORLDS:
            worlds = self._effort.worlds
            if self._effort.soak is not None:
                return _LARGE_WORLDS + self._effort.soak
            return _LARGE_WORLDS + (_GENERATED_WORLDS if worlds is None else worlds * _A_WORLD)
        network, apart = candidate.claims.network, self.apart_seconds(candidate, clause)
        if network is None or not clause.id.startswith("network/"):
            return _USUAL + self.polled_seconds(candidate, clause) + apart
        return _USUAL_NETWORK + _WINDOWS.get(clause.id, 1.0) * network.look_back + apart

    def apart_seconds(self, candidate: Candidate, clause: Clause) -> float:
        """The part of them that a clause waits until no placement counts, if the candidate counts its own.

        Score requests are spaced out if a request may be taken for a placement, as an extender has to.
        """
        network = candidate.claims.network
        if network is None or network.own_placements != "counted":
            return 0.0
        if clause.id in RULES:
            return self._questions(candidate, clause) * network.counting if candidate.kind == "extender" else 0.0
        preference = clause.id.startswith("network/") and clause.id not in _NONE_APART
        return _APART * network.counting if preference or clause.id.startswith("core/prefer-") else 0.0

    def polled_seconds(self, candidate: Candidate, clause: Clause) -> float:
        """The part of them that a clause about scores waits for a claimed `refresh`, which it does at each question.

        Rules of one shape are judged by the answers to the same questions, so only the first of them waits.
        """
        network = candidate.claims.network
        return self._questions(candidate, clause) * network.staleness if network is not None else 0.0

    def _questions(self, candidate: Candidate, clause: Clause) -> int:
        """The number of questions of a clause about scores, if each of them has to wait."""
        rule = RULES.get(clause.id)
        if rule is None or candidate.kind == "controller" or why_unclaimed(clause, candidate.claims):
            return 0
        alike = (other for other in RULES.values() if other.shape == rule.shape)
        first = next(other for other in alike if not why_unclaimed(CATALOGUE[other.clause], candidate.claims))
        generated = self._effort.cases("plugin") if self._effort.profile != Effort().profile else 0
        cases = generated + _CORNERS if first is rule else 0
        return cases * _QUESTIONS.get(rule.shape, 1)

    def keep(self, seen: Iterable[tuple[Candidate, str, float]]) -> None:
        """Remember how many seconds clauses (by their ids) took."""
        new = {self._key(candidate, clause): round(seconds, 1) for candidate, clause, seconds in seen}
        kept = {key: took for key, took in self._seen.items() if key not in new} | new
        self._seen = dict(list(kept.items())[-_KEPT:])
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._path.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(self._seen))
            draft.replace(self._path)

    def _key(self, candidate: Candidate, clause: str) -> str:
        """The key of a duration: another window, counted placements, or more cases make another duration."""
        network, effort = candidate.claims.network, self._effort.profile
        cases = f" {effort}" if clause in RULES and effort != Effort().profile else ""
        if clause == _WORLDS and self._effort.worlds is not None:
            cases = f" {self._effort.worlds}"
        if clause == _WORLDS and self._effort.soak is not None:
            cases = f" soak {self._effort.soak:g}"
        counted = " counted" if network is not None and network.own_placements == "counted" else ""
        look_back = f" {network.look_back:g}" if network is not None else ""
        return f"{candidate.name} {clause}{look_back}{counted}{cases}"
