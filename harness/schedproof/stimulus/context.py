"""The context that all parts of a case share."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Collection, Mapping

from schedproof.candidate.profiles import OWN, profile_of
from schedproof.candidate.subjects import Subject, left_out
from schedproof.candidate.timing import ClaimedDeadlines
from schedproof.clusters.api import Api
from schedproof.history.acts import Unsupported
from schedproof.recording.recorder import Recorder
from schedproof.stimulus.trial import Trial


class CaseOver(Exception):  # noqa: N818 - an outcome, not an error
    """Nothing more is to be tried: a missed deadline is on record, or a subject that the candidate does not support."""


@dataclasses.dataclass(frozen=True)
class Context:
    """One clause, tried on one candidate.

    `random` is seeded by the run's seed and the clause; `deadlines` are those that the candidate claims.
    """

    trial: Trial
    clause: str
    random: random.Random
    deadlines: ClaimedDeadlines
    scarce: set[str] = dataclasses.field(default_factory=set)
    """Resources whose amounts on nodes the case is about: varied pods do not request them additionally."""

    @classmethod
    def of(cls, trial: Trial, clause: str) -> Context:
        source = random.Random(f"{trial.seed}:{clause}")  # noqa: S311 - reproducible by its seed
        return cls(trial, clause, source, ClaimedDeadlines.of(trial.candidate.claims.timing))

    @property
    def recorder(self) -> Recorder:
        return self.trial.recorder

    @property
    def api(self) -> Api:
        return self.trial.cluster.api

    @property
    def prefix(self) -> str:
        """Prefix of the names of all objects of the clause."""
        return self.clause.replace("/", "-")

    @functools.cached_property
    def left_out(self) -> Mapping[Subject, str]:
        """What the candidate does not support, without what the clause is about; see `subjects.left_out`."""
        candidate = self.trial.candidate
        return left_out(candidate.claims, candidate.exclusions, self.clause)

    def require(self, subjects: Collection[Subject]) -> None:
        """Return if the clause can be tried with these subjects.

        Raises:
            CaseOver: the candidate does not support one of them, which is recorded. A user's own test may use all.
        """
        for subject in sorted(self.left_out.keys() & {*subjects}):
            if profile_of(self.clause) != OWN:
                about = self.left_out[subject]
                self.recorder.add(Unsupported(case=self.clause, subject=str(subject), clause=about))
                raise CaseOver(self.clause)

    @property
    def freshness(self) -> float:
        """Seconds within which the candidate claims to act on a change that the watch delivered."""
        return self.trial.candidate.claims.timing.freshness
