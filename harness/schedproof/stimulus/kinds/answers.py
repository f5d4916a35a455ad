"""What is on record of the answers that the candidate got."""

from __future__ import annotations

from schedproof.history.observations import Tapped
from schedproof.judge.rulings.late import may_be_late
from schedproof.recording.recorder import Recorder

_RECENT = 5_000
"""Records of the last half minute, at most."""


def answered_late(recorder: Recorder, since: float) -> bool:
    """Whether an answer of Prometheus, or of the extender, that came since then took so long that it may be missed."""
    with recorder.changed:
        # In no strict order: the audit log is read later.
        recent = recorder.records[-_RECENT:]
    return any(isinstance(one, Tapped) and one.at >= since and may_be_late(one) for one in recent)
