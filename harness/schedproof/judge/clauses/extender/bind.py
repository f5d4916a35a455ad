"""A verb that binds: kube-scheduler takes a response without Error as a bound pod.

Source: `Bind` in pkg/scheduler/extender.go. kube-scheduler then assumes the pod on its node, and never tries it again.
"""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.history import Attempt, History
from schedproof.history.observations import ExtenderCall
from schedproof.judge.clause import AUDIT, HOLD_BINDINGS, SEVERAL_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.extender_calls import calls, configuration, described, never_called, unanswered
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

_NAME = "bindVerb"
_MARGIN = 1.0
"""Seconds: the audit log and the tap see the same event at different times."""


@gives("false-bind-success", "not-applicable", "not-called")
def judge_bind_binds(history: History, _case: str) -> Finding:
    """In the whole run, each pod for which bind responded without an error was bound to the requested node."""
    if (finding := _unconfigured(history)) is not None:
        return finding
    # (Recorded before the uid was, there is none.)
    made = [call for call in calls(history, _NAME) if _says_bound(call) and call.uid is not None]
    if not made:
        return invalid(
            "not-called", never_called(history, _NAME) if not calls(history, _NAME) else "no call of bind succeeded"
        )
    for call in made:
        binding = history.bindings.get(call.uid or "")
        if binding is None or binding.node != call.node:
            where = f"it was bound to {binding.node}" if binding is not None else "it never was"
            return failed(
                "false-bind-success",
                f"bind for {call.pod} was requested to {call.node}, and responded without an error: {where}",
                Evidence(timeline=[f"{call.at:8.3f}s  {described(call)}"]),
            )
    return passed(f"{len(made)} pods were bound to the requested node")


@gives("false-bind-success", "no-binding-refused", "not-applicable", also=[judge_placement])
def judge_bind_error(history: History, case: str) -> Finding:
    """Each bind whose Binding was refused, and not made by another attempt, responded with an error."""
    if (finding := _unconfigured(history)) is not None:
        return finding
    attempted = [(call, _attempts(history, call)) for call in calls(history, _NAME, case)]
    refused = [(call, made) for call, made in attempted if any(not attempt.succeeded for attempt in made)]
    for call, attempts in refused:
        if _says_bound(call) and not any(attempt.succeeded for attempt in attempts):
            return failed(
                "false-bind-success",
                f"bind for {call.pod} responded without an error, although its Binding to {attempts[-1].node} was "
                f"refused ({attempts[-1].code}): kube-scheduler takes the pod as bound, and never tries it again",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not refused:
        return invalid("no-binding-refused", "no Binding of a call of bind was refused")
    return passed(f"{len(refused)} refused Bindings were reported, or tried again at once")


@gives("call-unanswered", "false-bind-success", "not-applicable", "not-tried", also=[judge_placement])
def judge_bind_again(history: History, case: str) -> Finding:
    """Bind was called again for a bound pod: it responded, and with an error for another node."""
    if (finding := _unconfigured(history)) is not None:
        return finding
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    made = calls(history, _NAME, case, by="harness")
    bound = {pod.uid: history.bindings[pod.uid].node for pod in history.test_pods(case) if pod.uid in history.bindings}
    asked = [(call, bound[call.uid]) for call in made if call.uid in bound]
    if {call.node == node for call, node in asked} != {True, False}:
        return invalid("not-tried", "no bind was called for a bound pod, to its node and to another")
    for call, node in asked:
        where = f"bind for {call.pod}, which is bound to {node}, to {call.node}: {described(call)}"
        if unanswered(call):
            return failed("call-unanswered", f"{where}; expected a response of any kind")
        if call.node != node and _says_bound(call):
            return failed("false-bind-success", f"{where}; expected an error: the pod is not on that node")
    return passed(f"{len(asked)} repeated calls of bind changed nothing, and got a response")


def _unconfigured(history: History) -> Finding | None:
    return None if configuration(history).get(_NAME) else not_claimed("no bindVerb is configured")


def _says_bound(call: ExtenderCall) -> bool:
    """Whether kube-scheduler takes the pod as bound."""
    return call.status == HTTPStatus.OK and not call.error and not call.unreadable


def _attempts(history: History, call: ExtenderCall) -> list[Attempt]:
    """The Bindings that a call led to."""
    begin, end = call.begun - _MARGIN, call.at + _MARGIN
    return [
        attempt for attempt in history.attempts_at(call.pod) if attempt.received <= end and attempt.completed >= begin
    ]


CLAUSES = (
    Clause(
        "extender/bind-binds", "If bind responds without an error, the pod is bound to the requested node.",
        "extender API: ExtenderBindingResult", judge_bind_binds, whole_run=True,
        hint="Post the Binding to the node of the request, and respond after the apiserver has.",
    ),
    Clause(
        "extender/bind-error", "If a Binding is refused, the response to bind has the error.",
        "extender API: ExtenderBindingResult.Error", judge_bind_error, needs=HOLD_BINDINGS | AUDIT,
        hint=(
            "Put the apiserver's refusal into Error: kube-scheduler then forgets the assumed pod, and tries it again."
        ),
    ),
    Clause(
        "extender/bind-again",
        "Binding a bound pod again changes nothing and gets a response; binding it to another node gets an error.",
        "Kubernetes: a second Binding is refused with 409 (pods/binding, assignPod)", judge_bind_again,
        needs=SEVERAL_NODES,
        hint="A 409 from the apiserver is an error, unless the pod is on the requested node.",
    ),
)  # fmt: skip
