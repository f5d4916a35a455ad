"""A session: one cluster, candidates attached to it one after the other, clauses tried and judged."""

from __future__ import annotations

import contextlib
import shutil
import time
from typing import TYPE_CHECKING

from schedproof.candidates.kinds import PluginSpec
from schedproof.candidates.plugin_build import scheduler_binary
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError, UsageError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import applies, judge
from schedproof.launch import check, launch
from schedproof.report.result import CandidateResult, RunResult
from schedproof.stimulus.case import Case
from schedproof.stimulus.extender import ExtenderCase
from schedproof.stimulus.network import NetworkCase
from schedproof.stimulus.plugin import PluginCase
from schedproof.stimulus.scorers import build_scorers
from schedproof.stimulus.scoring import ScoringCase
from schedproof.stimulus.trial import Trial, describe_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.clusters.cluster import Cluster
    from schedproof.foundation.progress import Progress
    from schedproof.judge.verdict import Verdict
    from schedproof.launch import Settings

__all__ = ["Session"]

_LEAST_FREE = 64 << 20
"""Bytes that must be free in the report folder: a run of twenty clauses writes some 10 MB."""


_CASES: dict[str, type[Case]] = {
    "network": NetworkCase, "extender": ExtenderCase, "plugin": PluginCase, "normalize": ScoringCase
}  # fmt: skip
"""By the first part of a clause's id."""


