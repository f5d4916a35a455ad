"""Findings of a trial: what is wrong or in doubt. Findings that differ only in numbers are merged."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from schedproof.report.bench.document import BenchTrial, doubts

WORDS = {
    "wrong": "WRONG", "lost": "UNACCOUNTED", "invalid": "invalid round", "own": "own metrics differ",
    "unlike": "not measured alike", "unjudged": "placement not judged",
}  # fmt: skip
"""The word for each kind; the worst first."""


@dataclasses.dataclass(frozen=True)
class BenchFinding:
    """What is wrong or in doubt.

    `where`: candidate and block of the first of the merged findings. `more`: describes how many others were merged,
    or "".
    """

    kind: str
    where: str
    text: str
    more: str = ""

    @property
    def word(self) -> str:
        return WORDS[self.kind]


def findings(trial: BenchTrial) -> list[BenchFinding]:
    """Return the findings, the worst first.

    Wrong placements are listed by candidate; noise of the machine is merged over all candidates.
    """
    groups: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
    for kind, candidate, where, text in _all(trial):
        shape = re.sub(r"\d+(\.\d+)?", "#", text)
        key = (kind, shape) if kind in ("invalid", "unjudged") else (kind, shape, candidate)
        groups.setdefault(key, []).append((candidate, where, text))
    found = []
    for (kind, *_), members in groups.items():
        (_, where, text), others = members[0], len(members) - 1
        names = len({candidate for candidate, _, _ in members})
        more = f"(and {others} more like it{f', of {names} candidates' if names > 1 else ''})" if others else ""
        found.append(BenchFinding(kind, where, text, more))
    return sorted(found, key=lambda finding: list(WORDS).index(finding.kind))


def _all(trial: BenchTrial) -> Iterator[tuple[str, str, str, str]]:
    yield from (("unlike", name, name, text) for name, text in trial.unlike)
    for measured in trial.measurements:
        name = measured.candidate
        for round_ in measured.rounds:
            where = f"{name}, block {round_.block}"
            yield from (("wrong", name, where, text) for text in round_.wrong)
            yield from (("unjudged", name, where, text) for text in round_.not_judged)
            yield from (("invalid", name, where, text) for text in round_.invalid)
            if round_.own_metrics is not None and not round_.own_metrics.agrees:
                yield "own", name, where, round_.own_metrics.explanation or "no explanation"
        if lost := doubts(measured).unaccounted:
            yield "lost", name, name, f"{lost:,} pods were never seen bound"
