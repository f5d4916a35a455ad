"""Reads from the record how long the candidate waited for responses."""

from __future__ import annotations

from schedproof.history.observations import Tapped
from schedproof.judge.rulings.late import may_be_late
from schedproof.recording.recorder import Recorder

_RECENT = 5_000
"""The most records of half a minute."""


def answered_late(recorder: Recorder, since: float) -> bool:
    """Whether a response of Prometheus or the extender since then took so long that the client may do without."""
    with recorder.changed:
        # The records are not in strict order: the audit log is read later.
        recent = recorder.records[-_RECENT:]
    return any(isinstance(record, Tapped) and record.at >= since and may_be_late(record) for record in recent)
