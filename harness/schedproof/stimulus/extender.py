"""Stimuli for extenders: calls of our own, over the tapped line."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from schedproof.candidates.kinds import ExtenderSpec
from schedproof.candidates.taps import HARNESS
from schedproof.foundation.errors import HostError
from schedproof.stimulus.case import Case

if TYPE_CHECKING:
    from schedproof.stimulus.trial import Trial

__all__ = ["ExtenderCase"]

_ANSWER_SECONDS = 20.0


class ExtenderCase(Case):
    """A case whose candidate is an extender."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        assert isinstance(trial.candidate.spec, ExtenderSpec)
        self._config = trial.candidate.spec.config

    @property
    def verbs(self) -> tuple[str, ...]:
        """All that are configured."""
        return self._config.verbs

    def call(self, verb: str, body: bytes, *, what: str) -> None:
        """POST a body to a verb; `what` says what it is. What comes of it is on record."""
        tap = self.trial.attachment.extender
        if tap is None:
            raise HostError("the line to this extender is encrypted, so nothing of our own can be sent over it")
        target = urlsplit(tap.url)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=_ANSWER_SECONDS)
        headers = {"Content-Type": "application/json", HARNESS: f"{self.clause} {verb} {what}"}
        try:
            connection.request("POST", f"{self._config.path_prefix}/{verb}", body, headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the tap has it on record
        finally:
            connection.close()
