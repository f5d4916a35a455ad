"""What a run does not show although it was to: said beside the verdicts, because all of those may be green."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from schedproof.foundation.counted import counted
from schedproof.judge.verdict import Verdict
from schedproof.run.result import RunResult


def gaps(result: RunResult) -> Iterator[str]:
    """A line for each reason, and lines that begin with blanks and belong to the one above."""
    for name, one in result.candidates.items():
        judged = [verdict for verdict in one.verdicts if verdict.outcome != "not-claimed"]
        if one.inapplicable:
            yield f"{name}: {counted(len(one.inapplicable), 'clause')} turned out not to apply:"
            yield from _by_reason(one.inapplicable)
        if one.skipped:
            leave = "allowed by --allow-skipped" if result.allow_skipped else "--allow-skipped allows that"
            yield f"{name}: skipped {len(one.skipped)} of {counted(len(judged), 'clause')} ({leave}):"
            yield from _by_reason(one.skipped)
        network, claimed = one.candidate.claims.network, one.candidate.claimed_window
        if network is not None and claimed not in (None, network.window):
            yield f"{name}: tried with a window of {network.window:g} s; it claims {claimed:g} s, which was not tried"
        for cause, waiting in collections.Counter(verdict.depends_on for verdict in one.dependent).items():
            clauses = counted(waiting, "clause")
            yield f"{name}: not tried, because {cause} did not pass: {clauses} (--keep-going tries all)"
        if one.untried and one.error is None:
            first = ", ".join(one.untried[:5]) + (", ..." if len(one.untried) > 5 else "")
            yield f"{name}: the run ended before {counted(len(one.untried), 'clause')} could be tried: {first}"
        for profile in one.unjudged_profiles:
            yield f"{name}: it claims the profile {profile}, but none of the selected clauses of this profile applies"
        if not judged and one.error is None:
            yield f"{name}: nothing was tried"
    if result.cluster == "existing" and not result.is_empty:
        yield (
            "deadlines include time in which the cluster's machines were overloaded: how long their processes waited "
            "for a CPU cannot be measured from here"
        )


def _by_reason(verdicts: Sequence[Verdict]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.summary, []).append(verdict.clause)
    for reason, clauses in reasons.items():
        yield f"  {reason}: {', '.join(clauses)}"
