"""Faults on record beside a finding that may be its cause.

One fault breaks many guarantees: a process that has ended binds nothing, whatever is tried. A finding says which
guarantee was broken; its symptoms are the faults in the record of its case that can lead to such a finding. Findings
with the same symptom have one cause (`schedproof.judge.causes`).
"""

from __future__ import annotations

import collections
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus

from schedproof.candidate.kinds import weighed_beyond_int64
from schedproof.history.acts import Expect, NodesLoad, WorldSearch
from schedproof.history.audit_order import BINDINGS, READING
from schedproof.history.history import History, TestPod
from schedproof.history.observations import ExtenderCall, LogTail, ProcessEvent
from schedproof.judge.codes import Code
from schedproof.judge.evidence import Symptom, SymptomKind
from schedproof.judge.rulings.extender_calls import configuration, described, no_response
from schedproof.judge.rulings.in_vain import sent_nothing, tried_none_of_its_own
from schedproof.judge.rulings.scored import found_something, queries
from schedproof.judge.rulings.served import NOT_SERVED
from schedproof.judge.rulings.unbound import refusals
from schedproof.judge.shown import Shown
from schedproof.judge.verdict import JUDGE_RAISED, Finding

KINDS: Mapping[SymptomKind, Code] = {
    "process-ended": Code(
        "a process of the candidate ends by itself",
        "fix what its last output names; catch errors per pod, and continue with the next pod",
    ),
    "nothing-sent": Code(
        "the candidate sends the apiserver no request",
        "see in its log what it waits for; check its kubeconfig; if it takes longer to start, claim timing.takeover",
    ),
    "request-refused": Code(
        "the apiserver refuses a request of the candidate",
        "grant the verb and the resource in spec.rbac (403), or correct the request (400, 415, 422)",
    ),
    "call-unanswered": Code(
        "the extender's response to a call is not usable for kube-scheduler",
        "respond with 200 and the JSON of extender/v1, in Go's field names, within httpTimeout",
    ),
    "query-refused": Code(
        "Prometheus refuses the candidate's query",
        "correct the query or its parameters: the quoted error is Prometheus' own",
    ),
    "query-without-result": Code(
        "the candidate's query finds no series",
        "compare the names and labels of the query with those that Prometheus has",
    ),
    "blocked": Code(
        "a pod that fits on no node keeps all other pods from being bound",
        "put a pod that cannot be scheduled aside, and continue with the next pod",
    ),
    "none-tried": Code(
        "the candidate reads pods, and tries to bind none of its own",
        "compare the name by which it selects pods with spec.schedulerName, and look in its log for where it stops",
    ),
    "unbound-with": Code(
        "pods with a certain field are not bound, although plain pods are",
        "check how this field is read: the timeline names what the unbound pods have",
    ),
    "weight-overflows": Code(
        "scores times the extender's weight exceed int64, and overflow",
        "set a weight that outweighs the other scorers and no more: 200 outweighs all default plugins",
    ),
    "needs-readings": Code(
        "pods are not bound while Prometheus has no readings",
        "catch the errors of a query, and do what is claimed: schedule without the preference, or wait",
    ),
    "outdated": Code(
        "pods are bound where they cannot run, after an event that changes what counts",
        "after a start, a reconnection, or an event, count each pod and node that the apiserver has, and no other",
    ),
    "rule-ignored": Code(
        "pods are bound to nodes where they cannot run, against one rule",
        "check that rule for each node before choosing: the table names what the chosen node lacks",
    ),
    "never-retried": Code(
        "a pod that could not be bound at first is not tried again",
        "keep such pods in a queue, and retry them after a back-off and when nodes or pods change",
    ),
    "preference": Code(
        "pods do not go to the quietest node",
        "compare traffic and scores in the table: ignored, inverted, or by totals instead of rates",
    ),
}  # fmt: skip
"""Kinds of faults, in the order in which to fix them: an earlier one hides later ones."""

