"""Surfaces of a running candidate: each question first gives the candidate its readings."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path

from schedproof.candidate.kinds import ExtenderSpec, PluginSpec
from schedproof.deploy.component import Component
from schedproof.foundation.deadlines import REACTION
from schedproof.foundation.errors import CandidateError, DeadlineExceededError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.observations import ExtenderCall
from schedproof.normalization.answer import Readings, Surface
from schedproof.normalization.surfaces.extender import ExtenderSurface
from schedproof.normalization.surfaces.life import Lives
from schedproof.normalization.surfaces.scheduler import (
    ExtenderScores,
    Outcome,
    SchedulerSurface,
    Scores,
    confined,
    plugin_scores,
)
from schedproof.recording.scores import ScoreTail
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.traffic.load import LoadChanges, sample_step, scripted_past
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

HIGHEST_RATE = 1e305
"""Bytes per second up to which a counter stays within float64 for the ten minutes that it is scripted."""

_HORIZON = 600.0
_PANIC = re.compile(r"Observed a panic|^(panic|fatal error): ", re.MULTILINE)


class LiveSurfaces:
    """The surfaces of a running candidate: an extender's verb, and pods that a scheduler scores. `close` ends them."""

    def __init__(self, context: Context, load: LoadChanges, pods: PodChanges, status: PodStatus) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._load, self._pods, self._status = load, pods, status
        self.script_readings: Callable[[Readings], None] = self.script_prometheus
        """Gives the candidate readings; returns when its next query to Prometheus is answered with them. It may be
        replaced, even after the surfaces were made.
        """
        self.asked_nodes = tuple(context.trial.cluster.nodes)
        """The nodes that questions are about."""
        self._log: _Log | None = None
        self._surfaces: list[Surface] | None = None

    @property
    def surfaces(self) -> list[Surface]:
        """The surfaces that the candidate offers while it runs; made at first access."""
        if self._surfaces is None:
            self._surfaces = [surface for surface in (self._extender(), self._scheduler()) if surface is not None]
        return self._surfaces

    def _extender(self) -> ExtenderSurface | None:
        spec = self._trial.candidate.spec
        if not isinstance(spec, ExtenderSpec) or not spec.config.prioritize_verb:
            return None
        return self._load.asking(self.asked_nodes, self._script)

    def _scheduler(self) -> SchedulerSurface | None:
        scores = self._scores()
        nodes = self.asked_nodes
        if scores is None or len(nodes) < SchedulerSurface.fewest:
            return None
        return SchedulerSurface(
            nodes, scores, script=self._script, schedule=self._schedule,
            life=Lives(self._trial.attachment),
        )  # fmt: skip

    def _scores(self) -> Scores | None:
        """Return where the candidate's scores are recorded; None if they are not."""
        spec, attachment = self._trial.candidate.spec, self._trial.attachment
        if isinstance(spec, ExtenderSpec) and spec.config.prioritize_verb and attachment.extender is not None:
            return ExtenderScores(spec.config)
        if isinstance(spec, PluginSpec) and attachment.configuration is not None and attachment.start_error is None:
            return plugin_scores(attachment.configuration, self._trial.candidate.scheduler_name, spec.name)
        return None

    # -- readings

    def _script(self, readings: Readings) -> None:
        self.script_readings(readings)

    @property
    def news_takes_time(self) -> bool:
        """Whether new readings take time to reach the candidate, because it polls, caches or averages them."""
        return self._load.news_take_time

    def script_prometheus(self, readings: Readings) -> None:
        """Put the candidate on a real Prometheus of its own, in which rates over its window equal these readings."""
        server = self._load.new_prometheus()
        # In whole seconds: counters are then exact at every sample if the step is a binary fraction of a second.
        begin = math.floor(time.time() - scripted_past(self._load.claims))
        step = round(sample_step(self._load.claims), 3)
        counters = {node: counter_of(reading, begin) for node, reading in readings if reading is not None}
        server.script(Script(self._load.both_ways(counters), step, self._load.targets))
        self._load.use(server.url)
        self._load.end_others(server)

    # -- pods

    def _schedule(self, nodes: Sequence[str]) -> Outcome:
        for surface in self._surfaces or ():
            if isinstance(surface, ExtenderSurface):
                surface.close()  # some extenders serve one connection at a time, which kube-scheduler needs now
        log = self._scheduler_log()
        log.skip()
        with self._recorder.changed:
            begin = len(self._recorder.records)
        pod = self._pods.create("scored", role="scored", cpu="100m", affinity=confined(nodes))
        self._status.await_decision(pod, self._context.deadlines.bind)
        outcome = self._outcome(pod, log, begin)
        self._pods.delete([pod])
        return outcome

    def _outcome(self, pod: Pod, log: _Log, begin: int) -> Outcome:
        """Return what is recorded of a decided pod. Scores were logged, and calls answered, before the decision."""
        name = f"{self._trial.namespace}/{pod.name}"
        with self._recorder.changed:
            later = self._recorder.records[begin:]
        calls = [r for r in later if isinstance(r, ExtenderCall) and r.by == "scheduler" and r.pod == name]
        life = Lives(self._trial.attachment)
        failing = any(call.status != HTTPStatus.OK for call in calls)
        unwilling = self._status.unwillingness(pod)
        node = self._pods.node_of(pod)
        self._trial.attachment.catch_up()
        # The log line of its Binding follows those of its scores, which are complete if it has arrived. A container's
        # log may be behind its process, even for a bound pod.
        feasible = log.feasible(name, self._trial.attachment.components) if node else None
        scores = log.scores(name)
        # When a scoring goroutine panics, the cycle may go on to a Binding before the process has ended. The panic was
        # logged before (apimachinery, util/runtime, HandleCrash).
        doomed = log.has_panic()
        ended = life.wait_end if doomed else life.watch_end if failing else life.last_words
        return Outcome(
            node=node,
            message=unwilling.get("message", ""),
            # All failures have the reason SchedulerError (pkg/scheduler/schedule_one.go).
            unschedulable=not node and unwilling.get("reason") == "Unschedulable",
            scores=scores,
            calls=[call.as_dict() for call in calls],
            feasible=feasible,
            crash=ended(),
        )

    def _scheduler_log(self) -> _Log:
        """Return the log of the scheduler that runs now; after a restart it may be another file."""
        path = self._trial.attachment.scheduler_log
        assert path is not None
        if self._log is None or self._log.path != path:
            self._close_log()
            self._log = _Log(path, self._trial.attachment.catch_up)
        return self._log

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()

    def close(self) -> None:
        for surface in self._surfaces or ():
            surface.close()
        self._close_log()


