"""Faults: what the harness does to the connections of a candidate."""

from __future__ import annotations

import enum
from typing import Literal

Line = Literal["prometheus", "extender", "apiserver"]
"""The candidate's connections to Prometheus or to the apiserver, or kube-scheduler's to the extender."""
FaultPlace = Literal["tap", "readings", "apiserver"]


class Fault(enum.StrEnum):
    """A fault of a line. Its value is its name on record.

    place: what causes it: a tap, which any line to Prometheus or an extender passes; the readings that Prometheus is
        given; or the apiserver's side of a connection.
    words: what was so while it lasted, as a report says it.
    """

    place: FaultPlace
    words: str

    DOWN = "down", "tap", "nothing listened"
    """The port does not listen: connections are refused."""
    RESET = "reset", "tap", "connections were reset"
    """The connection is reset after the request has been read."""
    HANG = "hang", "tap", "requests got no response"
    """The request is read and never answered."""
    SLOW = "slow", "tap", "answers were late"
    """The response arrives after 8 s."""
    UNAVAILABLE = "503", "tap", "responses had status 503"
    """Status 503, as from a proxy in front of a server that is starting."""
    MALFORMED = "malformed", "tap", "responses were cut off"
    """Status 200 with half of the response body."""
    EMPTY = "empty", "readings", "it had no series"
    """Prometheus has no data, as after its restart."""
    NO_NODE = "no node", "readings", "it had no series of the nodes"
    """The scrapes of all nodes fail."""
    NAN = "NaN", "readings", "all samples were NaN"
    STALE = "stale", "readings", "the nodes' series were stale"
    """The series of all nodes have ended before the claimed window."""
    CUT = "cut", "apiserver", "connections were refused"
    """Connections to the apiserver end, and new ones are refused."""
    ENDED = "ended", "apiserver", "connections were ended"
    """Connections to the apiserver end; new ones are accepted at once."""

    def __new__(cls, name: str, place: FaultPlace, words: str) -> Fault:
        fault = str.__new__(cls, name)
        fault._value_ = name
        fault.place, fault.words = place, words
        return fault
