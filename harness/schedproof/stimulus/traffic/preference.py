"""Probes of the preference for quiet nodes, also while readings are missing and after they return."""

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
from schedproof.normalization.surfaces.scheduler import confined
from schedproof.stimulus.changes.binding_webhook import BindingWebhook
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
"""Additional probes when a phase starts over: a random choice then has one more chance."""

_SPARE = 2
"""How many waiting probes are spares for late ones."""

_PAUSES = 4.0
"""The longest outage, in claimed recoveries: pauses that grow by half reach the claimed recovery in that time."""
_GROWTH = 1.2
"""The factor by which one pause must exceed the previous one to count as growing."""
_FEW = 3
"""The number of pauses, including the claimed refresh, that shows whether they grow."""

_CLAIMED = "network.recovers-within, the candidate's own claim"


_PAUSE = 0.2
"""Seconds between two pods while time passes: less than any cache of readings is worth having for."""


class PreferenceProbes:
    """Creates probe pods one after the other, with pauses if the candidate says or shows that it counts its placements.

    A wait for the claimed window before each probe would take minutes, and most schedulers do not need it. So probes
    follow each other at once, until one goes elsewhere that earlier placements may have sent there. From then on,
    each probe of this phase waits until nothing earlier can count. If one goes elsewhere even so, the case is settled.
    In the next phase probes follow each other at once again: what sent the one elsewhere may have been something else.
    If another one goes elsewhere, all later probes wait; if none does, placements are not taken to count.
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
        """Whether a probe without an excuse went elsewhere: further waits would not change the verdict."""
        self._recovered_by = -math.inf
        """When the time to recover that the candidate claims is over, on the monotonic clock."""
        self._control_failed = False
        """Whether the control was wrong once. Only then do probes show that a scheduler considers traffic."""

    @functools.cached_property
    def owner(self) -> dict[str, Any]:
        """The metav1.OwnerReference of all probe pods; its object exists until `undo`.

        Without the object, the garbage collector would delete the pods. It is a ConfigMap, because no controller
        adopts or deletes the pods of a ConfigMap, and because kube-scheduler spreads the pods of ReplicaSets by
        default.
        """
        made = self._context.api.create("configmaps", {"metadata": {"generateName": "owner-"}}, self._trial.namespace)
        return owned_by("v1", "ConfigMap", made)

    def keep_apart(self, *, doubted: bool = False) -> bool:
        """Wait if the next probe needs a pause before it, and return whether it has one.

        `doubted`: whether it is still open that placements count; then there is no wait.
        """
        due = self._recorder.placed_at + self._load.claims.counting - self._recorder.now()
        if due > 0 and self._trial.probes_apart and not (self._settled or doubted):
            until(time.monotonic() + due)
            return True
        return due <= 0

    def ask(self, role: str, phase: int, **spec: Any) -> Pod:
        """Create one pod, and give the candidate time to bind it.

        Delete it before the next is created, so that nodes stay identical except for their traffic. All these pods
        of the trial's namespace have one owner: what was right for one pod may be wrong for the next. If traffic
        comes in bursts, the pod is created in one.
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

        A probe is repeated, at most `spare` times (default: `count`), if it may have been decided without a
        response, because that was late.

        `ask`: creates the pod another way; called at most `_most_asked(count)` times if `spare` is `_SPARE`.
        """
        left, spare = count, count if spare is None else spare
        doubted = self._trial.probes_apart and not self._trial.placements_count
        while left:
            apart = self.keep_apart(doubted=doubted)
            begin = time.time()
            pod = ask() if ask is not None else self.ask(role, phase, **spec)
            seen = self._note_readings(pod, begin)
            chosen = self._pods.node_of(pod)
            self._pods.delete([pod])
            left -= 1
            if spare and (self._was_blurred(phase, seen) or self._was_late([pod], time.time() - begin)):
                left, spare = left + 1, spare - 1
            elif chosen not in right and time.monotonic() < self._recovered_by:
                self.ask_until(self._last_asked(), list(self._load.phases[phase]))
                self._rest_until_recovered()
                left = count + _AFRESH
            elif chosen not in right and self._begins_anew(apart=apart, doubted=doubted):
                left, doubted = count + _AFRESH, False
        if doubted:
            self._trial.probes_apart = False

    def _was_blurred(self, phase: int, seen: Sequence[Mapping[str, float]]) -> bool:
        """Whether late packets made the readings differ from the load, so that they did not show the quietest node."""
        if not self._load.sends_packets:
            return False
        load, resolution = self._load.phases[phase], self._load.claims.resolution
        quietest = min(load, key=load.__getitem__)
        return any(
            node != quietest or gap <= resolution for node, gap in (quietest_of(rates, tuple(load)) for rates in seen)
        )

    def _was_late(self, pods: Sequence[Pod], seconds: float = math.inf) -> bool:
        """Whether one of these pods, which took `seconds`, was placed late, as on a busy machine.

        If so, returns once the candidate has had the time that it claims to need after a late response.
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

    def _begins_anew(self, *, apart: bool, doubted: bool = False) -> bool:
        """Whether a probe that went elsewhere may be due to earlier probes, so that all are repeated."""
        if apart:
            # It went elsewhere for another reason than placements. Whether they count is open again in the next case.
            counted = self._load.claims.own_placements == "counted"
            self._settled, self._trial.probes_apart, self._trial.placements_count = True, counted, counted
        known = self._trial.probes_apart and not doubted
        if self._settled or known or self._load.claims.own_placements == "ignored":
            return False
        # One sign may have another reason; a second one is proof.
        self._trial.placements_count = self._trial.probes_apart
        self._trial.probes_apart = True
        return True

    def _moments(self, begin: float, end: float) -> list[float]:
        """Return the moments at which the candidate may have read the traffic that it decided by, the last one first.

        Scripted readings do not change. Packets may be late on a busy machine, and only the candidate may see that.
        """
        if not self._load.sends_packets:
            return [end]
        steps = max(1, math.ceil((end - begin) / self._trial.cluster.scrape_interval))
        return [end - (end - begin) * number / steps for number in range(steps + 1)]

    def _note_readings(self, pod: Pod, begin: float) -> list[Mapping[str, float]]:
        """Record and return what the candidate may have read from `begin` (seconds since the epoch) until now."""
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

        `among` are the nodes where such a pod fits; default: all.

        Then the control gets the same probes until it was wrong once in this case. That shows that the probes
        distinguish a scheduler that considers traffic from one that does not.
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

    def ask_until(self, end: float, among: Sequence[str]) -> None:
        """Create one pod after the other for these nodes until `end`, on the monotonic clock.

        The candidate never rests meanwhile: some read the traffic only if they have not just used what they have.
        """
        while time.monotonic() < end:
            pod = self._pods.create("meanwhile", role="meanwhile", cpu="10m", affinity=confined(among))
            self._expect.bound([pod])
            self._pods.delete([pod])
            until(min(end, time.monotonic() + _PAUSE))

    def waiting_probes(self, count: int, toleration: Mapping[str, str]) -> list[Pod]:
        """Create pods for `release` that have no feasible node, because they lack a toleration."""
        pods = [
            self._pods.create("waits", role="waits", cpu="100m", owner=self.owner) for _ in range(_most_asked(count))
        ]
        self._expect.pending(pods, tolerations=[toleration])
        return pods

    def release(self, pods: Sequence[Pod], phase: int, count: int, toleration: Mapping[str, str]) -> None:
        """Like `probe`, with pods that have waited: one after the other gets the toleration that it lacks."""
        waiting = iter(pods)

        def ask() -> Pod:
            pod = next(waiting)
            self._pods.tolerate(pod, toleration, phase=phase)
            self._expect.bound([pod], self._context.deadlines.requeue)
            return pod

        self.probe(phase, count, ask=ask, spare=_SPARE, tolerations=[toleration])
        self._pods.delete(list(waiting))

    def refused_probes(self, gate: BindingWebhook, load: Mapping[str, float], count: int) -> None:
        """Like `probe`, with pods whose Bindings are refused until this load has lasted for window plus refresh.

        From then on, no earlier decision may be used, even by a candidate that posts a Binding again before it
        decides anew. All Bindings are allowed at once, so that the back-offs pass together; one by one if probes
        have pauses, or if traffic only breaks ties.
        """
        before, phase, quietest = self._load.phases[-1], len(self._load.phases), min(load, key=load.__getitem__)
        left, again, breaks_ties = count, True, self._load.claims.priority == "tie-breaker"
        while left:
            # Bound pods take room, which may count before traffic.
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

    def _refused(self, gate: BindingWebhook, role: str) -> Pod:
        """Create a pod whose Bindings are refused, and wait for the first of them."""
        gate.refuse(self._pods.next_name("refused"))
        pod = self._pods.create("refused", role=role, cpu="10m", owner=self.owner)
        if not gate.await_call(pod.name):
            self._expect.bound([pod])
        return pod

    def _let_go(self, gate: BindingWebhook, pods: Sequence[Pod], phase: int) -> set[str]:
        """Stop refusing the Bindings of these pods, and return the nodes that they go to. `phase`: of the load."""
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
        """Wait until the candidate has reported for all these pods that it does not schedule them now.

        It may take as long for each as for a pod that it binds, because its queries to Prometheus are the same.
        """
        for pod in pods:
            self._status.await_condition([pod], "PodScheduled", self._context.deadlines.bind)

    def expect_recovered(self, pods: Sequence[Pod]) -> None:
        """Give the candidate the time in which it claims to bind these pods after an outage."""
        claimed = self._load.claims.recovers_within
        recovery = Deadline(RECOVERY, claimed, _CLAIMED) if claimed is not None else self._context.deadlines.requeue
        self._expect.bound(pods, recovery)

    def await_recovery(self, phase: int) -> bool:
        """Create pods until the claimed time to recover is over or the preference is back; return whether it is back.

        It is back after as many right answers in a row as a random choice does not give. A choice without readings can
        be the same each time, and right by chance: `seek` then goes on asking until the claimed time is over.

        If it does not come back, no pods are created at the end, for as long as a placement may count, so that earlier
        placements excuse no later answer.
        """
        claimed = self._load.claims.recovers_within or 0.0
        due = self._recovered_by = time.monotonic() + claimed
        last = self._last_asked()
        load = self._load.phases[phase]
        quietest = min(load, key=lambda node: load[node])
        in_a_row = 0
        while in_a_row < self._chance.probes(1):
            self.keep_apart()
            if time.monotonic() >= last:
                self._rest_until_recovered()
                break
            pod = self._pods.create("recovery", role="recovery", phase=phase, cpu="100m")
            self._expect.wait_bound([pod], Deadline(RECOVERY, max(0.0, due - time.monotonic()), _CLAIMED))
            in_a_row = in_a_row + 1 if self._pods.node_of(pod) == quietest else 0
            self._pods.delete([pod])
            # A pod that is deleted before it is bound may have been decided, and may count.
            self._recorder.placed_at = self._recorder.now()
        return in_a_row == self._chance.probes(1)

    def _last_asked(self) -> float:
        """When to create the last pod before the claimed time to recover is over, on the monotonic clock."""
        claimed, counting = self._load.claims.recovers_within or 0.0, self._load.claims.counting
        rests = OwnPlacements(self._trial).may_count and counting < claimed
        return self._recovered_by - (counting if rests else 0.0)

    def _rest_until_recovered(self) -> None:
        """Wait until the claimed time to recover is over, and no placement counts."""
        if self._last_asked() < self._recovered_by:
            until(self._recovered_by)
            OwnPlacements(self._trial).wait()

    def outlast_back_off(self) -> None:
        """Let an outage continue while the pauses between the candidate's queries grow, as far as that can matter.

        It ends when a pause is as long as the claimed recovery, which shows what an outage of minutes would show.
        The first pause has grown if it is longer than the claimed refresh. Only candidates that poll make queries
        meanwhile.
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
                raise NotYet("it has made no further query")

        return self._expect.patiently(asked, Deadline("next query", seconds, _CLAIMED), "another query to Prometheus")

    def _pauses(self) -> list[float]:
        """Return seconds: the claimed refresh, then the pauses between the queries of this outage."""
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
    """Return how often `seek` asks at most: it starts over with the last probe, and repeats `_SPARE` of them."""
    return 2 * count + _AFRESH + _SPARE