_UNBOUND = frozenset({"not-bound-in-time", "nothing-bound", "nothing-started", "preemptor-not-bound"})
_UNREPORTED = frozenset({"pending-without-event", "pending-without-reason"})
_CHOSEN = frozenset({
    "against-claimed-order", "against-on-missing", "best-node-unchanged", "burst-on-one-node", "old-readings-used",
    "outweighed", "preference-ignored", "probe-not-on-quietest", "surfaces-differ", "ties-not-spread", "wrong-scores",
})  # fmt: skip
_EXPLAINED: Mapping[SymptomKind, frozenset[str]] = {
    "process-ended": _UNBOUND | _UNREPORTED | {
        "call-failed", "call-too-slow", "call-unanswered", "does-not-start", "malformed-call-accepted", "no-takeover",
        "not-healthy", "pods-not-counted", "process-exited", "process-restarted",
    },
    "nothing-sent": _UNBOUND | _UNREPORTED,
    "request-refused": _UNBOUND | _UNREPORTED | _CHOSEN | {"forbidden-request"},
    "call-unanswered": _UNBOUND | _CHOSEN | {"call-failed", "call-too-slow", "call-unanswered", "empty-answers"},
    "query-refused": _UNBOUND | _CHOSEN | {"no-samples-seen", "no-scores"},
    "query-without-result": _UNBOUND | _CHOSEN | {"no-samples-seen", "no-scores"},
    "blocked": _UNBOUND,
    "none-tried": _UNBOUND | _UNREPORTED,
    "unbound-with": frozenset({"not-bound-in-time"}),
    "weight-overflows": _CHOSEN,
    "needs-readings": frozenset({"not-bound-in-time"}),
    "outdated": frozenset({"infeasible-node"}),
    "rule-ignored": frozenset({"infeasible-node"}),
    "never-retried": frozenset({"not-bound-in-time"}),
    "preference": frozenset({"probe-not-on-quietest"}),
}  # fmt: skip
"""Codes of findings that a fault can lead to."""
_STRICT: frozenset[SymptomKind] = frozenset({
    "blocked", "none-tried", "unbound-with", "weight-overflows", "needs-readings", "outdated", "rule-ignored",
    "never-retried", "preference",
})  # fmt: skip
"""Faults that leave nothing unproved; each of the others may be the reason for `invalid`, whatever its code."""

_EXCEPTION = re.compile(r"(?<=Error)\b|(?<=Exit)\b|(?<=Exception)\b")
"""The end of the name of a Python exception: what follows differs from case to case."""
_QUOTED = 160
"""The largest number of characters of a quoted response."""


def symptoms(
    history: History,
    case: str,
    finding: Finding,
    of_run: Shown,
    *,
    whole_run: bool,
) -> list[Symptom]:
    """The faults that explain a finding which did not pass, in the order of `KINDS`.

    Args:
        history: up to the end of the case.
        case: the clause.
        finding: on it.
        of_run: what all of the run shows: why pods of a case were not bound is found out after it.
        whole_run: whether it is judged over the whole run.
    """
    if finding.code == JUDGE_RAISED:
        return []
    begin, end = (0.0, history.ended_at) if whole_run else history.span(case)
    found = itertools.chain(
        _ends(history, begin, end),
        _nothing_sent(history, case),
        _refused(history, begin, end, finding),
        _unanswered(history, begin, end, finding),
        _queries(history, case),
        _blocked() if of_run.blocked else _none_tried(history),
        _unbound_with(case, Shown.of(history), of_run),
        _overflow(history),
        _outage(history, case),
        _outdated(history, finding) or _rules(finding),
        _untried(history, case),
        _preference(finding),
    )
    seen = [symptom for symptom in found if _explains(symptom.kind, finding)]
    # A pod that is not bound because of a field, or of another pod, is retried in vain, too.
    retried_in_vain = any(symptom.kind in ("blocked", "unbound-with") for symptom in seen)
    return [symptom for symptom in seen if not (retried_in_vain and symptom.kind == "never-retried")]


def _explains(kind: SymptomKind, finding: Finding) -> bool:
    if finding.code == NOT_SERVED and kind == "query-without-result":
        return False  # the finding says more: which metric is missing
    return finding.code in _EXPLAINED[kind] or (finding.outcome == "invalid" and kind not in _STRICT)


def _ends(history: History, begin: float, end: float) -> Iterator[Symptom]:
    """The first process that ended by itself."""
    for event in history.of(ProcessEvent):
        if not (begin <= event.at <= end) or event.event not in ("exited", "replaced"):
            continue
        if event.descendant and not event.code:
            continue
        code = "an unknown code" if event.code is None else f"code {event.code}"
        text = f"{event.name} ends with {code}{_after(history, event)}"
        why = event.cause.partition("\n")[0]
        last = event.cause or "".join(event.log[-1:]) or "it printed nothing"
        yield Symptom("process-ended", _EXCEPTION.split(why)[0] or code, f"{text}: {last}")
        return


