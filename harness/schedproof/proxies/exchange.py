"""What a tap saw of one request and its answer, and what it can do to them."""

from __future__ import annotations

import dataclasses
import enum

HARNESS = "Schedproof-By"
"""A header by which the harness marks its own requests (case, verb, what); it is not passed on."""


NOT_PERMITTED = "tap: candidates may only query this server"
"""What a request is answered with that is not passed on."""
KEPT = 16 << 20
"""Bytes of a body that are kept for the record; what passes is not limited. 5,000 names of nodes need 0.1 MB, and
1,000 whole nodes some 10 MB."""


class Fault(enum.Enum):
    """What a tap does instead of passing a request on and its answer back."""

    DOWN = "down"
    """Nothing listens: connections are refused."""
    RESET = "reset"
    """The connection is reset once the request has been read."""
    HANG = "hang"
    """The request is read and never answered."""
    SLOW = "slow"
    """The answer comes, after 8 s."""
    UNAVAILABLE = "503"
    """Status 503, as a proxy in front of a server that is starting."""
    MALFORMED = "malformed"
    """Status 200 with half of the answer."""


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One request and its answer, as the tap saw them.

    `body` and `answer` are what was meant: without transfer encoding, and without the content encodings that the
    request offered. `KEPT` bytes of each are kept, and `cut` tells whether there were more; `body_size` and
    `answer_size` are the bytes of content that passed (still encoded), None where there are as many here. `status` is 0
    where nothing was answered; `seconds` is from the request's end to the answer's end; `by` is what our own requests
    say of themselves; `fault` is what the tap did to it, "" where nothing. `error`: why the answer did not come whole,
    "" where it did; `go_refuses`: why a client in Go, as kube-scheduler is, gets no content of it all the same.
    """

    method: str
    path: str
    body: bytes
    status: int
    answer: bytes
    seconds: float
    by: str = ""
    fault: str = ""
    error: str = ""
    body_size: int | None = None
    answer_size: int | None = None
    cut: bool = False
    go_refuses: str = ""
