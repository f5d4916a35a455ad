"""Plans a run before it starts: what a shard tries, how many clusters it uses, and how long it takes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Sequence

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.profiles import profile_of
from schedproof.documents.durations import parse_duration
from schedproof.foundation.errors import UsageError
from schedproof.foundation.processes.machine import available_memory, cores
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.run.dispatch import ATTACHING
from schedproof.run.durations import Durations
from schedproof.run.options import Shard

INSTANCE_MEMORY = 1 << 30
"""Bytes that a cluster and the process that tries clauses on it take at their peak (measured: 0.75 GiB)."""
_LEAST_JOBS = 2
"""Allowed on one core too: clauses wait for half of their time."""
_WORTH = 15.0
"""Seconds of clauses for which one more cluster pays."""
_STARTING = 8.0
"""Seconds from the command to the first clause."""
_NOTEWORTHY = 30.0
_LONG = 180.0
"""Seconds of a run from which more clusters may pay."""
_IDLE = 0.6
"""Share of the processors that must be idle: with less, further clusters would slow each other down."""


def is_selected(clause_id: str, clauses: Collection[str], profiles: Collection[str]) -> bool:
    """Whether a clause is judged if these clauses and profiles are requested. Invariants of every run always are."""
    if CATALOGUE[clause_id].always or not (clauses or profiles):
        return True
    return clause_id in clauses or profile_of(clause_id) in profiles


def as_tried(candidates: Iterable[Candidate], window: str | None) -> list[Candidate]:
    """Candidates as they are tried: with the user's window instead of the claimed window, if given.

    Raises:
        UsageError: it is no duration, or a candidate does not accept one.
    """
    if window is None:
        return list(candidates)
    try:
        seconds = parse_duration(window)
    except ValueError as error:
        raise UsageError(f"--window {window}: {error}", remedy="write for example --window 2s") from error
    if seconds <= 0:
        raise UsageError(f"--window {window}: expected more than 0 s", remedy="write for example --window 2s")
    return [candidate.with_window(seconds) for candidate in candidates]


@dataclasses.dataclass(frozen=True)
class Expectation:
    """Seconds that clauses take by themselves, and the claims that make them long, with the candidates' names."""

    clauses: tuple[float, ...]
    claims: tuple[str, ...]

    def seconds(self, jobs: int) -> float:
        """Seconds from the command to the report, with so many clusters."""
        if not self.clauses:
            return _STARTING
        return _STARTING + ATTACHING + max(*self.clauses, sum(self.clauses) / jobs)

    def text(self, jobs: int) -> str:
        """The expectation in words, as a report shows it."""
        seconds = self.seconds(jobs)
        about = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{math.ceil(seconds / 10) * 10} s"
        beside = f" with {jobs} clusters side by side" if jobs > 1 else ""
        reason = f" (mostly waiting for {', '.join(self.claims)})" if self.claims else ""
        return f"expected to take about {about}{beside}{reason}"


def expect(trials: Iterable[tuple[Candidate, str]], durations: Durations) -> Expectation:
    """Estimate how long it takes to try these candidates on these clauses."""
    seconds, claims = [], {}
    for candidate, clause_id in trials:
        clause, network = CATALOGUE[clause_id], candidate.claims.network
        seconds.append(durations.expected(candidate, clause))
        if network is None or seconds[-1] <= _NOTEWORTHY:
            continue
        refresh = f"refresh of {network.refresh:g} s"
        polled = refresh if network.refresh else "recording rules"
        if durations.polled_seconds(candidate, clause) > _NOTEWORTHY:
            claims[candidate.name, "refresh"] = (
                f"{candidate.name}'s claimed {polled}, before each question about scores"
            )
        elif profile_of(clause_id) == "network-aware" or durations.apart_seconds(candidate, clause):
            window = f"window of {network.window:g} s" + (f" and {refresh}" if network.refresh else "")
            apart = ", before each probe: own-placements counted" if network.own_placements == "counted" else ""
            claims[candidate.name, "window"] = f"{candidate.name}'s claimed {window}{apart}"
    return Expectation(tuple(seconds), tuple(claims.values()))


def part(of: Shard, trials: Sequence[tuple[Candidate, str]], durations: Durations) -> Collection[tuple[str, str]]:
    """The names of candidates and clauses that a shard tries.

    Shards are of like length by estimates, not by what was measured: each shard must come to the same parts, on
    whichever machine. What every clause needs is tried by each: whether pods are bound, the rules that a
    clause stands on, and what is judged over all of a run.
    """
    loads = [0.0] * of.count
    mine: dict[str, set[str]] = {}
    by_length = sorted(
        (-durations.estimated(candidate, CATALOGUE[clause]), candidate.name, clause)
        for candidate, clause in trials
        if not (CATALOGUE[clause].always or clause == BINDS)
    )
    for seconds, name, clause in by_length:
        place = loads.index(min(loads))
        loads[place] -= seconds
        if place == of.number - 1:
            mine.setdefault(name, set()).update((clause, *CATALOGUE[clause].stands_on))
    return {
        (candidate.name, clause)
        for candidate, clause in trials
        if clause in mine.get(candidate.name, ())
        or (candidate.name in mine and (CATALOGUE[clause].always or clause == BINDS))
    }


def fitting_jobs() -> int:
    """The number of clusters that this machine can run."""
    memory = available_memory()
    fitting = max(_LEAST_JOBS, cores())
    return max(1, fitting if memory is None else min(fitting, memory // INSTANCE_MEMORY))


def choose_jobs(trials: Iterable[tuple[Candidate, str]], durations: Durations) -> int:
    """The number of clusters that shorten a run of these candidates and clauses."""
    expectation = expect(trials, durations)
    return max(1, min(fitting_jobs(), math.ceil(sum(expectation.clauses) / _WORTH)))


def more_jobs(jobs: int, seconds: float, idle: float | None, longest: float = 0.0) -> str:
    """The advice for a run that mostly waited for its candidate; "" if more clusters would not have helped.

    Args:
        jobs: how many clusters there were.
        seconds: how long it took.
        longest: how long its longest clause took, which a single cluster tries.
        idle: the share of the processors that was idle meanwhile; None if unknown.
    """
    memory = available_memory()
    fitting = jobs if memory is None else jobs + int(memory // INSTANCE_MEMORY)
    better = min(2 * jobs, fitting)
    if seconds - longest < _LONG or idle is None or idle < _IDLE or better <= jobs:
        return ""
    return f"the processors were idle for {idle:.0%} of the time: --jobs {better} would be faster"
