"""The result of a run, and what it means for the exit code."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.profiles import profile_of
from schedproof.foundation.disk import naming_full_disk
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.foundation.redaction import SECRETS
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.causes import Cause, causes_of
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.own import is_own
from schedproof.judge.verdict import Verdict
from schedproof.normalization.effort import Effort
from schedproof.recording.soak import Soak
from schedproof.run.document import (
    SCHEMA,
    CandidateReport,
    CauseReport,
    ProfileReport,
    Report,
    RunReport,
    Window,
)
from schedproof.run.leaks import SoakReport, soak_report


@dataclasses.dataclass
class CandidateResult:
    """What became of one candidate. `error` is set if it did not start."""

    candidate: Candidate
    selected: tuple[str, ...]
    verdicts: list[Verdict] = dataclasses.field(default_factory=list)
    error: SchedproofError | None = None
    shard: str = ""
    """Which part of a run this is, such as `2/3`; empty if it is all of it."""
    of_all_shards: tuple[str, ...] = ()
    """What all shards are to judge."""
    soak: Soak | None = None
    """The samples of its processes, if they were asked for."""

    @property
    def soaked(self) -> SoakReport | None:
        """What these samples show; None if they were not asked for."""
        return soak_report(self.soak) if self.soak is not None else None

    @property
    def untried(self) -> list[str]:
        """What it claims and was to be judged, and was not: the run ended before its turn."""
        tried = {verdict.clause for verdict in self.verdicts}
        claims = self.candidate.claims
        return [c for c in self.selected if c not in tried and not why_unclaimed(CATALOGUE[c], claims)]

    @property
    def not_asked_for(self) -> list[str]:
        """What it claims and was not to be judged, as a selection by clauses or profiles leaves it out."""
        claims = self.candidate.claims
        asked = {*self.selected, *self.of_all_shards}
        return [c for c in CATALOGUE if c not in asked and not why_unclaimed(CATALOGUE[c], claims)]

    @property
    def selection(self) -> list[str]:
        """The options that select what was selected of its claims; none where that was all."""
        if not self.not_asked_for:
            return []
        claims = self.candidate.claims
        asked = [c for c in self.selected if not (CATALOGUE[c].always or why_unclaimed(CATALOGUE[c], claims))]
        left = {profile_of(clause) for clause in self.not_asked_for}
        whole = dict.fromkeys(profile for clause in asked if (profile := profile_of(clause)) not in left)
        clauses = [clause for clause in asked if profile_of(clause) not in whole]
        return [*(f"--profile={profile}" for profile in whole), *(f"--clause={clause}" for clause in clauses)]

    @property
    def skipped(self) -> list[Verdict]:
        """Required clauses that this cluster cannot try."""
        skipped = (verdict for verdict in self.verdicts if verdict.outcome == "skipped" and not verdict.depends_on)
        return [verdict for verdict in skipped if verdict.level == "required"]

    @property
    def inapplicable(self) -> list[Verdict]:
        """Claimed clauses that turned out not to apply, as one about rights where a candidate sends no request."""
        unclaimed = (verdict for verdict in self.verdicts if verdict.outcome == "not-claimed")
        return [v for v in unclaimed if not why_unclaimed(CATALOGUE[v.clause], self.candidate.claims)]

    @property
    def dependent(self) -> list[Verdict]:
        """What was not tried because of a clause that failed."""
        return [verdict for verdict in self.verdicts if verdict.depends_on]

    @property
    def unjudged_profiles(self) -> list[str]:
        """Claimed profiles that were to be judged, and no clause of which applied after all.

        None if the candidate did not start: that says all.
        """
        if self.error is not None:
            return []
        outcomes: dict[str, set[str]] = {}
        for verdict in self.verdicts:
            outcomes.setdefault(verdict.profile, set()).add(verdict.outcome)
        claimed = self.candidate.claims.profiles
        return [profile for profile, found in outcomes.items() if found == {"not-claimed"} and profile in claimed]

    @property
    def shows_nothing(self) -> bool:
        """Whether something that was asked for was not tried, or nothing was."""
        tried = any(verdict.outcome not in ("not-claimed", "skipped") for verdict in self.verdicts)
        return bool(self.untried or self.unjudged_profiles) or not tried

    @property
    def causes(self) -> list[Cause]:
        """Of what did not pass, in the order in which to fix them."""
        return causes_of(self.verdicts)

    def document(self, reproduce: Callable[[Candidate, str], str]) -> CandidateReport:
        """Its part of report.json; `reproduce`: see `RunResult`."""
        network, claimed = self.candidate.claims.network, self.candidate.claimed_window
        causes = [
            CauseReport(
                kind=cause.kind, about=cause.about, title=cause.title, text=cause.text, remedy=cause.remedy,
                clauses=cause.clauses, shown_by=cause.shown_by.clause,
                reproduce=reproduce(self.candidate, cause.shown_by.clause),
            )
            for cause in self.causes
        ]  # fmt: skip
        return CandidateReport(
            name=self.candidate.name,
            kind=self.candidate.kind,
            window=Window(claimed=claimed, tried=network.window) if network and claimed is not None else None,
            profiles=profile_results(self.verdicts),
            causes=causes,
            clauses=self.verdicts,
            error=str(self.error or ""),
            soak=self.soaked,
        )


@dataclasses.dataclass
class RunResult:
    """`timings` are seconds."""

    seed: int
    cluster: str
    folder: Path
    candidates: dict[str, CandidateResult] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    timings: dict[str, float] = dataclasses.field(default_factory=dict)
    error: SchedproofError | None = None
    options: tuple[str, ...] = ()
    """See `launch.Settings`."""
    effort: Effort = dataclasses.field(default_factory=Effort)
    """How many cases property tests of scores try."""
    allow_skipped: bool = False
    """Whether what this cluster cannot try may stay untried."""
    jobs: int = 1
    """How many clusters were there side by side."""
    started: datetime.datetime | None = None
    """When the run began."""
    seconds: float | None = None
    """How long it took, once it is over."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing came of it: there is nothing to report."""
        return not any(
            result.verdicts or result.error or (result.soak is not None and result.soak.samples)
            for result in self.candidates.values()
        )

    def fail(self, error: SchedproofError) -> None:
        """Record that the run was aborted. The first reason is kept."""
        self.error = self.error or error

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """A context whose errors abort the run."""
        try:
            with naming_full_disk(self.folder):
                yield
        except SchedproofError as error:
            self.fail(error)
            raise

    def reproduce(self, candidate: Candidate, clause: str) -> str:
        """The command that tries a clause again; passwords in it are left to the reader.

        It tries the clause alone, on a candidate that was just started; all that was tried, where the clause is judged
        over all of a run.
        """
        if CATALOGUE[clause].last:
            return self._run_again(candidate)
        options = SECRETS.redact_all([*self.options])
        if is_own(clause):
            name = clause.partition("/")[2].partition("[")[0].replace("-", "_")
            ours = [f"--candidate={candidate.path}", f"--seed={self.seed}", *options]
            return shlex.join(
                ["pytest", "-k", f"test_{name}", *(f"--sched-{option.removeprefix('--')}" for option in ours)]
            )
        return shlex.join(
            ["schedproof", "run", str(candidate.path), "--clause", clause, "--seed", str(self.seed), *options]
        )

    def reproduce_among(self, candidate: Candidate, clause: str) -> str:
        """The command that tries it on an instance that has been through other clauses, as it was in this run.

        "" where it was tried on its own, or `reproduce` says all.
        """
        if CATALOGUE[clause].last or is_own(clause):
            return ""
        verdicts = self.candidates[candidate.name].verdicts
        instances = {verdict.instance for verdict in verdicts if verdict.clause == clause}
        others = any(
            verdict.instance in instances
            and verdict.clause != clause
            and verdict.outcome not in ("not-claimed", "skipped")
            and not CATALOGUE[verdict.clause].last
            for verdict in verdicts
        )
        return self._run_again(candidate) if others else ""

    def _run_again(self, candidate: Candidate) -> str:
        """The command that tries again all that was selected, one clause after the other on one instance."""
        if self.effort.soak is not None:
            return self.soak_again(candidate)
        options = SECRETS.redact_all([*self.options])
        asked = self.candidates[candidate.name].selection
        return shlex.join(
            ["schedproof", "run", str(candidate.path), *asked, "--seed", str(self.seed), "--jobs", "1", *options]
        )

    def soak_again(self, candidate: Candidate) -> str:
        """The command that soaks a candidate again."""
        minutes = (self.effort.soak or 0.0) / 60
        options = ["--minutes", f"{minutes:g}", "--seed", str(self.seed), *SECRETS.redact_all([*self.options])]
        return shlex.join(["schedproof", "soak", str(candidate.path), *options])

    @property
    def durations(self) -> list[tuple[Candidate, str, float]]:
        """Seconds that the clauses took that passed: a failure takes as long as its deadline."""
        return [
            (result.candidate, verdict.clause, self.timings[timing])
            for name, result in self.candidates.items()
            for verdict in result.verdicts
            if verdict.outcome == "passed" and (timing := f"{name} {verdict.clause}") in self.timings
        ]

    @property
    def exit_code(self) -> int:
        """0: all required clauses that are claimed passed. 1: one failed, an exclusion is stale, or a soak shows a
        leak. 2: a candidate did not start, or the environment failed. 3: nothing failed, but something stayed
        unproved: it could not be proved, was not tried, was skipped without leave, a soak allows no statement about
        leaks, or there was nothing to try in the first place.
        """
        results = self.candidates.values()
        verdicts = [verdict for result in results for verdict in result.verdicts]
        if self.error is not None or any(result.error is not None for result in results):
            return EXIT_ERROR
        soaked = [report for result in results if (report := result.soaked) is not None]
        if any(verdict.fails_run for verdict in verdicts) or any(report.leaks for report in soaked):
            return EXIT_FAILED
        if not results or any(result.shows_nothing for result in results):
            return EXIT_UNPROVED
        missing = any(result.skipped for result in results) or any(report.unproved for report in soaked)
        skipped = missing and not self.allow_skipped
        return EXIT_UNPROVED if skipped or any(verdict.unproved for verdict in verdicts) else EXIT_PASSED

    def document(self) -> Report:
        """report.json."""
        run = RunReport(
            seed=self.seed,
            cluster=self.cluster,
            jobs=self.jobs,
            versions=self.versions,
            timings={name: round(seconds, 3) for name, seconds in self.timings.items()},
            started=self.started.isoformat(timespec="seconds") if self.started is not None else "",
            seconds=round(self.seconds, 3) if self.seconds is not None else None,
            exit_code=self.exit_code,
            error=str(self.error or ""),
        )
        return Report(
            schema=SCHEMA, run=run, candidates=[result.document(self.reproduce) for result in self.candidates.values()]
        )


def profile_results(verdicts: list[Verdict]) -> dict[str, ProfileReport]:
    """What came of each profile of which something is claimed."""
    grouped: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault(verdict.profile, []).append(verdict)
    results = {}
    for profile, members in grouped.items():
        claimed = [verdict for verdict in members if verdict.outcome != "not-claimed"]
        if not claimed:
            continue
        result: Literal["success", "partial", "failure"] = "partial"
        if any(verdict.fails_run for verdict in claimed):
            result = "failure"
        elif all(verdict.outcome == "passed" for verdict in claimed if verdict.level == "required"):
            result = "success"
        counts = collections.Counter(verdict.outcome for verdict in members)
        results[profile] = ProfileReport(result=result, statistics=dict(counts))
    return results
