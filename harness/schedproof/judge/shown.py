"""What a candidate has shown so far of how it schedules, by which it is decided what is still tried, and how.

Pure: the records of the run are the only state. A saved run and a run in progress are asked in the same way.
"""

from __future__ import annotations

import dataclasses
from typing import Self

from schedproof.history.acts import Broken, CasePhase, Habit, LeftOut, Noted, PlainPods, Unblocked
from schedproof.history.history import History
from schedproof.judge.catalogue import HEAD_OF_LINE
from schedproof.judge.clause import Clause


@dataclasses.dataclass(frozen=True)
class Shown:
    """What the records of a run show by some point of it; at its beginning, nothing."""

    broken_by: str = ""
    """The clause that has shown that the candidate binds nothing; "" if none has."""
    ignored: frozenset[str] = frozenset()
    """The clauses that have shown that the candidate ignores their subject, and on which others stand."""
    blocked: bool = False
    """Whether it has bound pods only once no pod waited that fits on no node."""
    variations: tuple[LeftOut, ...] = ()
    """With which kinds of variation it binds no pods, although it binds plain pods, and which cases found that out."""
    binds_plain: bool | None = None
    """Whether it has bound plain pods since the last case; None if that was not tried."""
    habits: frozenset[Habit] = frozenset()

    @classmethod
    def of(cls, history: History) -> Self:
        broken = list(history.of(Broken))
        last = max((record.at for record in history.of(CasePhase)), default=0.0)
        plain = [record.bound for record in history.of(PlainPods) if record.at >= last]
        return cls(
            broken_by=next((record.case for record in broken if not record.basic), ""),
            ignored=frozenset(record.case for record in broken if record.basic),
            blocked=any(history.of(Unblocked)),
            variations=tuple(history.of(LeftOut)),
            binds_plain=plain[-1] if plain else None,
            habits=frozenset(record.habit for record in history.of(Noted)),
        )

    @property
    def binds_nothing(self) -> bool | None:
        """Whether it has bound no pod that it was given time for; None before the first such pod."""
        return False if "binds" in self.habits else True if "binds-nothing" in self.habits else None

    @property
    def left_out(self) -> frozenset[str]:
        """The kinds of variation that later pods are without."""
        return frozenset(kind for record in self.variations for kind in record.kinds)

    def broken_for(self, clause: Clause) -> str:
        """`broken_by`, unless the clause is about the pods because of which the candidate binds nothing."""
        return "" if self.blocked and clause.id == HEAD_OF_LINE else self.broken_by

    def waits_for(self, clause: Clause) -> str:
        """The clause because of which another clause is not tried; "" if there is none."""
        if clause.needs_bindings and (broken_by := self.broken_for(clause)):
            return broken_by
        return min(clause.stands_on & self.ignored, default="")
