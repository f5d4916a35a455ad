"""Of two instances that elect a leader only the leader schedules; what becomes of pods when the leader fails."""

from __future__ import annotations

import math

from schedproof.candidate.claims import LEADER_ELECTION
from schedproof.history.acts import Election
from schedproof.history.history import Attempt, History
from schedproof.judge.clause import AUDIT, CUT_APISERVER, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed


def _no_election_of_its_own(kind: str) -> str:
    """Why the feature is not tried for a candidate of this kind; "" if it is."""
    if kind not in ("extender", "plugin"):
        return ""
    return f"a second instance is tried for controllers only: for {kind}s kube-scheduler elects the leader"


@gives("bound-by-non-leader", "no-takeover", "not-applicable", also=[judge_placement])
def judge_leader(history: History, case: str) -> Finding:
    """Pods were bound in time, whichever instance led, and only by the leader.

    The second instance stands by while the first leads, and takes over while the first is frozen. From then on the
    first binds nothing, and once it has had the time to see that it lost the lease, it attempts nothing: an attempt
    just after it is thawed, of a decision made before, is refused by the apiserver, as client-go warns (leaderelection
    is not fencing).
    """
    if reason := _no_election_of_its_own(history.run.candidate.kind):
        return not_claimed(reason)
    moments = {record.event: record.at for record in history.of(Election, case)}
    second = next((record.user for record in history.of(Election, case)), "")
    begin, frozen = moments.get("second-started", math.inf), moments.get("first-frozen", math.inf)
    awake, end = moments.get("first-awake", math.inf), moments.get("second-ends", math.inf)
    tried = [attempt for attempt in history.attempts if begin <= attempt.received < end]
    by_second = [attempt for attempt in tried if attempt.user == second]
    if early := [attempt for attempt in by_second if attempt.received < frozen]:
        return _bound_by(early[0], "the second instance", "the first instance led")
    taken_over = min((attempt.completed for attempt in by_second if attempt.succeeded), default=math.inf)
    for attempt in tried:
        after_lead = attempt.received > (taken_over if attempt.succeeded else awake)
        if after_lead and attempt.user in history.run.users.candidate and attempt.user != second:
            return _bound_by(attempt, "the first instance", "the second instance had taken over")
    finding = judge_placement(history, case)
    if finding.outcome == "passed" and (taken_over == math.inf or awake == math.inf):
        return invalid("no-takeover", "the second instance was not seen to take over")
    return finding


def _bound_by(attempt: Attempt, instance: str, when: str) -> Finding:
    did = "bound" if attempt.succeeded else "tried to bind"
    return failed(
        "bound-by-non-leader",
        f"{instance} {did} {attempt.pod} to {attempt.node} ({attempt.code}), although {when}",
    )


CLAUSES = (
    Clause(
        "core/leader", "Of two instances only the leader schedules; when it is paused, the other takes over for good.",
        "client-go: leaderelection; Kubernetes: Lease", judge_leader, needs=AUDIT | CUT_APISERVER,
        features=frozenset({LEADER_ELECTION}), stands_on=STEERED,
        hint=(
            "Stand by until the lease is acquired, renew it from its own thread, and exit when it is lost."
        ),
    ),
)  # fmt: skip
