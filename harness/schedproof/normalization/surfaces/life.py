"""Detects whether a candidate ends at a question, and returns its last log lines."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable
from typing import Protocol

from schedproof.deploy.attachment import Attachment
from schedproof.foundation.deadlines import REACTION
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.processes.last_words import last_words
from schedproof.foundation.waiting import NotYet, wait_for

_ANSWER_SECONDS = 5.0


class Life(Protocol):
    """The running candidate behind a surface."""

    def revive(self) -> None:
        """Restart it if it has ended.

        Raises:
            CandidateError: it does not start.
        """

    def last_words(self) -> str:
        """Return the last log lines of a component that has ended; "" if none has."""

    def watch_end(self) -> str:
        """Return its last log lines after a missing response; "" if it runs. Sockets close before its end is known."""


class Lives:
    """Restarts an attached candidate, and detects its end.

    Args:
        attachment: with its components and, for an extender, the tap that knows its address.
    """

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def revive(self) -> None:
        self._attachment.restart_if_ended()

    def last_words(self) -> str:
        for component in self._attachment.components:
            if component.exit_code is not None:
                how = (
                    f"signal {-component.exit_code}" if component.exit_code < 0 else f"exit code {component.exit_code}"
                )
                return f"{component.name} ended with {how}: {last_words(component.log_tail(200))}"
        return ""

    def watch_end(self) -> str:
        return self._end("a candidate that did not respond to respond again, or to end", self._answers)

    def wait_end(self) -> str:
        """Return its last log lines once it has ended after a reported panic; "" if it does not end."""
        return self._end("a candidate that reported a panic to end", lambda: False)

    def _end(self, what: str, recovered: Callable[[], bool]) -> str:
        """Return its last log lines once it has ended; "" if it has `recovered`, or hangs."""

        def known() -> str:
            words = self.last_words()
            if not words and not recovered():
                raise NotYet("it has not ended")
            return words

        try:
            return wait_for(known, REACTION, what=what)
        except DeadlineExceededError:
            return ""

    def _answers(self) -> bool:
        """Whether its extender responds at all, with any status. Other candidates have nothing to respond to."""
        tap = self._attachment.extender
        if tap is None:
            return True
        try:
            with contextlib.closing(tap.connect(_ANSWER_SECONDS)) as connection:
                connection.request("GET", "/")
                connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        return True
