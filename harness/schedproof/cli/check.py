"""`schedproof check candidate.yaml`: checks a candidate without a cluster."""

from __future__ import annotations

import collections
import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.descriptor.features import contradictions, suits
from schedproof.candidate.kinds import CommandSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.placeholders import fill_known, placeholders_in
from schedproof.candidate.profiles import profile_of
from schedproof.candidate.scheduler_config import (
    DEFAULT_SCHEDULER,
    SHARED_LEASE,
    elects_by_shared_lease,
    served_by,
)
from schedproof.candidate.score_weights import Share, own_share
from schedproof.candidate.surroundings import Scoring
from schedproof.deploy.executable import program_problem
from schedproof.deploy.install import survey
from schedproof.deploy.plugin_build.program import program_of
from schedproof.documents.problems import DescriptorError, Place, Problem
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.judge import why_unclaimed
from schedproof.run.durations import Durations
from schedproof.run.plan import choose_jobs, expect

_INTERPRETERS = ("python", "sh", "bash", "node", "ruby", "perl")


def problems_of(error: UsageError, text: str) -> tuple[Problem, ...]:
    """The problems of a candidate given on the command line; at least one."""
    if isinstance(error, DescriptorError):
        return error.problems
    code = "not-usable" if Path(text).exists() else "unknown-candidate"
    return (Problem(Place(text), "", code, error.message, error.remedy),)


def check(candidate: Candidate) -> Iterator[str]:
    """Yield lines about a candidate: its kind and name, and its claims.

    Raises:
        DescriptorError: it could not be started as it is. Errors in candidate.yaml itself are raised when it is read.
    """
    problems = [
        *(_command_problems(candidate, candidate.spec) if isinstance(candidate.spec, CommandSpec) else ()),
        *(_scoring_problems(candidate, candidate.scoring) if candidate.scoring is not None else ()),
    ]
    if problems:
        raise DescriptorError(problems)
    claimed = [clause for clause in CATALOGUE.values() if not why_unclaimed(clause, candidate.claims)]
    profiles = collections.Counter(profile_of(clause.id) for clause in claimed)
    yield f"{candidate.path}: {candidate.name}, {candidate.kind}, schedulerName {candidate.scheduler_name}"
    yield f"  {len(claimed)} clauses: " + ", ".join(f"{number} {profile}" for profile, number in profiles.items())
    if candidate.claims.features:
        yield f"  features: {', '.join(candidate.claims.features)}"
    unclaimed = [
        feature
        for feature, clauses in CLAIMABLE.features.items()
        if feature not in candidate.claims.features
        and any(profile_of(clause_id) in profiles for clause_id in clauses)
        and suits(feature, candidate.kind)
        and not any(contradictions(feature, candidate.spec, candidate.files, candidate.claims))
    ]
    if unclaimed:
        yield f"  could also be claimed: {', '.join(unclaimed)}"
    if isinstance(candidate.spec, PluginSpec) and (program := program_of(candidate.spec)):
        yield f"  built already: {program}"
    yield from (f"  {line}" for line in survey(candidate))
    for warning in _warnings(candidate):
        yield f"  warning: {warning}"
    for exclusion in candidate.exclusions:
        until = f", until {exclusion.until}" if exclusion.until is not None else ""
        yield f"  excluded: {exclusion.clause} ({exclusion.reason}{until})"
    durations = Durations()
    jobs = choose_jobs([(candidate, clause) for clause in CATALOGUE], durations)
    yield f"  a run is {expect([(candidate, clause.id) for clause in claimed], durations).text(jobs)}"


def _warnings(candidate: Candidate) -> Iterator[str]:
    """Warnings about settings that are valid and probably unintended."""
    written, spec, claims = candidate.scheduler_config, candidate.spec, candidate.claims
    beside_default = DEFAULT_SCHEDULER not in served_by(candidate)
    if written is not None and beside_default and elects_by_shared_lease(written):
        yield (
            f"schedulerConfig uses the default leader-election lease, {SHARED_LEASE}, which the cluster's own "
            "scheduler holds: the candidate never becomes leader; fix: leaderElection: {leaderElect: false}, or a "
            "resourceName of its own"
        )
    if isinstance(spec, ExtenderSpec) and spec.config.overflows:
        yield (
            f"extender.config.weight: a score of 10 times the weight {spec.config.weight} times 10 overflows "
            "int64, and the sum is meaningless; fix: a weight of 200 outweighs all default plugins"
        )
    elif "network-aware" in claims.profiles and claims.network is not None and claims.network.priority == "first":
        yield from _outweighed(own_share(candidate))


def _outweighed(share: Share | None) -> Iterator[str]:
    """The warning that other scores outweigh traffic, although the candidate claims `priority: first`."""
    if share is None or share.step > share.against:
        return
    effect = f"traffic decides only where its scores differ by {share.decisive} or more"
    if share.most <= share.against:
        effect = "traffic only breaks ties"
    others = ", ".join(f"{name} {points}" for name, points in share.others.items())
    yield (
        f"network.priority is first, but {share.field} is {share.weight}: a difference of 1 between its scores counts "
        f"{share.step} points, the largest {share.most}, and all other scores up to {share.against} ({others}): "
        f"{effect}; fix: a weight of {share.enough} or more, or network.priority: tie-breaker"
    )


def _command_problems(candidate: Candidate, spec: CommandSpec) -> Iterator[Problem]:
    command = [fill_known(part, candidate.own_values()) for part in spec.command]
    program = command[0]
    if placeholders_in(program):
        return  # only a cluster has its value
    place, field = Place(str(candidate.path)), f"spec.{candidate.kind}.command"
    problem, fix = program_problem(program, spec.workdir, os.environ.get("PATH", os.defpath))
    if problem:
        yield Problem(place, field, "no-such-program", problem, fix)
        return
    script = next((part for part in command[1:] if not part.startswith("-")), "")
    is_script = Path(program).name.rstrip("0123456789.") in _INTERPRETERS and Path(script).suffix in (".py", ".sh")
    if is_script and "-c" not in command and not (spec.workdir / script).exists():
        message = f"the file {script!r} does not exist in {spec.workdir}"
        fix = 'name an existing file; "{here}" stands for the folder of candidate.yaml'
        yield Problem(place, field, "no-such-file", message, fix)


def _scoring_problems(candidate: Candidate, scoring: Scoring) -> Iterator[Problem]:
    entry = scoring.python
    # Find the module without importing it: this command must not run a candidate's code.
    if PathFinder.find_spec(entry.module.partition(".")[0], [str(entry.folder), *sys.path]) is None:
        message = f"the module {entry.module} does not exist in {entry.folder}"
        fix = "name a module that can be imported from that folder, as module:function"
        yield Problem(Place(str(candidate.path)), "spec.scoring.python", "no-such-module", message, fix)
