"""A session: one cluster, candidates attached to it one after the other, clauses tried and judged."""

from __future__ import annotations

import contextlib
import datetime
import gc
import time
from collections.abc import Sequence

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.targets import build_targets_server
from schedproof.deploy.plugin_build.plugin_build import scheduler_binary
from schedproof.foundation.disk import DiskSpace, naming_full_disk
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED
from schedproof.foundation.progress import Progress
from schedproof.history.acts import Selected
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import applies, dependent, judge
from schedproof.judge.shown import Shown
from schedproof.judge.verdict import Verdict
from schedproof.run import follow_up
from schedproof.run.folders import new_folder, require_space
from schedproof.run.launch import KeptCluster, Settings, check, launch
from schedproof.run.result import CandidateResult, RunResult
from schedproof.stimulus.case import Case
from schedproof.stimulus.last_round import last_round
from schedproof.stimulus.scoring.scorers import build_scorers
from schedproof.stimulus.trial import Trial, describe_cluster


class Session:
    """Nothing is started before it is needed; `close` ends everything and may be called twice."""

    def __init__(self, settings: Settings, progress: Progress, kept: KeptCluster | None = None) -> None:
        """`kept`: has the cluster, where that outlives the session."""
        check(settings)
        self._kept = kept
        self.settings = settings
        self.result = RunResult(
            seed=settings.seed,
            cluster=settings.cluster,
            folder=settings.report,
            options=settings.options,
            effort=settings.effort,
            allow_skipped=settings.allow_skipped,
            started=datetime.datetime.now(datetime.UTC),
        )
        self._began_at = time.monotonic()
        self._progress = progress
        self._cluster: Cluster | None = None
        self._trial: Trial | None = None
        self._case: Case | None = None
        self.hopeless = False
        """Whether the current case has no running candidate that may bind its pods."""
        self._instance = 0

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
                with naming_full_disk(self.settings.report):
                    self._start_cluster()
            except SchedproofError as error:
                self.result.error = error
                raise
        assert self._cluster is not None
        return self._cluster

    def _start_cluster(self) -> None:
        if not self.settings.cluster_number:
            require_space(self.settings.report)
        candidates = [result.candidate for result in self.result.candidates.values()]
        # Without candidates it is not known yet what will be needed.
        readings = not candidates or any(candidate.needs_readings for candidate in candidates)
        obtain = launch if self._kept is None else self._kept.obtain
        self._cluster = obtain(self.settings, self._progress, readings=readings)
        # All of the run's evidence, that of its other clusters too, whose instances may be of the same candidate.
        self._cluster.host.sandbox.hide(self.settings.report)
        self.result.versions = dict(self._cluster.versions())
        self.result.timings["cluster"] = self._cluster.timings["total"]

    def select(self, candidate: Candidate, clauses: Sequence[str]) -> None:
        """Set which clauses are going to be tried on a candidate."""
        self.result.candidates[candidate.name] = CandidateResult(candidate, tuple(clauses))

    def untried(self, candidate: Candidate, clause: str) -> Verdict | None:
        """The verdict on a clause that needs no trial, recorded; None where one is needed."""
        verdict = applies(CATALOGUE[clause], candidate.claims, describe_cluster(self.cluster))
        if verdict is None:
            trial = self.trial(candidate)
            if CATALOGUE[clause].needs_bindings and trial.attachment.start_error is not None:
                follow_up.try_no_more(trial, "core/alive")
            if waits_for := trial.shown.waits_for(CATALOGUE[clause]):
                verdict = dependent(CATALOGUE[clause], waits_for)
        if verdict is not None:
            self.result.candidates[candidate.name].verdicts.append(verdict)
        return verdict

    def leaves_out(self, candidate: Candidate, clause: str) -> bool:
        """Whether a clause is left untried because another one failed: `--fail-fast`.

        What is judged over all of a run is judged, of a candidate that is there.
        """
        is_there = self._trial is not None and self._trial.candidate is candidate
        verdicts = (verdict for result in self.result.candidates.values() for verdict in result.verdicts)
        stopped = self.settings.fail_fast and any(verdict.did_not_pass for verdict in verdicts)
        return stopped and not (CATALOGUE[clause].last and is_there)

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
            folder, self._instance = new_folder(self.settings, candidate.name)
            cluster = self.cluster
            try:
                with naming_full_disk(self.settings.report):
                    self._compile(candidate, cluster)
                    with self._progress.step(f"attaching {candidate.name}"):
                        self._trial = Trial(
                            cluster,
                            candidate,
                            folder,
                            self.settings.seed,
                            self.settings.deploy,
                            self.settings.effort,
                            keep_going=self.settings.keep_going,
                        )
                    result.soak = self._trial.soak
                    if result.soak is not None:
                        result.soak.tell = self._progress.note
                    self._trial.recorder.add(
                        Selected(clauses=list(result.selected), allow_skipped=self.settings.allow_skipped)
                    )
            except SchedproofError as error:
                result.error = error
                if DiskSpace(self.settings.report).exit_error() is not None:  # nor is there space for any other's
                    self.result.error = error
                raise
            self.result.timings[f"attach {candidate.name}"] = self._trial.attach_seconds
        return self._trial

    def _compile(self, candidate: Candidate, cluster: Cluster) -> None:
        """Build all that it may need, so that the time is reported separately from attaching."""
        if isinstance(candidate.spec, PluginSpec) and not candidate.spec.stock:
            begin = time.monotonic()
            scheduler_binary(
                candidate.spec, name=candidate.name, kubernetes=cluster.kubernetes, progress=self._progress
            )
            self.result.timings[f"build {candidate.name}"] = time.monotonic() - begin
        if candidate.claims.network is not None:
            with contextlib.suppress(HostError):  # most candidates never ask about targets
                build_targets_server(self._progress)
        if any(clause.startswith("normalize/") for clause in self.result.candidates[candidate.name].selected):
            with contextlib.suppress(CandidateError):  # the clauses that need it will say so
                build_scorers(candidate, cluster.kubernetes, self._progress)

    def begin(self, candidate: Candidate, clause: str) -> Case:
        """Begin the trial of one clause."""
        trial = self.trial(candidate)
        # The record grows with the run, and each full garbage collection would go through it again: the taps, which
        # are on the candidate's path, would not respond for seconds on a busy machine.
        gc.freeze()
        shown = trial.shown
        self.hopeless = bool(shown.broken_for(CATALOGUE[clause]))
        if not shown.broken_by:  # otherwise the run ends before the candidate had the time to report on another pod
            trial.create_long_waiting()
        self._case = Case(trial, clause)
        self._began = time.monotonic()
        try:
            if not CATALOGUE[clause].at_start:
                trial.attachment.restart_if_ended()
        except SchedproofError as error:
            # Nothing that needs it can be shown any more; that it has ended is judged by itself.
            self.hopeless = True
            never = trial.attachment.start_error is not None
            what = "does not start (see core/alive)" if never else f"has ended, and does not start again: {error}"
            self._case.trouble(f"the candidate {what}")
        return self._case

    @property
    def shown(self) -> Shown:
        """What the present candidate has shown."""
        return self._trial.shown if self._trial is not None else Shown()

    def trouble(self, text: str) -> None:
        """Record that the current case's stimulus failed: its clause is `invalid`."""
        if self._case is not None:
            self._case.trouble(text)

    def asserted(self, text: str) -> None:
        """Record that an assertion of a user's own test failed."""
        if self._case is not None:
            self._case.asserted(text)

    def conclude(self, candidate: Candidate, clause: str) -> Verdict:
        """End the trial of a clause and judge its record."""
        with naming_full_disk(self.settings.report):
            trial = self.trial(candidate)
            if self._case is not None:
                if CATALOGUE[clause].last and not trial.is_over and not trial.shown.broken_by:
                    last_round(self._case)
                self._case.end()
                self.result.timings[f"{candidate.name} {clause}"] = time.monotonic() - self._began
            if CATALOGUE[clause].last:
                trial.over()
            verdicts = self.result.candidates[candidate.name].verdicts
            verdicts.append(self._judged(trial, clause))
            if self._case is not None and follow_up.explain(self._case, verdicts[-1], self._progress):
                verdicts[-1] = self._judged(trial, clause)
        follow_up.learn(trial, verdicts[-1], self._progress)
        return verdicts[-1]

    def _judged(self, trial: Trial, clause: str) -> Verdict:
        return judge(trial.history(), clause).model_copy(update={"instance": self._instance})

    def clean_up(self) -> None:
        """Restore the cluster's state before the case. Where that fails, nothing more can be tried on this cluster."""
        case, self._case = self._case, None
        if case is None or self.result.error is not None:
            return
        verdicts = self.result.candidates[case.trial.candidate.name].verdicts
        try:
            follow_up.close(case, next((verdict for verdict in verdicts[-1:] if verdict.clause == case.clause), None))
        except SchedproofError as error:
            self.result.error = error
            raise

    def _close_trial(self) -> None:
        trial, self._trial = self._trial, None
        if trial is None:
            return
        try:
            with naming_full_disk(self.settings.report):
                trial.close()
        except SchedproofError as error:
            # Its last acts could not be recorded. Everything is down all the same, and the run has its reason to fail.
            self.result.error = self.result.error or error
        # The record is no longer needed; with `--watch`, a process has many.
        del trial
        gc.unfreeze()
        gc.collect()

    def close(self) -> None:
        try:
            self._close_trial()
        finally:
            if self._cluster is not None:
                self._close_cluster()
            self.result.seconds = time.monotonic() - self._began_at

    def _close_cluster(self) -> None:
        assert self._cluster is not None
        cluster, self._cluster = self._cluster, None
        if self._kept is not None:
            if self.result.error is not None:
                self._kept.close()  # whatever it was: the next run has a new one
            return
        if self.result.exit_code in (EXIT_FAILED, EXIT_ERROR):
            cluster.export_logs(self.settings.cluster_logs / "exported")
        begin = time.monotonic()
        try:
            cluster.close()
        except SchedproofError as error:
            # Something may be left. What was judged is judged all the same, and the run has its reason to fail.
            self.result.error = self.result.error or error
        self.result.timings["close"] = time.monotonic() - begin
