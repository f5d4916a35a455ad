"""The fixture `case`: changes the cluster for a test of a suite, and records what the test expects. It never judges."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from schedproof.candidate.kinds import ExtenderSpec, PluginSpec
from schedproof.candidate.subjects import Subject
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import UsageError
from schedproof.foundation.processes.process_table import process_table
from schedproof.foundation.waiting import until
from schedproof.history.acts import Asserted, Calm, CalmOver, CasePhase, Rested, Trouble
from schedproof.history.observations import LogTail
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.devices import DraChanges
from schedproof.stimulus.changes.groups import GroupChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.objects import ObjectChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.changes.volumes import VolumeChanges
from schedproof.stimulus.context import CaseOver, Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.kinds.extender import ExtenderStimulus
from schedproof.stimulus.kinds.plugin import PluginStimulus
from schedproof.stimulus.kinds.points import PointStimulus
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.scoring.live_surfaces import LiveSurfaces
from schedproof.stimulus.scoring.searches import ScoreSearches
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.traffic.load import UNCLAIMED, LoadChanges
from schedproof.stimulus.traffic.own_placements import OwnPlacements
from schedproof.stimulus.traffic.preference import PreferenceProbes
from schedproof.stimulus.trial import Trial
from schedproof.stimulus.view import CandidateView
from schedproof.stimulus.worlds.runs import WorldRuns
from schedproof.stimulus.worlds.searches import WorldSearches

_CALM = 4.0
"""Seconds: several turns of a loop that polls once a second."""
_REST = 0.7
"""Seconds, shorter than a pod's back-off after a few attempts in vain."""


