"""Waits for what the candidate is expected to do, as long as it claims to take, and records the expectation."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from schedproof.foundation.deadlines import AGAIN, BIND, LATE, REPORTED, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, until
from schedproof.history.acts import Expect, Expected, Fence, MadeWay, Missed, Unseen
from schedproof.judge.rulings.lateness import too_busy
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import CaseOver, Context
from schedproof.stimulus.pods import TIMESTAMP, Pod


class Expectations:
    """Records what is expected of pods, and ends the case at a missed deadline. It judges nothing."""

    def __init__(self, context: Context, pods: PodChanges) -> None:
        self._clause, self._trial, self._recorder = context.clause, context.trial, context.recorder
        self._deadlines = context.deadlines
        self._pods = pods
        self.over = False
        """Whether a deadline was missed."""
        self._kept: dict[str, float] = {}
        """Process to seconds for which it was kept from running during the last wait; empty if that wait succeeded."""
        self._slowest = 0.0
        """Seconds of the longest wait of `bound_while_owed` that succeeded."""

    # -- outcomes of pods

    def bound(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> None:
        """Wait until the candidate has bound these pods, by default for as long as it claims to take.

        Raises:
            CaseOver: the deadline was missed.
        """
        if not self.bound_in_time(pods, deadline):
            self.end_early()

    def were_due(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Record that these pods were due by now, after a wait of `deadline`.

        Raises:
            CaseOver: a pod is not bound.
        """
        if not self.note_due(pods, deadline):
            self.end_early()

    def bound_after_evictions(self, preemptor: Pod, wake: Callable[[], object]) -> None:
        """Like `bound` with the deadline for retries, for a pod for which several pods are evicted.

        `wake` is called in the middle of the wait; it changes the cluster so that a scheduler tries waiting pods again.
        If kube-scheduler retries such a pod before it has seen the end of the last victim, no further event wakes the
        pod (kubernetes/kubernetes#141694). Clauses with a single victim judge whether evictions wake it.

        Raises:
            CaseOver: the deadline was missed.
        """
        due = self.due(self._deadlines.requeue)
        if not self._await_bound([preemptor], dataclasses.replace(due, seconds=due.seconds / 2)):
            wake()
        self.bound([preemptor], due)

    def bound_in_time(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> bool:
        """Like `bound`, but return whether all were bound, for a case that continues after a missed deadline."""
        deadline = deadline or self._deadlines.bind
        self.wait_bound(pods, self.due(deadline))
        return self.note_due(pods, self.due(deadline))

    def bound_while_owed(
        self, pods: Sequence[Pod], is_owed: Callable[[Pod], bool], *, record: bool = True
    ) -> list[Pod]:
        """Wait until none of these pods is owed a Binding; return those that still are after the claimed time.

        Pods that compete for room keep each other off, so nothing is expected of a pod that is no longer owed one.

        Args:
            pods: pods that may fit after a change.
            is_owed: whether a pod that is not bound fits somewhere, where it has to be bound.
            record: whether the expectation is recorded.
        """
        due = self.due(self._deadlines.requeue)
        if not record:
            due = dataclasses.replace(due, seconds=min(due.seconds, max(AGAIN.seconds, 2 * self._slowest)))

        def owed() -> list[Pod]:
            return [pod for pod in pods if not self._pods.was_bound(pod) and is_owed(pod)]

        def decided() -> None:
            if waiting := owed():
                raise NotYet(f"not bound: {', '.join(pod.name for pod in waiting[:5])}")

        begin = time.monotonic()
        self.patiently(decided, due, "pods that have come to fit to be bound", in_vain=self._in_vain())
        left = owed()
        if not left:
            self._slowest = max(self._slowest, time.monotonic() - begin)
            self._trial.schedules()
        if record:
            self.record("bound", [pod for pod in pods if pod in left or self._pods.was_bound(pod)], due)
            self.wait_bound(left, LATE)
        return left

    def pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, for which no node is feasible."""
        self.let_decide(pods, **sentinel)
        self.record("pending", pods, self._deadlines.bind)

    def unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule in this state."""
        self.let_decide(pods, **sentinel)
        self.record("unwilling", pods, self._deadlines.bind)

    def decided(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Wait until the candidate has bound the pods that have a feasible node; the others have to stay pending.

        The pods do not compete for room, so that the order of Bindings does not change which of them fit.
        """
        fitting = [pod for pod in pods if self._pods.fits(pod)]
        self.bound(fitting)
        self.pending([pod for pod in pods if pod not in fitting], **sentinel)

    def so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Wait until the candidate has bound any `count` of these pods; the others have to stay pending."""
        was_bound = self._pods.was_bound

        def bound() -> None:
            if (so_far := sum(map(was_bound, pods))) < count:
                raise NotYet(f"{so_far} of {count} are bound")

        due = self.due(self._deadlines.bind)
        if self.patiently(bound, due, "pods to be bound"):
            self.fence(**sentinel)
        in_order = sorted(pods, key=lambda pod: not was_bound(pod))
        self.record("bound", in_order[:count], due)
        self.record("pending", in_order[count:], due)
        if not was_bound(in_order[count - 1]):
            self.patiently(bound, LATE, "pods to be bound")
            self.end_early()

    def fence(self, **sentinel: Any) -> None:
        """Create a sentinel pod and wait for its Binding, which shows that all earlier pods have been decided."""
        guard = self._pods.create("sentinel", role="sentinel", plain=True, **sentinel)
        self.bound([guard])
        self._recorder.add(Fence(case=self._clause, pod=guard.full_name, rv=self._recorder.rv))

    # -- steps of the above

    def note_due(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        """Record that these pods were due by now, and return whether all are bound. If not, watch a while longer."""
        bound = all(map(self._pods.was_bound, pods))
        self.record("bound", pods, deadline)
        if bound:
            self._trial.schedules()
        else:
            self.wait_bound(pods, LATE)
            self._make_way(pods, deadline)
        return bound

    def _make_way(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Delete older pods that wait, to see whether pods that fit and are not bound are kept off for them.

        Some schedulers reserve a node for a pod that waits for room there. Nothing is done for pods that were to be
        bound after a change. The deletion itself may be what a pod is tried again for, so a bound pod is deleted first:
        if that suffices, nothing is recorded.
        """
        unbound = [pod for pod in pods if not self._pods.was_bound(pod)]
        waiting = self._pods.waiting_before(unbound[0]) if unbound else []
        if not waiting or deadline.name != BIND.name or self._wakes(unbound) or self._trial.attachment.ended:
            return
        uids = [[pod.uid for pod in some] for some in (waiting, unbound)]
        self._recorder.add(MadeWay(case=self._clause, waiting=uids[0], unbound=uids[1]))
        self._pods.delete(waiting)
        self._wakes(unbound)

    def _wakes(self, pods: Sequence[Pod]) -> bool:
        """Return whether the deletion of a bound pod, after which schedulers try waiting pods again, suffices."""
        self._pods.delete([self._pods.fill(self._trial.cluster.nodes[0])])
        return self._await_bound(pods, LATE)

    def let_decide(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Fence these pods; a second time, a second later, if the candidate has not reported all of them as waiting.

        Pods that were created in the same second have the same timestamp, and may be decided in any order.
        """
        self.fence(**sentinel)

        def reported() -> None:
            if waiting := [pod.name for pod in pods if not self._pods.is_reported(pod)]:
                raise NotYet(f"no condition or event reports on {', '.join(waiting[:5])}")

        if not self.patiently(reported, REPORTED, "pods to have a condition or event"):
            until(time.monotonic() + TIMESTAMP)
            self.fence(**sentinel)

    def due(self, deadline: Deadline) -> Deadline:
        """Return `deadline`, or the takeover's if it is longer and the candidate has scheduled nothing since its start.

        The candidate may have to wait until the Lease of the killed instance expires, unless the record shows that this
        is not why it binds nothing.
        """
        takeover = self._deadlines.takeover
        may_wait = self._trial.taking_over and not self._trial.in_vain
        return takeover if may_wait and takeover.seconds > deadline.seconds else deadline

    def wait_bound(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        """Return whether these pods are bound in time, without recording an expectation."""
        in_time = self._await_bound(pods, deadline)
        self._trial.note(self._clause, "binds" if any(map(self._pods.was_bound, pods)) else "binds-nothing")
        return in_time

    def _await_bound(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        def bound() -> None:
            waiting = [pod.name for pod in pods if not self._pods.was_bound(pod)]
            if waiting:
                raise NotYet(f"not bound: {', '.join(waiting[:5])} ({len(waiting)} of {len(pods)})")

        return self.patiently(bound, deadline, "pods to be bound", in_vain=self._in_vain())

    def _in_vain(self) -> Callable[[], bool]:
        """Return a function that says whether a wait for Bindings that begins now is in vain, by the record.

        It looks into the record once the claimed time to bind a pod is over, and again every few seconds.
        """
        bind, trial = self._deadlines.bind.seconds, self._trial
        begin, interval = time.monotonic(), trial.usable_time.begin()
        looks_at = begin + bind

        def in_vain() -> bool:
            nonlocal looks_at
            if trial.in_vain or (now := time.monotonic()) < looks_at:
                return trial.in_vain
            due = begin + bind + interval.extension(bind)
            looks_at = max(due, now + LATE.seconds)
            return now >= due and trial.look_into_record(late=now >= due + LATE.seconds)

        return in_vain

    def patiently(
        self,
        probe: Callable[[], object],
        deadline: Deadline,
        what: str,
        *,
        in_vain: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Return whether `probe` succeeds by `deadline`. A miss raises nothing: the judge weighs it.

        Time for which the candidate was kept from running does not count. The wait ends early if its process has ended,
        or if it is `in_vain`.
        """

        def attempt() -> bool:
            self._recorder.check()
            try:
                probe()
            except NotYet:
                if self._trial.attachment.ended or in_vain():
                    return False
                raise
            return True

        self._kept = {}
        interval = self._trial.usable_time.begin()
        try:
            return interval.wait_for(attempt, deadline, what=what, wake=self._recorder.changed)
        except DeadlineExceededError:
            self._kept = interval.kept()
            return False

    def reported(self, probe: Callable[[], object], deadline: Deadline, what: str) -> None:
        """Wait for a report of the candidate, such as a condition or an event, and record a missed deadline.

        A candidate that has never made this report in the run, and has missed its full deadline once, gets `AGAIN`.
        """
        due = AGAIN if self._trial.never_did(what) and AGAIN.seconds < deadline.seconds else deadline
        in_time = self.patiently(probe, due, what)
        if in_time or not too_busy(self._kept, due.seconds):
            self._trial.did(what, in_time=in_time)
        if not in_time:
            self._recorder.add(
                Missed(case=self._clause, what=what, within=due.seconds, deadline=due.name, kept=self._kept)
            )

    def record(self, outcome: Expected, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Record the expected outcome of these pods."""
        self._trial.attachment.report_exits()
        for pod in pods:
            self._recorder.add(Expect(
                case=self._clause, pod=pod.full_name, uid=pod.uid, outcome=outcome,
                rv=self._recorder.newest, within=deadline.seconds, deadline=deadline.name, kept=self._kept,
            ))  # fmt: skip

    def unseen(self, reason: str, *, rv: int | None = None) -> None:
        """Record that the candidate has not seen what it had to see, as of revision `rv` (default: the current one)."""
        self._recorder.add(Unseen(case=self._clause, rv=self._recorder.rv if rv is None else rv, reason=reason))

    def end_early(self) -> NoReturn:
        """End the case: it has nothing more to try."""
        self.over = True
        raise CaseOver(self._clause)
