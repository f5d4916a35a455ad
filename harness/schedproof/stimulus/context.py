"""What the parts of a case share."""

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
    """Resources of which nodes of the case offer what it is about: no pod asks for some beside."""

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
        """How the names of all objects of the clause begin."""
        return self.clause.replace("/", "-")

    def excludes(self, clause: str) -> bool:
        """Whether the candidate excludes a clause: what that is about is no part of others."""
        return any(exclusion.clause == clause for exclusion in self.trial.candidate.exclusions)

    @property
    def freshness(self) -> float:
        """Seconds within which the candidate claims to act on a change that the watch delivered."""
        return self.trial.candidate.claims.timing.freshness
