"""`core/idle`: a scheduler whose pods all wait leaves the processors to others."""

from __future__ import annotations

from schedproof.history.acts import Rested
from schedproof.history.history import History
from schedproof.judge.clause import PROCESSES, SEVERAL_NODES, STEERED, TRIED_AGAIN, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

BUSY = 0.8
"""The part of a processor from which on a process counts as busy."""
_LEAST = 1 / 3
"""The part of the time in which a process could run, at least: with less, hardly anything is said of it."""
_TOO_OFTEN = 2
"""Busy moments: one may be a garbage collection, or a compiler's."""


@gives("keeps-processor-busy", "not-tried", also=[judge_placement])
def judge_idle(history: History, case: str) -> Finding:
    """No process of the candidate used a whole processor in several moments in which nothing happened.

    Its CPU time is compared with the time in which it could run: on a busy machine it gets less of both.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    parts: dict[str, list[float]] = {}
    for rest in history.of(Rested, case):
        for name, used in rest.used.items():
            usable = max(rest.seconds - rest.kept.get(name, 0.0), rest.seconds * _LEAST)
            parts.setdefault(name, []).append(used / usable)
    if not parts:
        return invalid("not-tried", "the CPU time of its processes could not be observed while it had nothing to do")
    measured = {f"processors used by {name}": sum(each) / len(each) for name, each in parts.items()}
    evidence = Evidence(measured=measured)
    for name, each in parts.items():
        busy = [part for part in each if part >= BUSY]
        if len(busy) >= _TOO_OFTEN:
            return failed(
                "keeps-processor-busy",
                f"{name} used {min(busy):.0%} of a processor or more in {len(busy)} of {len(each)} moments in which "
                "pods waited and nothing happened",
                evidence,
            )  # fmt: skip
    most = max(measured.values())
    return passed(f"at most {most:.2f} processors were used while pods waited and nothing happened", evidence)


CLAUSES = (
    Clause(
        "core/idle", "While pods wait and nothing happens, the scheduler does not keep a processor busy.",
        "good practice: a queue blocks until there is something to do", judge_idle, level="recommended",
        needs=PROCESSES | SEVERAL_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint="Look for a loop that asks a queue, a list or the clock again at once while all pods are in back-off.",
    ),
)  # fmt: skip