def counter_of(reading: float, begin: float) -> Counter:
    """Return the counter of a node whose traffic is `reading` since `begin` (seconds since the epoch).

    It starts at 0, so equal readings have equal samples. NaN and the infinities are the value of every sample. A
    negative reading is a falling counter, which Prometheus treats as one that restarts at every sample.

    Raises:
        UsageError: the counter would exceed float64.
    """
    if not math.isfinite(reading):
        return Counter(reading, ((begin, 0.0),))
    if abs(reading) > HIGHEST_RATE:
        raise UsageError(
            f"a counter that grows by {reading:g} a second leaves float64 within minutes",
            remedy=f"readings of a live Prometheus are at most {HIGHEST_RATE:g}",
        )
    return Counter(max(0.0, -reading * 2 * _HORIZON), ((begin, reading),))


class _Log:
    """A scheduler's log, read for one pod at a time."""

    def __init__(self, path: Path, catch_up: Callable[[], None]) -> None:
        self.path = path
        self._tail = ScoreTail(path)
        self._catch_up = catch_up
        self._end = 0

    def skip(self) -> None:
        """Ignore what was logged up to now."""
        self._end = self.path.stat().st_size
        for _ in self._tail.read():
            pass

    def scores(self, pod: str) -> list[dict[str, object]]:
        return [score.as_dict() for score in self._tail.read() if score.pod == pod]

    def has_panic(self) -> bool:
        return _PANIC.search(self._read()) is not None

    def _read(self) -> str:
        """Return what was logged since `skip`."""
        with self.path.open("rb") as file:
            file.seek(self._end)
            return file.read().decode(errors="replace")

    def feasible(self, pod: str, components: Sequence[Component]) -> int | None:
        """Return the number of feasible nodes of a bound pod; None if it was not logged, or one of `components` ended.

        The line follows the Binding (pkg/scheduler/schedule_one.go, bindingCycle), so it may not be written yet.
        """
        line = re.compile(rf'"Successfully bound pod to node" pod="{re.escape(pod)}" .*feasibleNodes=(\d+)')

        def count() -> int:
            self._catch_up()
            found = line.search(self._read())
            if found is None:
                raise NotYet(f"no line on the Binding of {pod}")
            return int(found[1])

        try:
            return wait_for(count, REACTION, what=f"{self.path.name} to mention {pod}", watching=components)
        except (DeadlineExceededError, CandidateError):
            return None

    def close(self) -> None:
        self._tail.close()
