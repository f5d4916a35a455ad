"""The exceptions that schedproof raises on purpose.

Every message says what was expected, what was seen and what to do. The command line prints
them without a traceback and exits 2; anything else that escapes is a bug of the harness.
"""

from __future__ import annotations

from schedproof.foundation.redaction import SECRETS
from schedproof.foundation.visible import visible


class SchedproofError(Exception):
    """Base of the exceptions. `remedy` says what the reader can do about it.

    Both texts may quote other programs: secrets and terminal control characters are removed from them.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = visible(SECRETS.redact(message))
        self.remedy = visible(SECRETS.redact(remedy))

    def __str__(self) -> str:
        return f"{self.message}\n  fix: {self.remedy}" if self.remedy else self.message


class UsageError(SchedproofError):
    """The user's input (an option, a candidate.yaml) is invalid."""


class HostError(SchedproofError):
    """This machine lacks something: a binary, a namespace, a port, disk space."""


class CandidateError(SchedproofError):
    """The candidate could not be started, so there is nothing to judge."""


class DeadlineExceededError(SchedproofError):
    """A named deadline passed. The message has the last observation."""
