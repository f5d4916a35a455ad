"""The responses of prioritize, as kube-scheduler adds them up.

Source: prioritizeNodes in pkg/scheduler/schedule_one.go. A host that is left out counts 0, a repeated host counts
twice, an unknown host is ignored; nothing is clamped; and an unreadable response scores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from schedproof.history.acts import NodesLoad
from schedproof.history.history import History
from schedproof.history.observations import ExtenderCall
from schedproof.judge.clause import IDLE_NODES, PREFERRED, SEVERAL_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.extender_calls import calls, configuration, described, flaw, never_called
from schedproof.judge.rulings.late import LATE, LateDecisions
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

_HIGHEST = 10
"""MaxExtenderPriority. Nothing enforces it: a score of 1000 beats all other scores."""
_NAME = "prioritizeVerb"
_UNCONFIGURED = "no prioritizeVerb is configured"


@gives("call-failed", "not-applicable", "not-called", "score-out-of-range", "too-few", also=[judge_placement])
def judge_score_range(history: History, case: str) -> Finding:
    """All scores were integers from 0 to 10, even for more nodes than there are scores."""
    if not configuration(history).get(_NAME):
        return not_claimed(_UNCONFIGURED)
    made = calls(history, _NAME, case)
    for call in made:
        if call.scores is None and not _unread(call):
            return failed("call-failed", f"{described(call)}: that is not a HostPriorityList")
        for host, score in call.scores or ():
            if score is not None and not (_is_integer(score) and 0 <= score <= _HIGHEST):
                return failed(
                    "score-out-of-range",
                    f"{host} got the score {score} for {call.pod}; expected an integer from 0 to {_HIGHEST}: "
                    "kube-scheduler does not clamp larger scores, and a single number that is not an integer makes "
                    "the response unreadable",
                )
    if (finding := _unproved(history, case, made)) is not None:
        return finding
    most = max(len(call.asked or ()) for call in made)
    if most <= _HIGHEST + 1:
        return invalid("too-few", f"it never scored more than {most} nodes at once")
    return passed(f"{_counted(made)}, of up to {most} nodes, between 0 and {_HIGHEST}")


@gives("answered-late", "call-failed", "node-left-out", "not-applicable", "not-called", also=[judge_placement])
def judge_complete(history: History, case: str) -> Finding:
    """Nodes had a score, or were left out because their score is 0.

    For kube-scheduler a node that is left out is a node with the score 0. If readings are claimed, such a node is not
    quieter than a node with a score above 0; and if readings differ, some node has a score.
    """
    if not configuration(history).get(_NAME):
        return not_claimed(_UNCONFIGURED)
    made, late = calls(history, _NAME, case), LateDecisions(history)
    in_time = [call for call in made if not late.why_between(call.begun, call.at)]
    if made and not in_time:
        return invalid(LATE, late.why_between(made[0].begun, made[0].at))
    for call in in_time:
        if wrong := _wrongly_left_out(history, case, call):
            return failed("node-left-out", wrong)
    if (finding := _unproved(history, case, made)) is not None:
        return finding
    return passed(_counted(made))


@gives("not-applicable", "not-called", "score-not-integer")
def judge_integers(history: History, _case: str) -> Finding:
    """All scores of the run were integers."""
    made = calls(history, _NAME)
    for call in made:
        for host, score in call.scores or ():
            if score is not None and not _is_integer(score):
                return failed(
                    "score-not-integer",
                    f"{host} got the score {score!r} for {call.pod}: kube-scheduler cannot read it, and drops all "
                    f"{len(call.scores or ())} scores of the response",
                    _evidence(call),
                )
    return _of_the_run(history, made)


@gives("duplicate-node", "not-applicable", "not-called")
def judge_no_duplicates(history: History, _case: str) -> Finding:
    """No response of the run scored a node twice."""
    made = calls(history, _NAME)
    for call in made:
        hosts = [host for host, _ in call.scores or ()]
        if twice := sorted({str(host) for host in hosts if hosts.count(host) > 1}):
            return failed(
                "duplicate-node",
                f"{twice[0]} is scored {hosts.count(twice[0])} times for {call.pod}: kube-scheduler adds the scores up",
                _evidence(call),
            )
    return _of_the_run(history, made)


def _is_integer(score: Any) -> bool:
    return isinstance(score, int) and not isinstance(score, bool)


def _unread(call: ExtenderCall) -> bool:
    """Whether the status alone keeps kube-scheduler from reading a response."""
    return call.status != HTTPStatus.OK


def _wrongly_left_out(history: History, case: str, call: ExtenderCall) -> str:
    """The sentence that a response left out a node whose score is above 0; "" if none did."""
    traffic, claims = _traffic(history, case, call), history.claims.network
    if flaw(call, _NAME) or claims is None or not traffic:
        return ""
    # What it has just placed may count as load of a node until readings can show it.
    used = _just_used(history, call)
    asked = [node for node in call.asked or () if node in traffic and node not in used]
    scored = {host: score for host, score in call.scores or () if score}
    left = sorted((node for node in asked if node not in scored), key=traffic.__getitem__)
    above = sorted((node for node in asked if scored.get(node, 0) > 0), key=traffic.__getitem__)
    if not left or len(set(traffic.values())) < 2:
        return ""
    if not scored.keys() & traffic.keys():
        return f"{described(call)}: none of {len(asked)} nodes has a score, although their traffic differs"
    if not above:
        return ""
    quiet, loud = left[0], above[-1]
    if traffic[quiet] * (1 + claims.resolution) < traffic[loud]:
        return (
            f"prioritize for {call.pod} scored {len(above)} of {len(asked)} nodes, and not {quiet} "
            f"({traffic[quiet]:,.0f} B/s), but {loud} ({traffic[loud]:,.0f} B/s): a node that is left out counts 0"
        )
    return ""


def _traffic(history: History, case: str, call: ExtenderCall) -> Mapping[str, float]:
    loads = [record.traffic for record in history.of(NodesLoad, case) if record.at <= call.at]
    return loads[-1] if loads else {}


def _just_used(history: History, call: ExtenderCall) -> set[str]:
    """Nodes whose score may count pods that no reading could show yet at the time of the call.

    An extender does not learn where a pod went: it may assume the node that it scored highest.
    """
    network = history.claims.network
    if network is None or network.own_placements == "ignored":
        return set()
    since = call.at - network.counting
    favoured = {host for other in calls(history, _NAME) if since <= other.at < call.at for host in _favoured(other)}
    return favoured | {node for at, node in history.placements if since <= at <= call.at}


def _favoured(call: ExtenderCall) -> set[str]:
    points = {host: score for host, score in call.scores or () if isinstance(score, int | float)}
    most = max(points.values(), default=0)
    return {host for host, score in points.items() if score == most}


def _unproved(history: History, case: str, made: list[ExtenderCall]) -> Finding | None:
    """Why a case shows nothing about scores: no questions, or no usable responses."""
    flaws = [text for call in made if (text := flaw(call, _NAME))]
    if flaws:
        return failed(
            "call-failed",
            f"{flaws[0]}: kube-scheduler ignores that silently ({len(flaws)} of {len(made)} calls)",
        )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not made:
        return invalid("not-called", never_called(history, _NAME))
    asked = {call.pod for call in made}
    if missing := [pod.name for pod in history.test_pods(case, "probe") if pod.name not in asked]:
        return invalid("not-called", f"kube-scheduler requested no scores for {missing[0]}")
    return None


def _of_the_run(history: History, made: list[ExtenderCall]) -> Finding:
    if not configuration(history).get(_NAME):
        return not_claimed(_UNCONFIGURED)
    if not made:
        return invalid("not-called", never_called(history, _NAME))
    return passed(_counted(made))


def _counted(made: list[ExtenderCall]) -> str:
    asked = sum(len(call.asked or ()) for call in made)
    scored = sum(len({host for host, _ in call.scores or ()} & set(call.asked or ())) for call in made)
    left = f"; {asked - scored} were left out, which counts 0" if scored < asked else ""
    return f"{len(made)} responses with scores for {scored} of {asked} nodes{left}"


def _evidence(call: ExtenderCall) -> Evidence:
    return Evidence(timeline=[f"{call.at:8.3f}s  {described(call)}"])


CLAUSES = (
    Clause(
        "extender/prioritize-range", "Scores are integers from 0 to 10.",
        "extender API: MaxExtenderPriority", judge_score_range, needs=IDLE_NODES,
        hint="Scale scores to 0..10 (MaxExtenderPriority), not to 100.",
    ),
    Clause(
        "extender/prioritize-complete",
        "Every node gets a score; only nodes with the score 0 may be left out.",
        "extender API: HostPriorityList; kube-scheduler counts a host that is left out as 0", judge_complete,
        needs=IDLE_NODES, stands_on=PREFERRED,
        hint="Return a HostPriority for each node of the request.",
    ),
    Clause(
        "extender/prioritize-integers", "All scores are integers: a single float makes the whole response unreadable.",
        "extender API: HostPriority.Score is an int64", judge_integers, needs=SEVERAL_NODES, whole_run=True,
        hint="Round scores: a single float makes kube-scheduler drop the whole response.",
    ),
    Clause(
        "extender/prioritize-no-duplicates",
        "No node is scored twice in a response: kube-scheduler adds the scores up.",
        "extender API: HostPriorityList", judge_no_duplicates, needs=SEVERAL_NODES, whole_run=True,
        hint="Return each host once: kube-scheduler adds its scores up.",
    ),
)  # fmt: skip
