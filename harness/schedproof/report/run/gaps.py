"""Reports what a run left unproved, because all of its verdicts may have passed nevertheless."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from schedproof.clusters.kinds import KINDS
from schedproof.foundation.counted import counted
from schedproof.judge.verdict import Verdict
from schedproof.run.result import CandidateResult, RunResult


def gaps(result: RunResult) -> Iterator[str]:
    """Yield a line for each gap; indented lines give its reasons."""
    for name, tested in result.candidates.items():
        judged = [verdict for verdict in tested.verdicts if verdict.outcome != "not-claimed"]
        if tested.inapplicable:
            yield f"{name}: {counted(len(tested.inapplicable), 'clause')} turned out not to apply:"
            yield from _by_reason(tested.inapplicable)
        if tested.skipped:
            leave = "allowed by --allow-skipped" if result.allow_skipped else "--allow-skipped allows that"
            yield f"{name}: skipped {len(tested.skipped)} of {counted(len(judged), 'clause')} ({leave}):"
            yield from _by_reason(tested.skipped)
        network, claimed = tested.candidate.claims.network, tested.candidate.claimed_window
        if network is not None and claimed not in (None, network.window):
            yield f"{name}: tried with a window of {network.window:g} s; the claimed {claimed:g} s were not tried"
        yield from (f"{name}: {line}" for line in _dependent(tested))
        if tested.untried and tested.error is None:
            first = ", ".join(tested.untried[:5]) + (", ..." if len(tested.untried) > 5 else "")
            yield f"{name}: the run ended before {counted(len(tested.untried), 'clause')} could be tried: {first}"
        if (soaked := tested.soaked) is not None and soaked.undecided:
            yield f"{name}: {soaked.unproved}"
        for profile in tested.unjudged_profiles:
            yield f"{name}: it claims the profile {profile}, but none of the selected clauses of this profile applies"
        if not judged and tested.error is None:
            yield f"{name}: nothing was tried"
    kind = KINDS.get(result.cluster)  # a report may have the name of a kind of another version
    if kind is not None and not kind.local and not result.is_empty:
        yield (
            f"deadlines include time in which the cluster's machines were overloaded: with --cluster {result.cluster}, "
            "the time that processes wait for a CPU cannot be measured"
        )


def _dependent(tested: CandidateResult) -> Iterator[str]:
    dependent = collections.Counter((verdict.depends_on, verdict.code) for verdict in tested.dependent)
    for (cause, code), waiting in dependent.items():
        clauses = counted(waiting, "clause")
        if code == "depends-on-excluded":
            yield f"not tried, because {cause} is excluded or not claimed: {clauses}"
        else:
            yield f"not tried, because {cause} did not pass: {clauses} (--keep-going tries all)"


def _by_reason(verdicts: Sequence[Verdict]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.summary, []).append(verdict.clause)
    for reason, clauses in reasons.items():
        yield f"  {reason}: {', '.join(clauses)}"
