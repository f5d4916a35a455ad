"""What happens in a run, as the engine reports it to the run's outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from schedproof.documents.part import Part
from schedproof.foundation.exit_codes import EXIT_INTERRUPTED
from schedproof.judge.verdict import Verdict
from schedproof.run.result import RunResult


@dataclasses.dataclass(frozen=True)
class Planned:
    """The clauses to try are known."""

    result: RunResult


class Judged(Part):
    """A clause was judged, on one instance of a candidate."""

    candidate: str
    verdict: Verdict
    seconds: float | None = None
    """How long it took to try and to judge it; None if it was not tried."""


class Ended(Part):
    """The cluster is again as before the clause: whatever follows from the clause is known."""

    binds_nothing: bool = False
    """Whether the candidate is known to bind nothing, by this clause or another one."""
    ignored: bool = False
    """Whether the clause has shown that the candidate ignores what it is about."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """All processes have ended, and the result is complete."""

    result: RunResult
    interrupted: bool = False
    """Whether the user interrupted the run."""

    @property
    def exit_code(self) -> int:
        return EXIT_INTERRUPTED if self.interrupted else self.result.exit_code


Event = Planned | Judged | Ended | Finished
Handler = Callable[[Event], None]
"""An output of a run: takes each event when it happens, in order."""
