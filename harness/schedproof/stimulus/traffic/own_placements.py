"""Waits until nothing that was placed, or asked about, can count as load of a node any more."""

from __future__ import annotations

import time

from schedproof.foundation.waiting import until
from schedproof.normalization.answer import Answer, Readings, Surface, SurfaceAround
from schedproof.stimulus.trial import Trial


class OwnPlacements:
    """When the candidate's own placements count no longer; at once, where it counts none, or reads no traffic.

    A candidate may take a question for a placement: an extender is never told where a pod went.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        network = trial.candidate.claims.network
        self.may_count = network is not None and network.own_placements != "ignored"
        """Whether the candidate may count them, by what it claims."""
        self._counting = network.counting if network is not None else 0.0

    def note_question(self) -> None:
        """Note that the harness has just asked the candidate about a pod that is none."""
        self._trial.asked_at = self._trial.recorder.now()

    def wait(self) -> None:
        """Until neither placements nor questions count."""
        self._wait(max(self._trial.asked_at, self._trial.recorder.placed_at))

    def wait_for_questions(self) -> None:
        """Until no question counts, where some were seen to: no history has them among the placements."""
        if self._trial.asked_apart:
            self._wait(self._trial.asked_at)

    def _wait(self, since: float) -> None:
        if self.may_count:
            until(time.monotonic() + since + self._counting - self._trial.recorder.now())


class ApartSurface(SurfaceAround):
    """A surface that is asked once nothing before the question can count."""

    def __init__(self, surface: Surface, placements: OwnPlacements) -> None:
        super().__init__(surface)
        self._placements = placements

    def ask(self, readings: Readings) -> Answer:
        """Ask, and note that it was asked."""
        self._placements.wait()
        answer = super().ask(readings)
        self._placements.note_question()
        return answer