def _nothing_sent(history: History, case: str) -> Iterator[Symptom]:
    """That the candidate has sent nothing since its start, and what it printed last."""
    started = next((event.at for event in history.of(ProcessEvent) if event.event == "started"), None)
    if started is None or not sent_nothing(history):
        return
    lines = [line for tail in history.of(LogTail, case) for line in tail.lines[-1:]]
    last = f"its last output is {_quoted(lines[-1])}" if lines else "it printed nothing"
    text = f"it sent no request under its identity in the {history.ended_at - started:.0f} s since its start; {last}"
    yield Symptom("nothing-sent", "", text)


def _after(history: History, event: ProcessEvent) -> str:
    """The last request that the candidate made before a process of it ended."""
    last = None
    for request in history.requests():
        if request.user in history.candidate_users and history.order.times(request)[1] <= event.at:
            last = request
    return f", after {last.verb} {last.resource} got the response {last.code}" if last is not None else ""


def _refused(history: History, begin: float, end: float, finding: Finding) -> Iterator[Symptom]:
    """The request that was refused most often; a read only if it was repeated, or if the finding is about rights.

    A client may try whether it may read something, and continue without it. A choice of nodes is explained by refused
    reads only.
    """
    times: collections.Counter[tuple[str, str, int]] = collections.Counter(
        (request.verb, request.resource or request.path, request.code)
        for request in refusals(history, begin, end)
        if not request.dry_run
    )
    for (verb, resource, code), count in sorted(times.items(), key=lambda item: (item[0][1] not in BINDINGS, -item[1])):
        if verb in READING and count < 2 and finding.code != "forbidden-request":
            continue
        if finding.code in _UNREPORTED and resource in BINDINGS:
            continue
        if finding.code in _CHOSEN and verb not in READING:
            continue
        what = "may not" if code == HTTPStatus.FORBIDDEN else f"gets {code} for"
        yield Symptom("request-refused", f"{verb} {resource}: {code}", f"it {what} {verb} {resource} ({count} times)")
        return


def _unanswered(history: History, begin: float, end: float, finding: Finding) -> Iterator[Symptom]:
    """The first call without a usable response; for a choice of nodes, of the calls for the pods that it is about."""
    about = {decision.pod for decision in finding.evidence.decisions} if finding.code in _CHOSEN else None
    for call in history.of(ExtenderCall):
        if call.by != "scheduler" or call.fault or call.is_redirect or not begin <= call.begun <= end:
            continue
        if about and call.pod not in about:
            continue
        if no_response(call):
            yield Symptom("call-unanswered", f"{call.request}: no response", described(call))
            return
        answer = call.answer or call.error or "nothing"
        wrong = answer if call.status != HTTPStatus.OK else call.unreadable or call.error
        if wrong:
            text = f"{call.request} responds with {call.status}: {_quoted(wrong)}"
            yield Symptom("call-unanswered", f"{call.request}: {call.status}", text)
            return


def _queries(history: History, case: str) -> Iterator[Symptom]:
    """A query that Prometheus refused; or a query without result, unless another one found the claimed metric.

    Queries while the harness withholds readings, of some nodes or of all, have no result by design.
    """
    asked = [query for query in queries(history, case) if not (query.fault or _withheld(history, case, query.begun))]
    for query in asked:
        if query.status >= HTTPStatus.BAD_REQUEST:
            error = _error_of(query.answer)
            text = f"Prometheus responds with {query.status} to {_quoted(query.request)}: {error}"
            yield Symptom("query-refused", str(query.status), text)
            return
    found = {query.request for query in asked if found_something(query)}
    empty = next((query.request for query in asked if query.request not in found), "")
    if empty and not any(series in request for request in found for series in _claimed_series(history)):
        yield Symptom("query-without-result", "", f"Prometheus has no series for {_quoted(empty)}")


def _claimed_series(history: History) -> list[str]:
    """The names of series that have the claimed traffic: the metric, and recording rules; "" (any) without a claim."""
    network = history.claims.network
    return [""] if network is None else [network.metric, *(rule.record for rule in network.rules)]


def _withheld(history: History, case: str, at: float) -> bool:
    """Whether the harness had taken away Prometheus, or readings of nodes, at a given time."""
    loads = [load for load in history.of(NodesLoad, case) if load.at <= at]
    incomplete = bool(loads) and len(loads[-1].traffic) < len(history.run.cluster.nodes)
    return incomplete or bool(_staged(history, case, at))


def _staged(history: History, case: str, at: float) -> str:
    """What was so of Prometheus by a fault of the harness at a given time; "" if there was none."""
    return next((fault.words for outage in history.outages("prometheus", case) if (fault := outage.at(at))), "")


def _outage(history: History, case: str) -> Iterator[Symptom]:
    """A pod that fits and was not bound by the end of its time in an outage of Prometheus."""
    for expectation, pod in _unmet(history, case):
        if staged := _staged(history, case, expectation.at):
            text = f"{pod.name} was not bound during an outage of Prometheus that the harness caused: {staged}"
            yield Symptom("needs-readings", "", text)
        return


