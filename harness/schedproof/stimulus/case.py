"""What a test of a suite does to the world, and what it expects to become of it. It never judges."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from schedproof.candidate.kinds import ExtenderSpec, PluginSpec
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import UsageError
from schedproof.foundation.waiting import until
from schedproof.history.acts import Asserted, Calm, CalmOver, CasePhase, Trouble
from schedproof.history.observations import LogTail
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.devices import DraChanges
from schedproof.stimulus.changes.groups import GroupChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.objects import ObjectChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.changes.volumes import VolumeChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import CaseOver, Expectations
from schedproof.stimulus.kinds.extender import ExtenderStimulus
from schedproof.stimulus.kinds.plugin import PluginStimulus
from schedproof.stimulus.kinds.points import PointStimulus
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.scoring.live_surfaces import LiveSurfaces
from schedproof.stimulus.scoring.searches import ScoreSearches
from schedproof.stimulus.sight import Sight
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.traffic.load import UNCLAIMED, LoadChanges
from schedproof.stimulus.traffic.own_placements import OwnPlacements
from schedproof.stimulus.traffic.preference import PreferenceProbes
from schedproof.stimulus.trial import Trial
from schedproof.stimulus.worlds.runs import WorldRuns
from schedproof.stimulus.worlds.searches import WorldSearches

_CALM = 4.0
"""Seconds: several turns of whatever polls once a second."""


class Case:
    """The stimulus of one clause against one candidate, by its parts.

    What these change, `close` changes back, so that the next case begins in the same world. Parts that not every
    candidate has are made at their first use, and say so where this one has none.

    Attributes:
        random: seeded by the run's seed and the clause.
        deadlines: those that the candidate claims.
        pods: pods that the case creates, changes and ends.
        nodes: their names, and changes of nodes.
        volumes: storage classes, volumes and claims.
        dra: devices, and ResourceClaims.
        objects: namespaces, RuntimeClasses, PriorityClasses and PodDisruptionBudgets.
        candidate: the candidate's processes, its line to the apiserver, its Bindings.
        status: what the candidate says of pods.
        sight: what the candidate has seen of the world.
        chance: how often it is asked, so that choosing at random does not pass.
    """

    def __init__(self, trial: Trial, clause: str) -> None:
        context = Context.of(trial, clause)
        self._context, self._recorder = context, trial.recorder
        self.trial, self.clause = trial, clause
        self.random, self.deadlines = context.random, context.deadlines
        self.pods = PodChanges(context)
        self._expect = Expectations(context, self.pods)
        self.status = PodStatus(context, self.pods, self._expect)
        self.sight = Sight(context, self.pods, self._expect, self.status)
        self.nodes = NodeChanges(context, self.sight)
        self.volumes = VolumeChanges(context)
        self.dra = DraChanges(context)
        self.objects = ObjectChanges(context)
        self.candidate = CandidateChanges(context, self._expect)
        self.chance = Chance(len(trial.cluster.nodes))
        self.pods.remove_misplaced()
        if not clause.startswith("normalize/"):  # whose stimuli see to that by themselves
            OwnPlacements(trial).wait_for_questions()
        self._recorder.add(CasePhase(case=clause, phase="begin"))

    # -- what nearly every test does

    def pod(self, name: str = "probe", **spec: Any) -> Pod:
        """Create a pod for the candidate; see `PodChanges.create`."""
        return self.pods.create(name, **spec)

    def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, and wait until the watch has shown that they are gone."""
        self.pods.delete(pods)

    def node_of(self, pod: Pod) -> str:
        """Where the watch has shown it; "" while it is not bound."""
        return self.pods.node_of(pod)

    def settle(self) -> None:
        """Wait until the candidate, and not only the apiserver, has seen the world as it is now; see `Sight.settle`.

        Raises:
            CaseOver: it has not, within its time.
        """
        self.sight.settle()

    def keep_calm(self) -> None:
        """Do nothing for a while. What the candidate does meanwhile is on record."""
        begin = time.monotonic()
        self._recorder.add(Calm(case=self.clause, seconds=_CALM, mark=self._recorder.mark()))
        until(begin + _CALM)
        mark = self._recorder.mark()
        self._recorder.add(CalmOver(case=self.clause, seconds=time.monotonic() - begin, mark=mark))

    # -- expectations

    def expect_bound(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> None:
        """Give the candidate until `deadline` to bind these pods; as long as it claims to take, if not given.

        Raises:
            CaseOver: it did not.
        """
        self._expect.bound(pods, deadline)

    def were_due(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """These pods were to be bound by now, after a wait of `deadline`.

        Raises:
            CaseOver: they are not.
        """
        self._expect.were_due(pods, deadline)

    def expect_pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit nowhere. A `fence` shows that it has."""
        self._expect.pending(pods, **sentinel)

    def expect_unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule as things are."""
        self._expect.unwilling(pods, **sentinel)

    def expect_decided(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Give the candidate its time to bind those of these pods that fit somewhere; the others are to stay."""
        self._expect.decided(pods, **sentinel)

    def expect_so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Give the candidate its time to bind `count` of these pods, whichever it likes; the others are to stay."""
        self._expect.so_many_bound(pods, count, **sentinel)

    def fence(self, **sentinel: Any) -> None:
        """A sentinel pod that is created now and bound shows that what was created before it has had its turn."""
        self._expect.fence(**sentinel)

    # -- parts that not every candidate has

    def excludes(self, clause: str) -> bool:
        """Whether the candidate excludes a clause: what that is about is no part of others."""
        return self._context.excludes(clause)

    @functools.cached_property
    def worlds(self) -> WorldSearches:
        """Worlds of nodes and pods at random, by the run's seed."""
        runs = WorldRuns(self._context, self.pods, self.nodes, self.sight, self._expect)
        return WorldSearches(self._context, runs, ports=not self.excludes("core/host-port"))

    @functools.cached_property
    def groups(self) -> GroupChanges:
        """Groups of pods, as the candidate tells them.

        Raises:
            UsageError: it claims to know none.
        """
        if (gang := self.trial.candidate.claims.gang) is None:
            raise self._lacks("claims no `gang`")
        return GroupChanges(self._context, gang, self.pods, self._expect)

    @functools.cached_property
    def extender(self) -> ExtenderStimulus:
        """Questions to an extender, and faults of its line.

        Raises:
            UsageError: the candidate is none.
        """
        if not isinstance(spec := self.trial.candidate.spec, ExtenderSpec):
            raise self._lacks("is no extender")
        return ExtenderStimulus(self._context, spec, self.nodes, self.status)

    @functools.cached_property
    def plugin(self) -> PluginStimulus:
        """Starts of a compiled scheduler, what it serves, and other schedulers beside it.

        Raises:
            UsageError: the candidate is none.
        """
        if not isinstance(self.trial.candidate.spec, PluginSpec):
            raise self._lacks("is no compiled scheduler")
        return PluginStimulus(self._context, self.pods, self._expect, self.candidate)

    @functools.cached_property
    def points(self) -> PointStimulus:
        """The worked examples that the candidate claims of its extension points; there may be none."""
        return PointStimulus(
            self._context, self.pods, self.nodes, self._expect, self.sight, self.candidate, self.chance
        )

    @functools.cached_property
    def _load(self) -> LoadChanges:
        claims = self.trial.candidate.claims.network or UNCLAIMED
        return LoadChanges(self._context, claims, self.nodes, self.sight)

    @property
    def load(self) -> LoadChanges:
        """The load of the nodes as the candidate reads it, and faults of what it reads it from.

        Raises:
            UsageError: it claims to read none.
        """
        if self.trial.candidate.claims.network is None:
            raise self._lacks("claims no `network`")
        return self._load

    @functools.cached_property
    def preference(self) -> PreferenceProbes:
        """Probes of the preference for quiet nodes; of a candidate that claims `network`, as `load` is."""
        return PreferenceProbes(self._context, self.load, self.pods, self._expect, self.status, self.chance)

    @functools.cached_property
    def scores(self) -> ScoreSearches:
        """Questions to the candidate's scoring, on each surface where it can be asked."""
        live = LiveSurfaces(self._context, self._load, self.pods, self.status)
        return ScoreSearches(self._context, live, self._load, self.nodes, self.sight)

    def seek(self, count: int, right: str, ask: Callable[[], Pod]) -> None:
        """Have `ask` create a pod that belongs on the node `right` and await its Binding, `count` times or more.

        One after the other; apart, where the candidate counts its own placements: see `PreferenceProbes`.
        """
        if self.trial.candidate.claims.network is not None:
            self.preference.seek(0, count, right, ask=ask, spare=0)
            return
        for _ in range(count):
            self.delete([ask()])

    def even_out(self) -> None:
        """Let nodes differ in nothing that the candidate may read. Without claimed readings, nothing is to do."""
        if self.trial.candidate.claims.network is not None:
            self.load.even_out()

    def _lacks(self, what: str) -> UsageError:
        remedy = "skip this test for such candidates, or describe it in candidate.yaml"
        return UsageError(f"{self.trial.candidate.name} {what}, and a test needs it", remedy=remedy)

    # -- the end

    @property
    def is_over(self) -> bool:
        """Whether a deadline was missed: nothing more is waited for."""
        return self._expect.over

    def end(self) -> None:
        """The stimulus is over: what follows is not part of the case.

        All logs are read first: a case whose end is on record can be judged even if we are killed the next moment.
        """
        self.trial.attachment.report_exits()
        self.volumes.await_recorded()
        self.dra.await_recorded()
        self._recorder.catch_up()
        for name, lines in self.trial.attachment.log_tails().items():
            self._recorder.add(LogTail(case=self.clause, name=name, lines=lines))
        self._recorder.add(CasePhase(case=self.clause, phase="end", early=self.is_over))

    def trouble(self, text: str) -> None:
        """The harness could not do its part: the clause is `invalid`."""
        self._recorder.add(Trouble(case=self.clause, text=text))

    def asserted(self, text: str) -> None:
        """A test of the user's own has found what it does not accept: its clause fails, for this reason."""
        self._recorder.add(Asserted(case=self.clause, text=text))

    def restore(self) -> None:
        """Delete what was created, change back what was changed, and let the candidate see it."""
        changed = self._undo()
        # A candidate that has missed a deadline is not waited for again. What it may not have seen does not count
        # against it. What is sent to a node of the harness's own, to see that it was, shows nothing where selectors are
        # ignored.
        shows = not (self.is_over or self.trial.attachment.ended or self.trial.ignores_selectors)
        if changed and shows:
            try:
                self.settle()
            except CaseOver:
                # Its pod is left, and the next candidate of this name would bind it.
                self.pods.undo()

    def _undo(self) -> bool:
        """Whether pods, volumes, devices or nodes were changed. Pods go first: they use everything else."""
        changed = self.pods.undo()
        self.objects.undo()
        changed = self.volumes.undo() or changed
        changed = self.dra.undo() or changed
        changed = self.nodes.undo() or changed
        if "groups" in vars(self):
            self.groups.undo()
        return changed

    def close(self) -> None:
        """`restore`, so that the next case begins in the same world, and with a candidate that has its watches."""
        made = vars(self)
        if "scores" in made:
            self.scores.undo()
        if "_load" in made:
            self._load.heal()  # or what follows would wait in vain
        self.restore()
        self.candidate.undo()
        for part in ("preference", "_load", "extender"):
            if part in made:
                made[part].undo()
