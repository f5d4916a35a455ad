"""Whether a scheduler recovers when its watches end, expire or deliver resourceVersions with another digit."""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.acts import AccountTokens, LineFault
from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.judge.clause import (
    ADVANCE_VERSIONS,
    AUDIT,
    CHANGE_NODES,
    CUT_APISERVER,
    IDLE_NODES,
    SECOND_APISERVER,
    SEVERAL_NODES,
    STEERED,
    Clause,
)
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed

MOST_VERSIONS = 20_000
"""At most so many resourceVersions are consumed to reach another digit: a fresh cluster's have four digits.

The next digit after that would take half a minute of all processors.
"""
VERSIONS = 300
"""So many are left for the case itself before the digit changes: about five times as many as it takes."""


def versions_to(version: int) -> int:
    """How many resourceVersions from this one it takes to the next digit that leaves room for a case before it."""
    return int(10 ** len(str(version + VERSIONS))) - version


@gives("no-outage", also=[judge_placement])
def judge_reconnect(history: History, case: str) -> Finding:
    """After its connections had ended, pods were bound in time, by the state that had changed meanwhile."""
    cuts = [fault for fault in history.of(LineFault, case) if fault.line == "apiserver" and fault.on]
    finding = judge_placement(history, case)
    if finding.outcome == "failed":
        summary = f"after its connections to the apiserver had ended: {finding.summary}"
        return failed(finding.code, summary, finding.evidence)
    if not any(cut.connections for cut in cuts):
        return invalid("no-outage", "no connection of the candidate went through the line that was cut")
    return finding


@gives("not-applicable", "not-tried", also=[judge_placement])
def judge_versions(history: History, case: str) -> Finding:
    """Changes of nodes and pods took effect after resourceVersions had gained a digit."""
    begin, end = history.span(case)
    events = [event for event in history.of(WatchEvent) if begin <= event.at <= end]
    alike = [kind for kind in ("nodes", "pods") if len({len(str(e.rv)) for e in events if e.resource == kind}) < 2]
    finding = judge_placement(history, case)
    if finding.outcome == "failed" and not alike:
        return failed(finding.code, f"with another digit in resourceVersions: {finding.summary}", finding.evidence)
    oldest = min((event.rv for event in events), default=0)
    if finding.outcome != "passed" or not alike:
        return finding
    if versions_to(oldest) > MOST_VERSIONS:
        return not_claimed(f"resourceVersions of this cluster are too far from another digit: {oldest:,}")
    return invalid("not-tried", f"resourceVersions of {', '.join(alike)} did not get another digit")


@gives("not-applicable", "not-tried", "token-not-read-again", also=[judge_placement])
def judge_tokens(history: History, case: str) -> Finding:
    """Pods were bound in time although a token had ended, which had been replaced in its file before.

    How long before, the candidate decides: it has been until a request bore the new one, at most for the five minutes
    that Kubernetes' documentation calls often good enough between two looks at the file. A candidate that looks at it
    once a request is answered with 401 Unauthorized has these five minutes as well.
    """
    finding = judge_placement(history, case)
    noted = {record.event: record for record in history.of(AccountTokens, case)}
    borne = {request.credential for request in history.requests()}
    used = "found" in noted and not borne.isdisjoint(noted["found"].credentials)
    if not used or "refused" not in noted:
        if finding.outcome == "failed":
            return finding
        if "found" in noted and not used:
            return not_claimed("no request since its last start had the token of its ServiceAccount's file")
        return invalid("not-tried", "no token was refused")
    if not borne.isdisjoint(noted["replaced"].credentials):
        if finding.outcome == "failed":
            summary = f"after the token of its ServiceAccount's file was replaced: {finding.summary}"
            return failed(finding.code, summary, finding.evidence)
        return finding
    since = noted["refused"].at
    unauthorized = sum(
        request.code == HTTPStatus.UNAUTHORIZED and history.order.times(request)[0] > since
        for request in history.requests()
    )
    if unauthorized:
        summary = (
            f"no request had the new token of its ServiceAccount's file; after the old token expired, {unauthorized} "
            "requests got 401 Unauthorized"
        )
        return failed("token-not-read-again", summary, finding.evidence)
    if finding.outcome == "failed":
        return finding
    return not_claimed("requests had the token of its ServiceAccount's file only at the start")


_WATCH_HINT = (
    "A watch may end at any time: resume it from the last resourceVersion; on 410, list again and drop what is gone."
)


CLAUSES = (
    Clause(
        "core/watch-reconnect",
        "After its connections to the apiserver end, the scheduler reconnects and continues to schedule.",
        "Kubernetes API concepts: a watch may end at any time", judge_reconnect, needs=CUT_APISERVER | CHANGE_NODES,
        stands_on=STEERED,
        hint=_WATCH_HINT,
    ),
    Clause(
        "core/watch-expired",
        "A watch that expires (410 Gone) or that the server ends is started again, and changes in between take "
        "effect, deletions too.",
        "Kubernetes API concepts: 410 Gone, and watches end at any time; client-go: DeletedFinalStateUnknown",
        judge_reconnect, needs=SECOND_APISERVER | CHANGE_NODES | IDLE_NODES, stands_on=STEERED,
        hint=(
            "On 410 Gone list again, and drop what the list lacks; restart a watch that ends without an error too. In "
            "client-go, a DeleteFunc may get a cache.DeletedFinalStateUnknown instead of the object."
        ),
    ),
    Clause(
        "core/watch-versions",
        "Watch events take effect in the order of their delivery, also when resourceVersions gain a digit.",
        "Kubernetes API concepts: resource versions are compared as numbers (KEP-5504), and by many not at all",
        judge_versions, needs=ADVANCE_VERSIONS | CHANGE_NODES, stands_on=STEERED,
        hint=(
            "Apply events in the order of their delivery. If resourceVersions are compared at all, then as numbers, "
            "of the same kind: as texts, 9999 is greater than 10000."
        ),
    ),
    Clause(
        "core/watch-burst",
        "Of many revisions of an object in a row, the last takes effect, whether they come singly or together after "
        "a resumed watch. A large object delays no other.",
        "Kubernetes API concepts: a watch tells of every change; kubelets and controllers write to one object at once",
        judge_reconnect, needs=CUT_APISERVER | CHANGE_NODES | SEVERAL_NODES, stands_on=STEERED,
        hint=(
            "Drop no event when a queue is full, and do not wait until an object stops changing: keep the last "
            "revision of each object, and let pending decisions use it. Read events of any size: bufio.Scanner, for "
            "example, stops at 64 KiB, and an object may have 1.5 MiB."
        ),
    ),
    Clause(
        "core/token-rotated",
        "After its ServiceAccount token is replaced in the file and the old token expires, the scheduler continues "
        "to schedule.",
        "Kubernetes: ServiceAccount token volume projection: the application reloads the token when it rotates",
        judge_tokens, needs=AUDIT | CUT_APISERVER,
        hint=(
            "A kubelet replaces /var/run/secrets/kubernetes.io/serviceaccount/token before it expires: read it again "
            "each minute, as client-go does, in all clients. A client that gets the token as a text at its start "
            "keeps the old one."
        ),
    ),
    Clause(
        "controller/watch-reconnect",
        "Changes to pods and nodes while the apiserver is out of reach take effect afterwards, deletions too.",
        "Kubernetes API concepts: after a watch has ended, resume from its last resourceVersion, or list again",
        judge_reconnect, needs=CUT_APISERVER | CHANGE_NODES | SEVERAL_NODES, stands_on=STEERED,
        hint=_WATCH_HINT,
    ),
)  # fmt: skip