def _error_of(answer: str) -> str:
    """The error in Prometheus' response."""
    try:
        return str(json.loads(answer)["error"])[:_QUOTED]
    except (ValueError, KeyError, TypeError):
        return _quoted(answer)


def _unbound_with(case: str, by_its_end: Shown, of_run: Shown) -> Iterator[Symptom]:
    """The kind of variation with which pods are not bound: found out by this case, or by an earlier case if this case
    is about it.
    """
    earlier = (kind for found in by_its_end.variations for kind, clause in found.kinds.items() if clause == case)
    by_case = (kind for found in of_run.variations for kind in found.kinds if found.case == case)
    for kind in (*earlier, *by_case):
        text = f"between two cases, plain pods were bound, but not all pods with {kind}"
        yield Symptom("unbound-with", kind, text)
        return


def _blocked() -> Iterator[Symptom]:
    yield Symptom("blocked", "", "plain pods were bound once all pods that fit on no node had been deleted")


def _none_tried(history: History) -> Iterator[Symptom]:
    if tried_none_of_its_own(history):
        others = [attempt.pod for attempt in history.attempts if attempt.user in history.candidate_users]
        instead = f"it tried to bind {others[0]}, which names another scheduler" if others else "it tried to bind none"
        text = f"pods with schedulerName {history.run.candidate.scheduler_name} wait: it read pods, but {instead}"
        yield Symptom("none-tried", "", text)


def _overflow(history: History) -> Iterator[Symptom]:
    config = configuration(history)
    weight = config.get("weight") or 1
    if config.get("prioritizeVerb") and weighed_beyond_int64(weight):
        yield Symptom("weight-overflows", "", f"a score of 10, times its weight {weight}, times 10 exceeds 2^63-1")


def _outdated(history: History, finding: Finding) -> list[Symptom]:
    """The event without which a generated world passes, if all the finding is about is a pod of such worlds."""
    search = next((search for search in reversed(list(history.of(WorldSearch))) if search.id), None)
    if search is None or not (search.steady and search.events):
        return []
    pods = {pod.name for pod in history.test_pods(search.case)}
    about = finding.evidence.misplaced
    if not about or not pods.issuperset(about):
        return []
    return [Symptom("outdated", search.events[-1], f"{finding.summary} (in a world of {search.words})")]


def _rules(finding: Finding) -> Iterator[Symptom]:
    for rule in finding.evidence.rules:
        yield Symptom("rule-ignored", rule, _broken(finding, rule) or finding.summary)


def _broken(finding: Finding, rule: str) -> str:
    """A placement that breaks the rule, as far as the finding shows its decision."""
    for decision in finding.evidence.decisions:
        for row in decision.nodes:
            if row.chosen and rule in row.rules:
                return f"{decision.pod} was bound to {row.node}: {'; '.join(row.reasons)}"
    return ""


def _untried(history: History, case: str) -> Iterator[Symptom]:
    """A pod that was refused, or reported as unschedulable, and had no further attempt in its time."""
    for expectation, pod in _unmet(history, case):
        if text := _why_again(history, pod, expectation):
            yield Symptom("never-retried", "", text)
        return


def _unmet(history: History, case: str) -> Iterator[tuple[Expect, TestPod]]:
    """The pods that were expected to be bound by a given time, and were not."""
    pods = {pod.uid: pod for pod in history.test_pods(case)}
    for expectation in history.of(Expect, case):
        pod = pods.get(expectation.uid)
        bound = history.bindings.get(expectation.uid)
        if pod is None or expectation.outcome != "bound" or (bound is not None and bound.rv <= expectation.rv):
            continue
        yield expectation, pod


def _why_again(history: History, pod: TestPod, expectation: Expect) -> str:
    attempts = history.attempts_on(pod.name, pod.uid)
    if attempts and not attempts[-1].succeeded:
        return f"the Binding of {pod.name} got the response {attempts[-1].code}, and no other followed"
    waited = any(e.uid == pod.uid and e.outcome == "pending" for e in history.of(Expect, pod.case))
    if not attempts and (waited or expectation.deadline == "requeue"):
        return f"{pod.name} fits after a change, but no Binding of it followed"
    return ""


def _preference(finding: Finding) -> Iterator[Symptom]:
    if pattern := finding.evidence.pattern:
        yield Symptom("preference", pattern, finding.summary)


def _quoted(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= _QUOTED else f"{shown[:_QUOTED]}..."
