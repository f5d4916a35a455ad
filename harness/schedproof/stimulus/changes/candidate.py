"""Changes of the candidate itself: its processes, its connection to the apiserver, its Bindings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from schedproof.candidate.scheduler_config import NO_LEADER_ELECTION
from schedproof.clusters.api import NotFound
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import Election, ElectionEvent, Halted, Resumed
from schedproof.history.observations import ApiRequest, LeaseHolder
from schedproof.judge.clauses.core.reconnecting import MOST_VERSIONS, VERSIONS, versions_to
from schedproof.stimulus.changes.binding_webhook import BindingWebhook
from schedproof.stimulus.changes.second_apiserver import LineToSecond, cut_off
from schedproof.stimulus.changes.token_rotation import TokenRotation
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations

LEASE = "kube-scheduler"
"""The name of the Lease of a cluster's own scheduler; Kubernetes' own roles give schedulers rights on it."""
_STEPS_DOWN = 13.0
"""Seconds for which a frozen leader may continue once it wakes: client-go's default RenewDeadline (10) and
RetryPeriod (2), and a second to end."""


class CandidateChanges:
    """Contexts that change the candidate, and restore it at their end."""

    def __init__(self, context: Context, expect: Expectations) -> None:
        self._context, self._expect = context, expect
        self._clause, self._trial, self._recorder = context.clause, context.trial, context.recorder
        self._had_trouble = False

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """A context in which the candidate's processes do not run."""
        attachment = self._trial.attachment
        attachment.halt()
        self._recorder.add(Halted(case=self._clause))
        try:
            yield
        finally:
            # Taken before the start: requests from the start on come after the mark.
            mark = self._recorder.mark()
            attachment.resume()
            self._recorder.add(Resumed(case=self._clause, mark=mark))

    def restart(self) -> None:
        """Stop the candidate's processes, and start them again."""
        with self.down():
            pass

    def try_to_restart(self) -> None:
        """Restart the candidate; if it does not start, leave it stopped."""
        try:
            self.restart()
        except CandidateError:
            self._trial.attachment.report_exits()

    @contextlib.contextmanager
    def second_instance(self) -> Iterator[None]:
        """A context in which a second instance of the candidate runs, and has made a request to the apiserver.

        At its end both are stopped, and the first is started again, which may have to wait for the Lease to expire.
        """
        attachment = self._trial.attachment
        attachment.start_second()
        self._note_election("second-started")
        try:
            user = attachment.second_user

            def has_asked() -> None:
                self._recorder.catch_up()
                if not any(isinstance(r, ApiRequest) and r.user == user for r in self._recorder.records):
                    raise NotYet(f"{user} has made no request")

            if not self._expect.patiently(has_asked, CANDIDATE_READY, "a request of the second instance"):
                self._expect.unseen("its second instance made no request to the apiserver")
                self._expect.end_early()
            yield
            self._note_election("second-ends")
        finally:
            attachment.halt()
            attachment.resume()

    @contextlib.contextmanager
    def first_frozen(self) -> Iterator[None]:
        """A context in which the first instance is frozen, without notice.

        Ends once the instance has had time to catch up with its watches, and to notice that it lost the Lease.
        """
        with self._trial.attachment.first_frozen():
            self._note_election("first-frozen")
            yield
        self._note_election("first-thawed")
        timing = self._trial.candidate.claims.timing
        # Its RenewDeadline is shorter than a Lease, which has to expire before another instance takes over.
        claimed = 0.0 if timing.is_default("takeover") else timing.takeover
        self._trial.usable_time.let_pass(max(self._context.freshness, _STEPS_DOWN, claimed))
        self._note_election("first-awake")

    def _note_election(self, event: ElectionEvent) -> None:
        self._recorder.add(Election(case=self._clause, event=event, user=self._trial.attachment.second_user))

    @contextlib.contextmanager
    def electing(self, **election: Any) -> Iterator[None]:
        """A context in which it is configured to elect a leader, by default by a Lease that is free.

        It is restarted at both ends. At the end the holder of the Lease is recorded. Only a compiled scheduler can be
        configured like this.
        """
        attachment, namespace = self._trial.attachment, self._trial.namespace
        attachment.leader_election = election or {
            "leaderElect": True, "resourceName": LEASE, "resourceNamespace": namespace,
        }  # fmt: skip
        try:
            self.restart()
            yield
        finally:
            if not election:
                holder = self._holder_of(namespace)
                self._recorder.add(LeaseHolder(case=self._clause, name=f"{namespace}/{LEASE}", holder=holder))
            attachment.leader_election = NO_LEADER_ELECTION
            with self.down():
                self._context.api.delete_if_there("leases", LEASE, namespace)

    @contextlib.contextmanager
    def profiles_reversed(self) -> Iterator[None]:
        """A context in which the profiles of the candidate's configuration are in the opposite order.

        It is restarted at both ends. Only a compiled scheduler has several profiles.
        """
        attachment = self._trial.attachment
        attachment.profiles_reversed = True
        try:
            self.restart()
            yield
        finally:
            attachment.profiles_reversed = False
            self.restart()

    def _holder_of(self, namespace: str) -> str:
        try:
            return str(self._context.api.get("leases", LEASE, namespace)["spec"].get("holderIdentity") or "")
        except NotFound:
            return ""

    @contextlib.contextmanager
    def apiserver_unreachable(self) -> Iterator[None]:
        """A context in which the candidate cannot reach the apiserver: see `cut_off`. Needs `cut-apiserver`."""
        line = self._trial.attachment.apiserver
        assert line is not None
        self._had_trouble = True
        with cut_off(line, self._recorder, self._clause):
            yield

    @contextlib.contextmanager
    def second_apiserver(self) -> Iterator[LineToSecond]:
        """A context with a second apiserver, which can take over. Needs `second-apiserver`.

        It has ended when the context exits. Its watches ended before, without an error, and can be started again at
        the first one.
        """
        line = self._trial.attachment.apiserver
        assert line is not None
        second = LineToSecond(self._trial.cluster.second_apiserver(), line, self._recorder, self._clause)
        self._had_trouble = True
        try:
            yield second
        finally:
            second.end()

    @contextlib.contextmanager
    def versions_grow(self) -> Iterator[None]:
        """A context in which resourceVersions have one digit less than after it. Needs `advance-versions`.

        If that takes too many versions, nothing is done.
        """
        now = self._trial.cluster.advance_versions(0)
        missing = versions_to(now)
        power, possible = now + missing, missing <= MOST_VERSIONS
        if possible:
            self._trial.cluster.advance_versions(power - VERSIONS)
        self._had_trouble = True
        yield
        if possible:
            self._trial.cluster.advance_versions(power)

    def tokens(self) -> TokenRotation:
        """Return the tokens in its processes' credential files. Needs `cut-apiserver`: its processes then run here."""
        accounts = self._trial.attachment.accounts
        assert accounts is not None
        self._had_trouble = True
        return TokenRotation(self._context, self._expect, accounts)

    def hold_bindings(self, *, statuses: bool = False) -> BindingWebhook:
        """A context in which Bindings can be held or refused; so can writes of `statuses`. Needs `hold-bindings`."""

        def record(kind: str, **fields: Any) -> None:
            self._recorder.note(kind, case=self._clause, **fields)

        patience = self._expect.due(self._context.deadlines.bind)
        trial = self._trial
        return BindingWebhook(trial.cluster, trial.namespace, patience, trial.usable_time, record, statuses=statuses)

    def undo(self) -> None:
        """Restart the candidate, for new watches, if it missed a deadline after the case had disturbed those it had."""
        if self._had_trouble and self._expect.over:
            self.restart()
