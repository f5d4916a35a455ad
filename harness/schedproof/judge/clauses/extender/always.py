"""`extender/answers`: in the whole run, every call of a configured verb gets a response that kube-scheduler can use.

kube-scheduler ignores a failed prioritize, and tries again after other failed verbs: no other clause would notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus

from schedproof.documents.extender_answers import VERBS
from schedproof.history.acts import CasePhase, LineFault, NodesLoad
from schedproof.history.history import History
from schedproof.history.observations import ExtenderCall, ProcessEvent, WatchEvent
from schedproof.judge.clause import Clause
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.extender_calls import (
    ONLY_PREEMPT,
    answered_in_time,
    calls,
    configuration,
    flaw,
    never_called,
    unanswered,
)
from schedproof.judge.rulings.timeline import log_tails
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

_MARGIN = 1.0
"""Seconds: the audit log, the watch and the tap see the same event at different times."""
_SLOW = 1.0
"""Seconds from which a Binding is slow: its client may have timed out before it was carried out."""


@gives("call-failed", "not-applicable", "not-called")
def judge_answers(history: History, _case: str) -> Finding:
    """Every call by kube-scheduler got status 200 and the verb's result, unless there was a reason for an error."""
    made = [(name, call) for name in VERBS for call in calls(history, name)]
    if not made:
        configured = ", ".join(name for name in VERBS if configuration(history).get(name))
        if configured == "preemptVerb":
            return not_claimed(ONLY_PREEMPT)
        return invalid("not-called", never_called(history, configured or "it"))
    excuses = _Excuses(history)
    wrong = [(name, call, text) for name, call in made if (text := _wrong(call, name)) and not excuses.has(name, call)]
    if wrong:
        wrong.sort(key=lambda found: found[1].begun)
        name, call, text = wrong[0]
        where = Counter(_case_of(history, call) for _, call, _ in wrong)
        cases = ", ".join(f"{case or 'no case'} ({count})" for case, count in where.most_common(5))
        ignored = "; kube-scheduler ignores that silently" if name == "prioritizeVerb" else ""
        return failed(
            "call-failed",
            f"{name} for {call.pod}: {text}{ignored}. {len(wrong)} of {len(made)} calls, in {cases}",
            Evidence(
                timeline=[f"{found.begun:8.3f}s  {_case_of(history, found)}: {what}" for _, found, what in wrong[:20]],
                logs=log_tails(history, _case_of(history, call)),
            ),
        )
    answered = Counter(name for name, _ in made)
    return passed(", ".join(f"{name}: {answered[name]} calls got a response" for name in VERBS if answered[name]))


def _case_of(history: History, call: ExtenderCall) -> str:
    """The case in which a call began, or the last case before it; "" before the first case."""
    begun = [r.case for r in history.of(CasePhase) if r.phase == "begin" and r.at <= call.begun]
    return str(begun[-1]) if begun else ""


def _wrong(call: ExtenderCall, name: str) -> str:
    """What is wrong with a response as kube-scheduler reads it; "" if nothing is.

    Error in the response to a filter is correct: the pod waits, and its condition has the text.
    """
    text = flaw(call, name)
    if not text and name == "bindVerb" and call.error:
        text = f"the response to {call.request} has Error: {call.error}"
    return text


_MADE_UP = "normalize/"
"""The clauses of this profile generate readings: in some questions some nodes, or all, have none."""


class _Excuses:
    """Why a call may have no response."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._stops = [*_stops(history), *history.cuts]
        self._without_readings = {
            record.case for record in history.of(LineFault) if record.on and record.line == "prometheus"
        } | {record.case for record in history.of(NodesLoad) if len(record.traffic) < len(history.run.cluster.nodes)}
        self._without_readings |= {r.case for r in history.of(CasePhase) if r.case.startswith(_MADE_UP)}
        self._audited = "audit" in history.run.cluster.capabilities

    def has(self, name: str, call: ExtenderCall) -> bool:
        begin, end = call.begun, call.at
        if any(begin <= resumed and stopped <= end for stopped, resumed in self._stops):
            return True
        if name == "bindVerb":
            return self._refused(call)
        return not unanswered(call) and self._has_no_readings(name, call)

    def _has_no_readings(self, name: str, call: ExtenderCall) -> bool:
        """Whether the error status is what the candidate claims to respond without readings.

        503 says that there is no preference now; any other status from prioritize is a fault. A filter that may keep
        pods waiting may use any error.
        """
        if _case_of(self._history, call) not in self._without_readings:
            return False
        network = self._history.claims.network
        waits = network is None or network.on_outage != "schedule" or network.on_missing in ("reject", None)
        return call.status == HTTPStatus.SERVICE_UNAVAILABLE or (
            name == "filterVerb" and waits and call.status >= HTTPStatus.BAD_REQUEST
        )

    def _refused(self, call: ExtenderCall) -> bool:
        """Whether the Binding was refused, or was slow, or its pod was deleted: bind must report that."""
        if not self._audited:
            return True
        if unanswered(call) and answered_in_time(self._history, call):
            return False  # a failed Binding is no reason to hang up
        begin, end = call.begun - _MARGIN, call.at + _MARGIN
        attempts = [a for a in self._history.attempts_at(call.pod) if a.received <= end and a.completed >= begin]
        if any(not attempt.succeeded or attempt.completed - attempt.received > _SLOW for attempt in attempts):
            return True
        return any(
            event.resource == "pods"
            and (event.type == "DELETED" or event.object["metadata"].get("deletionTimestamp"))
            and f"{event.object['metadata']['namespace']}/{event.object['metadata']['name']}" == call.pod
            and event.at <= end
            for event in self._history.of(WatchEvent)
        )


def _stops(history: History) -> Iterator[tuple[float, float]]:
    """When the harness stopped a part of the candidate, and when it had restarted it."""
    events = [record for record in history.of(ProcessEvent) if record.event in ("started", "stopped")]
    for number, event in enumerate(events):
        if event.event == "stopped":
            again = (later.at for later in events[number:] if later.name == event.name)
            next(again)
            yield event.at, next(again, float("inf"))


CLAUSES = (
    Clause(
        "extender/answers",
        "In the whole run, each call of a configured verb gets a response without an error that kube-scheduler can "
        "read.",
        "extender API: kube-scheduler ignores a prioritize that fails, and tries again after the other verbs",
        judge_answers, always=True,
        hint="Respond to every verb with 200 and its JSON in time; put problems into Error.",
    ),
)  # fmt: skip