class Session:
    """Nothing is started before it is needed; `close` ends everything and may be called twice."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        check(settings)
        self.settings = settings
        self.result = RunResult(
            seed=settings.seed, cluster=settings.cluster, folder=settings.report, options=settings.options
        )
        self._progress = progress
        self._cluster: Cluster | None = None
        self._trial: Trial | None = None
        self._case: Case | None = None
        self._hopeless = False

    @property
    def cluster(self) -> Cluster:
        """The cluster, started at the first call.

        Raises:
            SchedproofError: it cannot be started here; nothing that needs it can be tried.
        """
        if self.result.error is not None:
            raise self.result.error
        if self._cluster is None:
            try:
                self._start_cluster()
            except SchedproofError as error:
                self.result.error = error
                raise
        assert self._cluster is not None
        return self._cluster

    def _start_cluster(self) -> None:
        _require_space(self.settings.report)
        self._cluster = launch(self.settings, self._progress)
        self.result.versions = dict(self._cluster.versions())
        self.result.timings["cluster"] = self._cluster.timings["total"]

    def select(self, candidate: Candidate, clauses: Sequence[str]) -> None:
        """Say what is going to be tried on a candidate."""
        self.result.candidates[candidate.name] = CandidateResult(candidate, tuple(clauses))

    def untried(self, candidate: Candidate, clause: str) -> Verdict | None:
        """The verdict on a clause that needs no trial, recorded; None where one is needed."""
        verdict = applies(CATALOGUE[clause], candidate.claims, describe_cluster(self.cluster))
        if verdict is not None:
            self.result.candidates[candidate.name].verdicts.append(verdict)
        return verdict

    def trial(self, candidate: Candidate) -> Trial:
        """The candidate's trial; another candidate's is closed first.

        Raises:
            SchedproofError: it cannot be brought up; the same error again at every further call.
        """
        result = self.result.candidates[candidate.name]
        if result.error is not None:
            raise result.error
        if self._trial is not None and self._trial.candidate is not candidate:
            self._close_trial()
        if self._trial is None:
            folder = self.settings.report / "candidates" / candidate.name
            cluster = self.cluster
            try:
                self._compile(candidate, cluster)
                with self._progress.step(f"attaching {candidate.name}"):
                    self._trial = Trial(
                        cluster, candidate, folder, self.settings.seed, self.settings.deploy, self.settings.effort
                    )
            except SchedproofError as error:
                result.error = error
                raise
            self._trial.recorder.add("selected", clauses=list(result.selected))
            self.result.timings[f"attach {candidate.name}"] = self._trial.attach_seconds
        return self._trial

    def _compile(self, candidate: Candidate, cluster: Cluster) -> None:
        """Have a plugin's scheduler built here, where it can be told how long that takes, and not while attaching."""
        if isinstance(candidate.spec, PluginSpec) and not candidate.spec.stock:
            begin = time.monotonic()
            scheduler_binary(
                candidate.spec, name=candidate.name, kubernetes=cluster.kubernetes, progress=self._progress
            )
            self.result.timings[f"build {candidate.name}"] = time.monotonic() - begin
        if any(clause.startswith("normalize/") for clause in self.result.candidates[candidate.name].selected):
            with contextlib.suppress(CandidateError):  # the clauses that need it will say so
                build_scorers(candidate, cluster.kubernetes, self._progress)

    def begin(self, candidate: Candidate, clause: str) -> Case:
        """Begin the trial of one clause."""
        trial = self.trial(candidate)
        self._hopeless = False
        self._case = _CASES.get(clause.partition("/")[0], Case)(trial, clause)
        self._began = time.monotonic()
        try:
            if not CATALOGUE[clause].at_start:
                trial.attachment.restart_if_ended()
        except SchedproofError as error:
            # Nothing that needs it can be shown any more; that it has ended is judged by itself.
            self._hopeless = True
            never = trial.attachment.start_error is not None
            what = "does not start (see core/alive)" if never else f"has ended, and does not start again: {error}"
            self._case.trouble(f"the candidate {what}")
        return self._case

    @property
    def hopeless(self) -> bool:
        """Whether there is no candidate that the present case could be tried on."""
        return self._hopeless

    def trouble(self, text: str) -> None:
        """The stimulus of the present case broke down: its clause is `invalid`."""
        if self._case is not None:
            self._case.trouble(text)

    def conclude(self, candidate: Candidate, clause: str) -> Verdict:
        """End the trial of a clause and judge its record."""
        trial = self.trial(candidate)
        if self._case is not None:
            if CATALOGUE[clause].last and not trial.is_over:
                self._case.last_round()
            self._case.end()
            self.result.timings[f"{candidate.name} {clause}"] = time.monotonic() - self._began
        if CATALOGUE[clause].last:
            trial.over()
        verdict = judge(trial.history(), clause)
        self.result.candidates[candidate.name].verdicts.append(verdict)
        return verdict

    def clean_up(self) -> None:
        """Put the world back as it was before the case. Where that fails, nothing more can be tried in this world."""
        case, self._case = self._case, None
        if case is None or self.result.error is not None:
            return
        try:
            case.close()
        except SchedproofError as error:
            self.result.error = error
            raise

    def _close_trial(self) -> None:
        trial, self._trial = self._trial, None
        if trial is None:
            return
        try:
            trial.close()
        except SchedproofError as error:
            # Its last acts could not be recorded. Everything is down all the same, and the run has its reason to fail.
            self.result.error = self.result.error or error

    def close(self) -> None:
        try:
            self._close_trial()
        finally:
            if self._cluster is not None:
                self._close_cluster()

    def _close_cluster(self) -> None:
        assert self._cluster is not None
        cluster, self._cluster = self._cluster, None
        if self.result.exit_code in (EXIT_FAILED, EXIT_ERROR):
            cluster.export_logs(self.settings.report / "cluster" / "exported")
        begin = time.monotonic()
        try:
            cluster.close()
        except SchedproofError as error:
            # Something may be left. What was judged is judged all the same, and the run has its reason to fail.
            self.result.error = self.result.error or error
        self.result.timings["close"] = time.monotonic() - begin


def _require_space(folder: Path) -> None:
    """Fail now, and not in the middle of a run, where the evidence cannot be kept."""
    if (folder / "candidates").exists():
        raise UsageError(
            f"{folder} holds the evidence of an earlier run, which would be mixed up with this one's",
            remedy="choose another folder with --report, or remove that one",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise HostError(
            f"cannot keep evidence in {folder}: {error.strerror}",
            remedy="choose another folder with --report",
        ) from error
    if free < _LEAST_FREE:
        raise HostError(
            f"only {free >> 20} MiB are free in {folder}; the evidence of a run needs {_LEAST_FREE >> 20} MiB",
            remedy="free some space, or choose another folder with --report",
        )
