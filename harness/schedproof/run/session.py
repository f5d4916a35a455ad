"""A session: one cluster, and candidates attached to it one after the other."""

from __future__ import annotations

import contextlib
import datetime
import gc
import time

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.existing.access import in_cluster
from schedproof.clusters.targets import build_targets_server
from schedproof.deploy.plugin_build.plugin_build import scheduler_binary
from schedproof.deploy.plugin_build.program import program_of
from schedproof.foundation.disk import DiskSpace, naming_full_disk
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED
from schedproof.foundation.progress import Progress
from schedproof.history.acts import Selected
from schedproof.run.folders import new_folder, require_space
from schedproof.run.launch import KeptCluster, Settings, check, launch
from schedproof.run.result import RunResult
from schedproof.stimulus.scoring.scorers import build_scorers
from schedproof.stimulus.trial import Trial


class Session:
    """Nothing is started before it is needed; `close` ends everything and may be called twice."""

    def __init__(self, settings: Settings, progress: Progress, kept: KeptCluster | None = None) -> None:
        """`kept`: has the cluster, where that outlives the session."""
        check(settings)
        self._kept = kept
        self.settings = settings
        self.result = RunResult(
            settings.seed, settings.cluster, settings.report, options=settings.options, effort=settings.effort,
            allow_skipped=settings.allow_skipped, started=datetime.datetime.now(datetime.UTC),
        )  # fmt: skip
        self._began_at = time.monotonic()
        self.progress = progress
        self._cluster: Cluster | None = None
        self._trial: Trial | None = None
        self.instance = 0
        """The number of the candidate's instance, if several are tried side by side."""

    @property
    def cluster(self) -> Cluster:
        """The cluster, started at the first call.

        Raises:
            SchedproofError: it cannot be started here; nothing that needs it can be tried.
        """
        if self.result.error is not None:
            raise self.result.error
        if self._cluster is None:
            with self.result.failing():
                self._start_cluster()
        assert self._cluster is not None
        return self._cluster

    def _start_cluster(self) -> None:
        if not self.settings.cluster_number:
            require_space(self.settings.report)
        candidates = [result.candidate for result in self.result.candidates.values()]
        # Without candidates it is not known yet what will be needed.
        readings = not candidates or any(candidate.needs_readings for candidate in candidates)
        obtain = launch if self._kept is None else self._kept.obtain
        self._cluster = obtain(self.settings, self.progress, readings=readings)
        # All of the run's evidence, that of its other clusters too, whose instances may be of the same candidate.
        self._cluster.host.sandbox.hide(self.settings.report)
        self.result.versions = dict(self._cluster.versions())
        self.result.timings["cluster"] = self._cluster.timings["total"]

    def is_attached(self, candidate: Candidate) -> bool:
        """Whether a candidate is attached to the cluster now."""
        return self._trial is not None and self._trial.candidate is candidate

    def trial(self, candidate: Candidate) -> Trial:
        """The candidate's trial; another candidate's is closed first.

        Raises:
            SchedproofError: it cannot be brought up; the same error again at every further call.
        """
        result, settings = self.result.candidates[candidate.name], self.settings
        if result.error is not None:
            raise result.error
        if self._trial is not None and self._trial.candidate is not candidate:
            self._close_trial()
        if self._trial is None:
            folder, self.instance = new_folder(settings, candidate.name)
            cluster = self.cluster
            try:
                with naming_full_disk(settings.report):
                    self._compile(candidate, cluster)
                    with self.progress.step(f"attaching {candidate.name}"):
                        self._trial = Trial(
                            cluster, candidate, folder, settings.seed, settings.deployed, settings.effort,
                            keep_going=settings.keep_going,
                        )  # fmt: skip
                    self.result.versions |= self._trial.attachment.versions
                    result.soak = self._trial.soak
                    if result.soak is not None:
                        result.soak.tell = self.progress.note
                    selected = Selected(
                        clauses=[*result.selected],
                        shard=result.shard,
                        of_all_shards=[*result.of_all_shards],
                        allow_skipped=settings.allow_skipped,
                    )
                    self._trial.recorder.add(selected)
            except SchedproofError as error:
                result.error = error
                if DiskSpace(settings.report).exit_error() is not None:  # nor is there space for any other's
                    self.result.error = error
                raise
            self.result.timings[f"attach {candidate.name}"] = self._trial.attach_seconds
        return self._trial

    def _compile(self, candidate: Candidate, cluster: Cluster) -> None:
        """Build all that it may need, so that the time is reported separately from attaching."""
        # In a pod nothing is compiled, and the plugin's own image is all that there is of it.
        if isinstance(candidate.spec, PluginSpec) and not candidate.spec.stock and not in_cluster():
            begin = time.monotonic()
            scheduler_binary(candidate.spec, name=candidate.name, kubernetes=cluster.kubernetes, progress=self.progress)
            self.result.timings[f"build {candidate.name}"] = time.monotonic() - begin
            program = program_of(candidate.spec)
            if program is not None and (unsuited := program.unsuited(cluster.kubernetes)):
                self.progress.note(f"{candidate.name}: {unsuited}")
        if candidate.claims.network is not None:
            with contextlib.suppress(HostError):  # most candidates never ask about targets
                build_targets_server(self.progress)
        if any(clause.startswith("normalize/") for clause in self.result.candidates[candidate.name].selected):
            with contextlib.suppress(CandidateError):  # the clauses that need it will say so
                build_scorers(candidate, cluster.kubernetes, self.progress)

    def _close_trial(self) -> None:
        trial, self._trial = self._trial, None
        if trial is None:
            return
        # If its last acts cannot be recorded, everything is down all the same, and the run has its reason to fail.
        with contextlib.suppress(SchedproofError), self.result.failing():
            trial.close()
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
        # If something may be left, what was judged is judged all the same, and the run has its reason to fail.
        with contextlib.suppress(SchedproofError), self.result.failing():
            cluster.close()
        self.result.timings["close"] = time.monotonic() - begin
