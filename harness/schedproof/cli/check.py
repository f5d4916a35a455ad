"""`schedproof check candidate.yaml`: all that can be said of a candidate without a cluster."""

from __future__ import annotations

import collections
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.candidates.claims import profile_of
from schedproof.candidates.deploy.executable import program_problem
from schedproof.candidates.deploy.placeholders import fill_known, placeholders_in
from schedproof.candidates.kinds import CommandSpec
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.judge import why_unclaimed
from schedproof.parallel.durations import Durations
from schedproof.parallel.plan import choose_jobs, expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedproof.candidates.descriptor.descriptor import Candidate

__all__ = ["check"]

_INTERPRETERS = ("python", "sh", "bash", "node", "ruby", "perl")


def check(candidate: Candidate) -> Iterator[str]:
    """What it is and what it would be held to, a line each.

    Raises:
        UsageError: it could not be started as it is. What candidate.yaml itself has wrong was found when it was read.
    """
    if isinstance(candidate.spec, CommandSpec):
        _check_command(candidate, candidate.spec)
    if candidate.scoring is not None:
        _check_scoring(candidate)
    claimed = [clause for clause in CATALOGUE.values() if not why_unclaimed(clause, candidate.claims)]
    profiles = collections.Counter(profile_of(clause.id) for clause in claimed)
    yield f"{candidate.path}: {candidate.name}, {candidate.kind}, schedulerName {candidate.scheduler_name}"
    yield f"  {len(claimed)} clauses: " + ", ".join(f"{number} {profile}" for profile, number in profiles.items())
    if candidate.claims.features:
        yield f"  features: {', '.join(candidate.claims.features)}"
    unclaimed = [
        feature
        for feature, clauses in CLAIMABLE.features.items()
        if feature not in candidate.claims.features and any(profile_of(one) in profiles for one in clauses)
    ]
    if unclaimed:
        yield f"  could also be claimed: {', '.join(unclaimed)}"
    for exclusion in candidate.exclusions:
        yield f"  excluded: {exclusion.clause} ({exclusion.reason})"
    durations = Durations()
    jobs = choose_jobs([candidate], (), (), durations)
    yield f"  a run is {expect([(candidate, clause.id) for clause in claimed], durations).text(jobs)}"


def _check_command(candidate: Candidate, spec: CommandSpec) -> None:
    command = [fill_known(part, candidate.own_values()) for part in spec.command]
    program = command[0]
    if placeholders_in(program):
        return  # only a cluster has its value
    field = f"{candidate.path}: spec.{candidate.kind}.command"
    problem, fix = program_problem(program, spec.workdir, os.environ.get("PATH", os.defpath))
    if problem:
        raise UsageError(f"{field}: {problem}", remedy=fix)
    script = next((part for part in command[1:] if not part.startswith("-")), "")
    is_script = Path(program).name.rstrip("0123456789.") in _INTERPRETERS and Path(script).suffix in (".py", ".sh")
    if is_script and "-c" not in command and not (spec.workdir / script).exists():
        raise UsageError(
            f"{field}: there is no file {script!r} in {spec.workdir}",
            remedy='name one that is there; "{here}" is the folder of candidate.yaml',
        )


def _check_scoring(candidate: Candidate) -> None:
    scoring = candidate.scoring
    assert scoring is not None
    # Found, not imported: what a candidate's code does is not for this command to try.
    if PathFinder.find_spec(scoring.module.partition(".")[0], [str(scoring.folder), *sys.path]) is None:
        raise UsageError(
            f"{candidate.path}: spec.scoring.python: there is no module {scoring.module} in {scoring.folder}",
            remedy="name one that can be imported from there, as module:function",
        )