class Case:
    """The stimulus of one clause against one candidate, composed of parts.

    `close` undoes the changes of all parts, so that the next case begins in the same state. Parts that not every
    candidate has are created at first use, and raise `UsageError` if this candidate lacks them.

    Attributes:
        random: seeded by the run's seed and the clause.
        deadlines: those that the candidate claims.
        pods: creates, changes and ends pods.
        nodes: names of the nodes, and changes of nodes.
        volumes: storage classes, volumes and claims.
        dra: devices, and ResourceClaims.
        objects: namespaces, RuntimeClasses, PriorityClasses and PodDisruptionBudgets.
        candidate: the candidate's processes, its connection to the apiserver, its Bindings.
        status: waits for conditions and events of the candidate.
        view: waits until the candidate has seen the state of the cluster.
        chance: the number of probes that a random choice does not pass.
    """

    _closed = False

    def __init__(self, trial: Trial, clause: str) -> None:
        context = Context.of(trial, clause)
        self._context, self._recorder = context, trial.recorder
        self.trial, self.clause = trial, clause
        self.random, self.deadlines = context.random, context.deadlines
        self.pods = PodChanges(context)
        self._expect = Expectations(context, self.pods)
        self.status = PodStatus(context, self.pods, self._expect)
        self.view = CandidateView(context, self.pods, self._expect, self.status)
        self.nodes = NodeChanges(context, self.view)
        self.volumes = VolumeChanges(context)
        self.dra = DraChanges(context)
        self.objects = ObjectChanges(context)
        self.candidate = CandidateChanges(context, self._expect)
        self.chance = Chance(len(trial.cluster.nodes))
        self.pods.remove_misplaced()
        if not clause.startswith("normalize/"):  # their stimuli wait by themselves
            OwnPlacements(trial).wait_for_questions()
        self._recorder.add(CasePhase(case=clause, phase="begin"))

    # -- steps of nearly every test

    def pod(self, name: str = "probe", **spec: Any) -> Pod:
        """Create a pod for the candidate; see `PodChanges.create`."""
        return self.pods.create(name, **spec)

    def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, and wait until the watch has shown that they are gone."""
        self.pods.delete(pods)

    def node_of(self, pod: Pod) -> str:
        """Return the node on which the watch has shown the pod; "" while it is not bound."""
        return self.pods.node_of(pod)

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the current state; see `CandidateView.settle`.

        Raises:
            CaseOver: the deadline was missed.
        """
        self.view.settle()

    def keep_calm(self) -> None:
        """Change nothing for a while, in which the candidate's requests are recorded."""
        begin = time.monotonic()
        self._recorder.add(Calm(case=self.clause, seconds=_CALM, mark=self._recorder.mark()))
        until(begin + _CALM)
        mark = self._recorder.mark()
        self._recorder.add(CalmOver(case=self.clause, seconds=time.monotonic() - begin, mark=mark))

    def rest(self) -> None:
        """Change nothing for a moment, in which the CPU time of the candidate's processes is recorded."""

        def used() -> dict[str, float]:
            table = process_table()
            found = {name: [table[pid].cpu for pid in pids if pid in table] for name, pids in own().items()}
            return {name: sum(times) for name, times in found.items() if times}

        own, begin, interval = self.trial.attachment.pids, time.monotonic(), self.trial.usable_time.begin()
        before = used()
        until(begin + _REST)
        spent = {name: round(cpu - before[name], 3) for name, cpu in used().items() if name in before}
        seconds, kept = time.monotonic() - begin, interval.kept()
        self._recorder.add(Rested(case=self.clause, seconds=round(seconds, 3), used=spent, kept=kept))

    # -- expectations

    def expect_bound(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> None:
        """Wait until the candidate has bound these pods, by default for as long as it claims to take.

        Raises:
            CaseOver: the deadline was missed.
        """
        self._expect.bound(pods, deadline)

    def expect_bound_after_evictions(self, preemptor: Pod) -> None:
        """Wait until the candidate has bound a pod for which it evicts several pods.

        In the middle of the wait, another bound pod is deleted, in case that no event wakes the preemptor.

        Raises:
            CaseOver: the deadline was missed.
        """
        self._expect.bound_after_evictions(preemptor, wake=lambda: self.delete([self.pods.fill(self.nodes.names[0])]))

    def were_due(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Record that these pods were due by now, after a wait of `deadline`.

        Raises:
            CaseOver: a pod is not bound.
        """
        self._expect.were_due(pods, deadline)

    def expect_pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, for which no node is feasible. A `fence` shows that it did."""
        self._expect.pending(pods, **sentinel)

    def expect_unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule in this state."""
        self._expect.unwilling(pods, **sentinel)

    def expect_decided(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Wait until the candidate has bound the pods that have a feasible node; the others have to stay pending."""
        self._expect.decided(pods, **sentinel)

    def expect_so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Wait until the candidate has bound any `count` of these pods; the others have to stay pending."""
        self._expect.so_many_bound(pods, count, **sentinel)

    def fence(self, **sentinel: Any) -> None:
        """Create a sentinel pod and wait for its Binding, which shows that all earlier pods have been decided."""
        self._expect.fence(**sentinel)

    # -- parts that not every candidate has

    def leaves_out(self, *subjects: Subject) -> bool:
        """Return whether the candidate does not support one of these; a case of another clause then does without.

        A case that creates a pod or changes a node with such a subject all the same ends there, and is not judged.
        """
        return not self._context.left_out.keys().isdisjoint(subjects)

    def need(self, *subjects: Subject) -> None:
        """Return if the candidate supports these subjects; otherwise the case ends, and is not judged.

        Raises:
            CaseOver: it does not support one of them.
        """
        self._context.require(subjects)

    @functools.cached_property
    def worlds(self) -> WorldSearches:
        """Random worlds of nodes and pods, drawn with the run's seed."""
        runs = WorldRuns(self._context, self.pods, self.nodes, self.view, self._expect, self.candidate)
        return WorldSearches(self._context, runs)

    @functools.cached_property
    def groups(self) -> GroupChanges:
        """Groups of pods, marked as the candidate's claim `gang` describes.

        Raises:
            UsageError: the candidate claims no `gang`.
        """
        if (gang := self.trial.candidate.claims.gang) is None:
            raise self._lacks("claims no `gang`")
        return GroupChanges(self._context, gang, self.pods, self.objects, self._expect)

    @functools.cached_property
    def extender(self) -> ExtenderStimulus:
        """Requests to an extender, and faults of its connection.

        Raises:
            UsageError: the candidate is not an extender.
        """
        if not isinstance(spec := self.trial.candidate.spec, ExtenderSpec):
            raise self._lacks("is not an extender")
        return ExtenderStimulus(self._context, spec, self.nodes, self.status)

    @functools.cached_property
    def plugin(self) -> PluginStimulus:
        """Starts of a compiled scheduler, its HTTP endpoints, and other schedulers beside it.

        Raises:
            UsageError: the candidate is not a compiled scheduler.
        """
        if not isinstance(self.trial.candidate.spec, PluginSpec):
            raise self._lacks("is not a compiled scheduler")
        return PluginStimulus(self._context, self.pods, self._expect, self.candidate)

    @functools.cached_property
    def points(self) -> PointStimulus:
        """The worked examples that the candidate claims for its extension points; they may be empty."""
        return PointStimulus(self._context, self.pods, self.nodes, self._expect, self.view, self.candidate, self.chance)

    @functools.cached_property
    def _load(self) -> LoadChanges:
        claims = self.trial.candidate.claims.network or UNCLAIMED
        return LoadChanges(self._context, claims, self.nodes, self.view)

    @property
    def load(self) -> LoadChanges:
        """The load of the nodes as the candidate reads it, and faults of its metrics source.

        Raises:
            UsageError: the candidate claims no `network`.
        """
        if self.trial.candidate.claims.network is None:
            raise self._lacks("claims no `network`")
        return self._load

    @functools.cached_property
    def preference(self) -> PreferenceProbes:
        """Probes of the preference for quiet nodes. Like `load`, this needs a candidate that claims `network`."""
        return PreferenceProbes(self._context, self.load, self.pods, self._expect, self.status, self.chance)

    @functools.cached_property
    def scores(self) -> ScoreSearches:
        """Requests for the candidate's scores, on each surface that serves them."""
        live = LiveSurfaces(self._context, self._load, self.pods, self.status)
        return ScoreSearches(self._context, live, self._load, self.nodes, self.view)

    def seek(self, count: int, right: str, ask: Callable[[], Pod]) -> None:
        """Call `ask`, which creates a pod for the node `right` and awaits its Binding, `count` times or more.

        The pods come one after the other, with pauses if the candidate counts its own placements: see
        `PreferenceProbes`.
        """
        if self.trial.candidate.claims.network is not None:
            self.preference.seek(0, count, right, ask=ask, spare=0)
            return
        for _ in range(count):
            self.delete([ask()])

    def even_out(self) -> None:
        """Make the readings of all nodes equal. For a candidate that claims no `network`, nothing is done."""
        if self.trial.candidate.claims.network is not None:
            self.load.even_out()

    def _lacks(self, gap: str) -> UsageError:
        remedy = "skip this test for such candidates, or describe it in candidate.yaml"
        return UsageError(f"{self.trial.candidate.name} {gap}, and a test needs it", remedy=remedy)

    # -- the end

    @property
    def is_over(self) -> bool:
        """Whether a deadline was missed, after which the case waits for nothing more."""
        return self._expect.over

    def end(self) -> None:
        """Record the end of the stimulus; later events are not part of the case.

        All logs are read first, so that a case with a recorded end can be judged even if the harness is then killed.
        """
        self.trial.attachment.report_exits()
        self.trial.attachment.await_answers()
        self.volumes.await_recorded()
        self.dra.await_recorded()
        self._recorder.catch_up()
        if "_load" in vars(self):
            self._load.note_queries()
            if failure := self._load.failure:
                self.trouble(f"not all scripted samples could be pushed to Prometheus: {failure}")
        for name, lines in self.trial.attachment.log_tails().items():
            self._recorder.add(LogTail(case=self.clause, name=name, lines=lines))
        self._recorder.add(CasePhase(case=self.clause, phase="end", early=self.is_over))

    def trouble(self, text: str) -> None:
        """Record that the harness failed in its part, which makes the clause `invalid`."""
        self._recorder.add(Trouble(case=self.clause, text=text))

    def asserted(self, text: str) -> None:
        """Record a failed assertion of a user's own test, which fails its clause for this reason."""
        self._recorder.add(Asserted(case=self.clause, text=text))

    def restore(self) -> None:
        """Delete created objects, revert changes, and wait until the candidate has seen that."""
        changed = self._undo()
        # Skip settling after a missed deadline: decisions on an older state do not count against the candidate. If it
        # ignores selectors, the settling pod shows nothing.
        shows = not (self.is_over or self.trial.attachment.ended or "ignores-selectors" in self.trial.shown.habits)
        if changed and shows:
            try:
                self.settle()
            except CaseOver:
                # Delete the settling pod, or the next candidate with this scheduler name would bind it.
                self.pods.undo()

    def _undo(self) -> bool:
        """Undo all changes, and return whether pods, volumes, devices or nodes were changed.

        Pods go first, because they use all other objects.
        """
        changed = self.pods.undo()
        self.objects.undo()
        changed = self.volumes.undo() or changed
        changed = self.dra.undo() or changed
        changed = self.nodes.undo() or changed
        if "groups" in vars(self):
            self.groups.undo()
        return changed

    def close(self) -> None:
        """Restore the cluster and the candidate's connections, so that the next case begins in the same state.

        Further calls do nothing.
        """
        if self._closed:
            return
        self._closed = True
        made = vars(self)
        if "scores" in made:
            self.scores.undo()
        if "_load" in made:
            self._load.heal()  # otherwise the settling in `restore` would wait in vain
        self.restore()
        self.candidate.undo()
        for part in ("preference", "_load", "extender"):
            if part in made:
                made[part].undo()
