"""The context that all parts of a case share."""

from __future__ import annotations

import dataclasses
import random

from schedproof.candidate.timing import ClaimedDeadlines
from schedproof.clusters.api import Api
from schedproof.recording.recorder import Recorder
from schedproof.stimulus.trial import Trial


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

    def excludes(self, clause: str) -> bool:
        """Return whether the candidate excludes a clause; cases of other clauses then leave out its subject."""
        return any(exclusion.clause == clause for exclusion in self.trial.candidate.exclusions)

    @property
    def freshness(self) -> float:
        """Seconds within which the candidate claims to act on a change that the watch delivered."""
        return self.trial.candidate.claims.timing.freshness
