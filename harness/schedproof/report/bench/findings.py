"""What is wrong or in doubt in a trial, in its own words; what differs in numbers only is said once."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from schedproof.report.bench.document import BenchTrial, doubts

WORDS = {
    "wrong": "WRONG", "lost": "UNACCOUNTED", "invalid": "invalid round", "own": "own metrics differ",
    "unjudged": "placement not judged",
}  # fmt: skip
"""By kind; the worst first."""


@dataclasses.dataclass(frozen=True)
class BenchFinding:
    """`where`: candidate and block of the first of its like. `more`: how many others there are, as words, or ""."""

    kind: str
    where: str
    said: str
    more: str = ""

    @property
    def word(self) -> str:
        return WORDS[self.kind]


def findings(trial: BenchTrial) -> list[BenchFinding]:
    """The worst first. Placements are the doing of a candidate; a noisy machine is shared by all."""
    groups: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
    for kind, candidate, where, said in _all(trial):
        shape = re.sub(r"\d+(\.\d+)?", "#", said)
        key = (kind, shape) if kind in ("invalid", "unjudged") else (kind, shape, candidate)
        groups.setdefault(key, []).append((candidate, where, said))
    found = []
    for (kind, *_), members in groups.items():
        (_, where, said), others = members[0], len(members) - 1
        names = len({candidate for candidate, _, _ in members})
        more = f"(and {others} more like it{f', of {names} candidates' if names > 1 else ''})" if others else ""
        found.append(BenchFinding(kind, where, said, more))
    return sorted(found, key=lambda one: list(WORDS).index(one.kind))


def _all(trial: BenchTrial) -> Iterator[tuple[str, str, str, str]]:
    for measured in trial.measurements:
        name = measured.candidate
        for one in measured.rounds:
            where = f"{name}, block {one.block}"
            yield from (("wrong", name, where, said) for said in one.wrong)
            yield from (("unjudged", name, where, said) for said in one.not_judged)
            yield from (("invalid", name, where, said) for said in one.invalid)
            if one.own_metrics is not None and not one.own_metrics.agrees:
                yield "own", name, where, one.own_metrics.explanation or "no explanation"
        if lost := doubts(measured).unaccounted:
            yield "lost", name, name, f"{lost:,} pods are neither bound nor accounted for"
