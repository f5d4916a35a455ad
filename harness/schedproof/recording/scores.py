"""Reads the scores that kube-scheduler logs (in its scheduling cycle, at level 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from schedproof.history.observations import NodeScore

# kube-scheduler, pkg/scheduler/schedule_one.go, prioritizeNodes; klog's text format.
_SCORED = re.compile(
    r'"(?P<what>Plugin scored node for pod|Extender scored node for pod|Calculated node\'s final score for pod)" '
    r'pod="(?P<pod>[^"]+)"(?: (?:plugin|extender)="(?P<scorer>[^"]+)")? node="(?P<node>[^"]+)" score=(?P<score>-?\d+)'
)


def parse_score(line: str) -> NodeScore | None:
    """Return the score in a log line; None for other lines."""
    match = _SCORED.search(line)
    if match is None:
        return None
    scorer = match["scorer"] or "total"
    # An extender's name in the log is its URL, with the arbitrary port of its tap.
    scorer = "extender" if match["what"].startswith("Extender") else scorer
    return NodeScore(pod=match["pod"], scorer=scorer, node=match["node"], score=int(match["score"]))


class ScoreTail:
    """Reads the scores logged since the last call."""

    def __init__(self, log: Path) -> None:
        self._file: IO[bytes] = log.open("rb")
        self._partial = b""

    def read(self) -> Iterator[NodeScore]:
        self._partial += self._file.read()
        *complete, self._partial = self._partial.split(b"\n")
        for line in complete:
            if (score := parse_score(line.decode(errors="replace"))) is not None:
                yield score

    def close(self) -> None:
        self._file.close()
