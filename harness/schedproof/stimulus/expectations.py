"""What is expected of the candidate: it is given the time that it claims to take, and what it was given is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from schedproof.foundation.deadlines import AGAIN, LATE, TOLD, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, until
from schedproof.history.acts import Expect, Fence, Missed, Unseen
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import TIMESTAMP, Pod


class CaseOver(Exception):  # noqa: N818 - an outcome, not an error
    """The candidate has missed a deadline: the judge has what it needs, and whatever follows would only wait again."""


class Expectations:
    """Nothing is judged here: that a deadline was missed is on record, and ends the case."""

    def __init__(self, context: Context, pods: PodChanges) -> None:
        self._clause, self._trial, self._recorder = context.clause, context.trial, context.recorder
        self._deadlines = context.deadlines
        self._pods = pods
        self.over = False
        """Whether a deadline was missed."""
        self._kept: dict[str, float] = {}
        """For how long which processes were kept from running during the last wait, if that was in vain."""

    # -- outcomes of pods

    def bound(self, pods: Sequence[Pod], deadline: Deadline | None = None) -> None:
        """Give the candidate until `deadline` to bind these pods; as long as it claims to take, if not given.

        Raises:
            CaseOver: it did not.
        """
        due = self.due(deadline or self._deadlines.bind)
        self.wait_bound(pods, due)
        self.were_due(pods, due)

    def were_due(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Put on record that these pods were to be bound by now, after a wait of `deadline`.

        Raises:
            CaseOver: they are not.
        """
        if not self._note_due(pods, deadline):
            self.end_early()

    def bound_in_time(self, pods: Sequence[Pod]) -> bool:
        """As `bound`, but that says whether they were, for a case that goes on all the same."""
        due = self.due(self._deadlines.bind)
        self.wait_bound(pods, due)
        return self._note_due(pods, due)

    def pending(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit nowhere."""
        self.let_decide(pods, **sentinel)
        self.record("pending", pods, self._deadlines.bind)

    def unwilling(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Let the candidate decide on these pods, which fit, but which it claims not to schedule as things are."""
        self.let_decide(pods, **sentinel)
        self.record("unwilling", pods, self._deadlines.bind)

    def decided(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Give the candidate its time to bind those of these pods that fit somewhere; the others are to stay.

        None of them is in another one's way, so that which they are does not depend on what is bound first.
        """
        fitting = [pod for pod in pods if self._pods.fits(pod)]
        self.bound(fitting)
        self.pending([pod for pod in pods if pod not in fitting], **sentinel)

    def so_many_bound(self, pods: Sequence[Pod], count: int, **sentinel: Any) -> None:
        """Give the candidate its time to bind `count` of these pods, whichever it likes; the others are to stay."""
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
        """A sentinel pod that is created now and bound shows that what was created before it has had its turn."""
        guard = self._pods.create("sentinel", role="sentinel", plain=True, **sentinel)
        self.bound([guard])
        self._recorder.add(Fence(case=self._clause, pod=guard.full_name, rv=self._recorder.rv))

    # -- of which they are made

    def _note_due(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        """Put on record that these pods were to be bound by now; whether they are. If not, look on for a while."""
        bound = all(map(self._pods.was_bound, pods))
        self.record("bound", pods, deadline)
        if bound:
            self._trial.schedules()
        else:
            self.wait_bound(pods, LATE)
        return bound

    def let_decide(self, pods: Sequence[Pod], **sentinel: Any) -> None:
        """Fence these pods; once more in another second, where the candidate has not said of all that they wait.

        Pods that were created in one second, and so have the same timestamp, may have their turns in any order.
        """
        self.fence(**sentinel)

        def told() -> None:
            if waiting := [pod.name for pod in pods if not self._pods.is_told(pod)]:
                raise NotYet(f"no condition or event reports on {', '.join(waiting[:5])}")

        if not self.patiently(told, TOLD, "pods to have a condition or event"):
            until(time.monotonic() + TIMESTAMP)
            self.fence(**sentinel)

    def due(self, deadline: Deadline) -> Deadline:
        """A deadline, or that of a takeover where that is longer: the candidate has scheduled nothing since its start.

        It may have to wait until the lease of the one that was killed has run out.
        """
        takeover = self._deadlines.takeover
        return takeover if self._trial.taking_over and takeover.seconds > deadline.seconds else deadline

    def wait_bound(self, pods: Sequence[Pod], deadline: Deadline) -> bool:
        """Whether these pods are bound in time; nothing is expected of them."""

        def bound() -> None:
            waiting = [pod.name for pod in pods if not self._pods.was_bound(pod)]
            if waiting:
                raise NotYet(f"not bound: {', '.join(waiting[:5])} ({len(waiting)} of {len(pods)})")

        in_time = self.patiently(bound, deadline, "pods to be bound")
        self._trial.waited(for_nothing=not any(map(self._pods.was_bound, pods)))
        return in_time

    def patiently(self, probe: Callable[[], object], deadline: Deadline, what: str) -> bool:
        """Whether it came to pass. That it did not is for the judge to weigh, so nothing is raised.

        The time for which the candidate was kept from running does not count. One whose process has ended gets no more.
        """

        def attempt() -> bool:
            self._recorder.check()
            try:
                probe()
            except NotYet:
                if self._trial.attachment.ended:
                    return False
                raise
            return True

        self._kept = {}
        stretch = self._trial.usable_time.begin()
        try:
            return stretch.wait_for(attempt, deadline, what=what, wake=self._recorder.changed)
        except DeadlineExceededError:
            self._kept = stretch.kept()
            return False

    def said(self, probe: Callable[[], object], deadline: Deadline, what: str) -> None:
        """Give the candidate until `deadline` to say something. That it did not is on record.

        Where it has never said this in the run, and has missed the whole deadline before, it gets less time (`AGAIN`).
        """
        due = AGAIN if self._trial.never_did(what) and AGAIN.seconds < deadline.seconds else deadline
        in_time = self.patiently(probe, due, what)
        self._trial.did(what, in_time=in_time)
        if not in_time:
            self._recorder.add(
                Missed(case=self._clause, what=what, within=due.seconds, deadline=due.name, kept=self._kept)
            )

    def record(self, outcome: str, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Put on record what is expected of these pods."""
        self._trial.attachment.report_exits()
        for pod in pods:
            self._recorder.add(Expect(
                case=self._clause, pod=pod.full_name, uid=pod.uid, outcome=outcome,
                rv=self._recorder.newest, within=deadline.seconds, deadline=deadline.name, kept=self._kept,
            ))  # fmt: skip

    def unseen(self, reason: str, *, rv: int | None = None) -> None:
        """Put on record that the candidate has not seen what it had to; as of revision `rv`, or of now."""
        self._recorder.add(Unseen(case=self._clause, rv=self._recorder.rv if rv is None else rv, reason=reason))

    def end_early(self) -> NoReturn:
        """There is nothing more to try in this case."""
        self.over = True
        raise CaseOver(self._clause)
