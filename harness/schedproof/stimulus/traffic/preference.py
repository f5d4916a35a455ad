"""Probes of the preference for quiet nodes, and of what becomes of it when readings are lost and found."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from schedproof.candidate.timing import RECOVERY
from schedproof.foundation.deadlines import BIND, Deadline
from schedproof.foundation.waiting import NotYet, until
from schedproof.history.acts import Accepted, Reading
from schedproof.history.observations import PrometheusQuery
from schedproof.judge.clauses.network.preference import quietest_of
from schedproof.judge.rulings.late import PATIENCE, LateDecisions, recovery
from schedproof.stimulus.changes.binding_webhook import BindingGate
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.kinds.answers import answered_late
from schedproof.stimulus.pods import Pod, owned_by
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.traffic.load import LoadChanges
from schedproof.stimulus.traffic.own_placements import OwnPlacements
from schedproof.stimulus.trial import CONTROL

_AFRESH = 2
"""Probes more where a phase is begun anew: a chooser at random has one more chance in each phase."""

_SPARE = 2
"""Of probes that wait from the start so many are there for others that were late."""

_PAUSES = 4.0
"""For how many claimed recoveries an outage goes on at most while pauses grow: by half each, they are as long then."""
_GROWTH = 1.2
"""From pause to pause, as a factor."""
_FEW = 3
"""So few pauses, the claimed one among them, show whether they grow."""

_CLAIMED = "network.recovers-within, the candidate's own claim"


class PreferenceProbes:
    """Pods that are asked about one after the other, apart where the candidate says or shows that it counts its own.

    To wait for the claimed window before each probe would take minutes, for schedulers most of which do not count. So
    probes follow each other at once, until one goes elsewhere that earlier placements may have sent there. From then
    on each probe waits until nothing before it can count any more; until one goes elsewhere even so, which settles its
    case.
    """

    def __init__(
        self,
        context: Context,
        load: LoadChanges,
        pods: PodChanges,
        expect: Expectations,
        status: PodStatus,
        chance: Chance,
    ) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._load, self._pods, self._expect, self._status = load, pods, expect, status
        self._chance = chance
        self._settled = False
        """Whether a probe that nothing excuses was wrong: to wait for more would change no verdict."""
        self._control_failed = False
        """Whether the control was wrong once: only then the probes tell whether a scheduler heeds traffic."""

    @functools.cached_property
    def owner(self) -> dict[str, Any]:
        """The metav1.OwnerReference of all pods that are asked about; its object is there until `undo`.

        It exists, or the garbage collector would delete the pods. It is a ConfigMap, because no controller adopts or
        deletes the pods of one, and because kube-scheduler spreads the pods of ReplicaSets by itself.
        """
        made = self._context.api.create("configmaps", {"metadata": {"generateName": "owner-"}}, self._trial.namespace)
        return owned_by("v1", "ConfigMap", made)

    def keep_apart(self) -> bool:
        """Wait where probes are to be apart; whether the next one is."""
        due = self._recorder.placed_at + self._load.claims.counting - self._recorder.now()
        if due > 0 and self._trial.probes_apart and not self._settled:
            until(time.monotonic() + due)
            return True
        return due <= 0

    def ask(self, role: str, phase: int, **spec: Any) -> Pod:
        """Create one pod, and give the candidate its time to bind it.

        Delete it before the next is created: then nodes stay identical but for their traffic. All these pods of one
        namespace have one owner: what was right for one of them is not for the next. Where traffic comes in bursts, it
        is asked in one.
        """
        self._load.await_burst()
        elsewhere = spec.get("namespace", self._trial.namespace) != self._trial.namespace
        owner = None if elsewhere else self.owner
        pod = self._pods.create(role, role=role, phase=phase, cpu="100m", owner=owner, **spec)
        self._expect.bound([pod])
        return pod

    def seek(
        self,
        phase: int,
        count: int,
        *right: str,
        role: str = "probe",
        ask: Callable[[], Pod] | None = None,
        spare: int | None = None,
        **spec: Any,
    ) -> None:
        """Ask the candidate `count` times where to put a pod that belongs on a node of `right`, one after the other.

        A probe that may have been decided without an answer, because that was late, is asked again, `spare` times at
        most (`count`, if not given).

        `ask`: how, if not by a new pod; it may be called `_most_asked(count)` times if `spare` is `_SPARE`.
        """
        left, spare = count, count if spare is None else spare
        while left:
            apart = self.keep_apart()
            begin = time.time()
            pod = ask() if ask is not None else self.ask(role, phase, **spec)
            seen = self._note_readings(pod, begin)
            chosen = self._pods.node_of(pod)
            self._pods.delete([pod])
            left -= 1
            if spare and (self._was_blurred(phase, seen) or self._was_late([pod], time.time() - begin)):
                left, spare = left + 1, spare - 1
            elif chosen not in right and self._begins_anew(apart=apart):
                left = count + _AFRESH

    def _was_blurred(self, phase: int, seen: Sequence[Mapping[str, float]]) -> bool:
        """Whether packets came late, so that the readings did not tell the nodes apart as was asked for."""
        if not self._load.sends_packets:
            return False
        load, resolution = self._load.phases[phase], self._load.claims.resolution
        quietest = min(load, key=load.__getitem__)
        return any(
            node != quietest or gap <= resolution for node, gap in (quietest_of(one, tuple(load)) for one in seen)
        )

    def _was_late(self, pods: Sequence[Pod], seconds: float = math.inf) -> bool:
        """Whether one of these pods, which took so long, was placed late, as on a busy machine.

        Returns when the candidate has had the time that it claims to need after an answer that was late.
        """
        rest = recovery(self._load.claims) or PATIENCE
        if seconds < PATIENCE and not answered_late(self._recorder, self._recorder.now() - seconds - rest):
            return False
        history, case = self._recorder.history(), self._context.clause
        asked = {pod.uid: pod for pod in (*history.test_pods(case), *history.released(case))}
        late = LateDecisions(history)
        if not any(late.why(asked[pod.uid]) for pod in pods if pod.uid in history.bindings):
            return False
        until(time.monotonic() + rest)
        return True

    def _begins_anew(self, *, apart: bool) -> bool:
        """Whether a probe that went elsewhere may have been decided by earlier ones, so that all are asked again."""
        if apart:
            # It was not for placements that it went elsewhere: in the next case that is an open question again.
            self._settled, self._trial.probes_apart = True, self._load.claims.own_placements == "counted"
        if self._settled or self._trial.probes_apart or self._load.claims.own_placements == "ignored":
            return False
        self._trial.probes_apart = True
        return True

    def _moments(self, begin: float, end: float) -> list[float]:
        """When the candidate may have read the traffic that it decided by; the last moment first.

        Scripted readings stay as they are. Packets on a busy machine may come late for once, and be seen by no
        scheduler but the candidate.
        """
        if not self._load.sends_packets:
            return [end]
        steps = max(1, math.ceil((end - begin) / self._trial.cluster.scrape_interval))
        return [end - (end - begin) * number / steps for number in range(steps + 1)]

    def _note_readings(self, pod: Pod, begin: float) -> list[Mapping[str, float]]:
        """Record what the candidate may have read from `begin` (seconds since the epoch) until now, and return it."""
        seen: list[Mapping[str, float]] = []
        for moment in self._moments(begin, time.time()):
            for query in (self._load.query, *self._load.joins):
                reading = self._load.reading(query, moment)
                record = Reading(case=self._context.clause, pod=pod.full_name, query=query, traffic=dict(reading))
                self._recorder.add(record)
                seen.append(record.traffic)
        return seen

    def probe(
        self,
        phase: int,
        count: int,
        *,
        among: Collection[str] = (),
        ask: Callable[[], Pod] | None = None,
        spare: int | None = None,
        **spec: Any,
    ) -> None:
        """Ask the candidate `count` times where to put a pod, one after the other; see `seek` for `ask` and `spare`.

        `among` are the nodes where such a pod fits; all of them, if not given.

        Then the control is asked the same, until it was wrong once in this case: that shows that the probes tell
        a scheduler that knows of traffic from one that does not.
        """
        load = self._load.phases[phase]
        quietest = min(among or load, key=lambda node: load[node])
        self.seek(phase, count, quietest, ask=ask, spare=spare, **spec)
        self._ask_control(phase, count, quietest, **spec)

    def _ask_control(self, phase: int, count: int, quietest: str, **spec: Any) -> None:
        """Ask the control `count` times, or until it was wrong once in this case."""
        self._trial.start_control()
        for _ in range(count):
            if self._control_failed:
                break
            pod = self._pods.create(
                "control", role="control", plain=True, phase=phase, cpu="100m", scheduler_name=CONTROL, **spec
            )
            self._expect.wait_bound([pod], BIND)
            self._control_failed = self._pods.node_of(pod) != quietest
            self._pods.delete([pod])

    def waiting_probes(self, count: int, toleration: Mapping[str, str]) -> list[Pod]:
        """Enough pods for `release`, for which there is no node, because they lack a toleration."""
        pods = [
            self._pods.create("waits", role="waits", cpu="100m", owner=self.owner) for _ in range(_most_asked(count))
        ]
        self._expect.pending(pods, tolerations=[toleration])
        return pods

    def release(self, pods: Sequence[Pod], phase: int, count: int, toleration: Mapping[str, str]) -> None:
        """As `probe`, by pods that have waited: one after the other is given the toleration that it lacks."""
        waiting = iter(pods)

        def ask() -> Pod:
            pod = next(waiting)
            self._pods.tolerate(pod, toleration, phase=phase)
            self._expect.bound([pod], self._context.deadlines.requeue)
            return pod

        self.probe(phase, count, ask=ask, spare=_SPARE, tolerations=[toleration])
        self._pods.delete(list(waiting))

    def refused_probes(self, gate: BindingGate, load: Mapping[str, float], count: int) -> None:
        """As `probe`, by pods whose Bindings are refused until this load has been on for window plus refresh.

        By then no decision from before may be used any more, also by one that posts a Binding again before it decides
        anew. Pods are let go at once, so that their back-offs pass together; where probes are to be apart, or traffic
        breaks ties only, one by one.
        """
        before, phase, quietest = self._load.phases[-1], len(self._load.phases), min(load, key=load.__getitem__)
        left, again, breaks_ties = count, True, self._load.claims.priority == "tie-breaker"
        while left:
            # What is bound of several takes room, which may count before traffic.
            alone = breaks_ties or (self._trial.probes_apart and not self._settled)
            number, role = (1, "refused") if alone else (left, "together")
            pods = [self._refused(gate, role) for _ in range(number)]
            self._load.script(load)
            self._load.wait_claimed(time.monotonic())
            apart = self.keep_apart() and alone
            left -= number
            chosen = self._let_go(gate, pods, phase)
            if again and self._was_late(pods):
                left, again = left + number, False
            elif chosen != {quietest} and self._begins_anew(apart=apart):
                left = count + _AFRESH
            if left:
                self._load.script(before)
        self._ask_control(phase, count, quietest)

    def _refused(self, gate: BindingGate, role: str) -> Pod:
        """A pod whose Binding was refused, as each one is until it is let go."""
        gate.refuse(self._pods.next_name("refused"))
        pod = self._pods.create("refused", role=role, cpu="10m", owner=self.owner)
        if not gate.await_call(pod.name):
            self._expect.bound([pod])
        return pod

    def _let_go(self, gate: BindingGate, pods: Sequence[Pod], phase: int) -> set[str]:
        """Refuse the Bindings of these pods no more; the nodes that they came to. `phase`: of the load."""
        begin = time.time()
        for pod in pods:
            self._recorder.add(Accepted(case=self._context.clause, pod=pod.full_name, uid=pod.uid, phase=phase))
        gate.accept(*(pod.name for pod in pods))
        self._expect.bound(pods, self._context.deadlines.requeue)
        for pod in pods:
            self._note_readings(pod, begin)
        chosen = {self._pods.node_of(pod) for pod in pods}
        self._pods.delete(pods)
        return chosen

    def await_refusal(self, pods: Sequence[Pod]) -> None:
        """Wait until the candidate has said of all these pods that it does not schedule them now.

        It may take as long over each as over one that it binds: what it asks of Prometheus is the same.
        """
        for pod in pods:
            self._status.await_condition([pod], "PodScheduled", self._context.deadlines.bind)

    def expect_recovered(self, pods: Sequence[Pod]) -> None:
        """Give the candidate the time that it claims to bind these pods after an outage."""
        claimed = self._load.claims.recovers_within
        recovery = Deadline(RECOVERY, claimed, _CLAIMED) if claimed is not None else self._context.deadlines.requeue
        self._expect.bound(pods, recovery)

    def await_recovery(self, phase: int) -> bool:
        """Ask where to put pods until the claimed time to recover is over, or until the preference is back before it.

        That is shown by as many right answers in a row as chance does not give. Where none are given for long, nothing
        is asked in the end for as long as a placement may count: what is asked afterwards is excused by none. Returns
        whether the preference is back.
        """
        claimed = self._load.claims.recovers_within or 0.0
        due = time.monotonic() + claimed
        placements, counting = OwnPlacements(self._trial), self._load.claims.counting
        last = due - counting if placements.may_count and counting < claimed else due
        load = self._load.phases[phase]
        quietest = min(load, key=lambda node: load[node])
        in_a_row = 0
        while in_a_row < self._chance.probes(1):
            self.keep_apart()
            if time.monotonic() >= last:
                if last < due:
                    until(due)
                    placements.wait()
                break
            pod = self._pods.create("recovery", role="recovery", phase=phase, cpu="100m")
            self._expect.wait_bound([pod], Deadline(RECOVERY, max(0.0, due - time.monotonic()), _CLAIMED))
            in_a_row = in_a_row + 1 if self._pods.node_of(pod) == quietest else 0
            self._pods.delete([pod])
            # One that is deleted before it is bound may have been decided, and count, all the same.
            self._recorder.placed_at = self._recorder.now()
        return in_a_row == self._chance.probes(1)

    def outlast_back_off(self) -> None:
        """Let an outage go on while the pauses between the candidate's queries grow, as far as they could matter.

        That is until one is as long as it claims to take after an outage. One that lasts for minutes would show what
        becomes of it then; so does one of so many tries. The first pause has grown if it is longer than the claimed
        refresh. Of candidates that poll; others do not ask meanwhile.
        """
        longest, refresh = self._load.claims.recovers_within, self._load.claims.refresh
        if longest is None or not refresh:
            return
        end = time.monotonic() + _PAUSES * longest
        while len(pauses := self._pauses()) < _FEW or (_grow(pauses) and pauses[-1] < longest):
            left = min(end - time.monotonic(), 2 * longest) if _grow(pauses) else 2 * refresh
            if not self._asks_again(len(pauses), max(0.0, left)):
                return

    def _asks_again(self, pauses: int, seconds: float) -> bool:
        def asked() -> None:
            if len(self._pauses()) <= pauses:
                raise NotYet("it has asked nothing more")

        return self._expect.patiently(asked, Deadline("next query", seconds, _CLAIMED), "another query to Prometheus")

    def _pauses(self) -> list[float]:
        """Seconds: the claimed refresh, then those between the queries of this outage."""
        with self._recorder.changed:
            records, begin = self._recorder.records, self._load.broken_at
            since = itertools.takewhile(lambda record: record.at >= begin, reversed(records))
            asked = sorted(query.begun for query in since if isinstance(query, PrometheusQuery))
        return [self._load.claims.refresh, *(later - earlier for earlier, later in itertools.pairwise(asked))]

    def undo(self) -> None:
        """Remove the owner of the pods."""
        if "owner" in vars(self):
            self._context.api.delete_if_there("configmaps", self.owner["name"], self._trial.namespace)


def _grow(pauses: Sequence[float]) -> bool:
    return len(pauses) > 1 and all(later > _GROWTH * earlier for earlier, later in itertools.pairwise(pauses[-3:]))


def _most_asked(count: int) -> int:
    """How often `seek` asks at most, where it begins anew with the last one, and has `_SPARE` of them asked again."""
    return 2 * count + _AFRESH + _SPARE
