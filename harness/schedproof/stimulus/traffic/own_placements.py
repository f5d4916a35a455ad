"""Waits until no earlier placement or question can count as load of a node any more."""

from __future__ import annotations

import time

from schedproof.foundation.waiting import until
from schedproof.normalization.answer import Answer, Readings, Surface, SurfaceAround
from schedproof.stimulus.trial import Trial


class OwnPlacements:
    """Waits until the candidate's own placements no longer count, unless it counts none or reads no traffic.

    A candidate may take a question for a placement, because an extender never learns where a pod went.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        network = trial.candidate.claims.network
        self.may_count = network is not None and network.own_placements != "ignored"
        """Whether the candidate may count its own placements, by its claims."""
        self._counting = network.counting if network is not None else 0.0

    def note_question(self) -> None:
        """Note that the harness has just asked the candidate about a pod that does not exist."""
        self._trial.asked_at = self._trial.recorder.now()

    def wait(self) -> None:
        """Wait until neither placements nor questions count."""
        self._wait(max(self._trial.asked_at, self._trial.recorder.placed_at))

    def wait_for_questions(self) -> None:
        """Wait until no question counts, if some were found to: a history does not list questions as placements."""
        if self._trial.asked_apart:
            self._wait(self._trial.asked_at)

    def _wait(self, since: float) -> None:
        if self.may_count:
            until(time.monotonic() + since + self._counting - self._trial.recorder.now())


class ApartSurface(SurfaceAround):
    """A surface that waits before each question until nothing earlier can count."""

    def __init__(self, surface: Surface, placements: OwnPlacements) -> None:
        super().__init__(surface)
        self._placements = placements

    def ask(self, readings: Readings) -> Answer:
        """Wait, ask, and note the question."""
        self._placements.wait()
        answer = super().ask(readings)
        self._placements.note_question()
        return answer
