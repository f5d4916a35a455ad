"""Whether a candidate lives through a question; and if not, what it said last."""

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
    """The candidate that a surface asks."""

    def revive(self) -> None:
        """Start it again where it has ended.

        Raises:
            CandidateError: it does not start.
        """

    def last_words(self) -> str:
        """Of a component of it that has ended; "" while all live."""

    def watch_end(self) -> str:
        """Its last words, after it has failed to answer: its sockets close before its end is told. "" if it lives."""


class Lives:
    """The life of an attached candidate.

    Args:
        attachment: all of its components; its tap to an extender, if it has one, says where that listens.
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
        return self._end("a candidate that did not answer to answer again, or to end", self._answers)

    def wait_end(self) -> str:
        """Its last words, once it has ended, as it has said that it will; "" if it does not."""
        return self._end("a candidate that reported a panic to end", lambda: False)

    def _end(self, what: str, recovered: Callable[[], bool]) -> str:
        """Its last words, once it has ended; "" if it has `recovered`, or hangs."""

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
        """Whether its extender answers at all, whatever it is that it says. Others have nothing to answer."""
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
