"""The extender's HTTP contract, judged from the recorded requests and responses.

Sources: k8s.io/kube-scheduler/extender/v1 (types) and pkg/scheduler/extender.go (how kube-scheduler uses them).
"""

from __future__ import annotations

import itertools
from http import HTTPStatus

from schedproof.history.history import History
from schedproof.history.observations import ExtenderCall
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.configuration import managed_apart
from schedproof.judge.rulings.extender_calls import (
    NOTHING_ASKED,
    ONLY_PREEMPT,
    answered_in_time,
    asking_verbs,
    calls,
    configuration,
    cycle_verbs,
    described,
    flaw,
    never_called,
    unanswered,
    verb,
)
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

UNITS = 3
"""How much of a managed resource the nodes of `extender/managed-room` offer; each pod requests one."""
ROLES = ("one-by-one", "at-once")
"""Roles of its pods."""
_INCOMPLETE = "incomplete"
"""The prefix of harness calls that send valid JSON with a missing field: any response is right, not only a refusal."""


@gives("call-failed", "call-too-slow", "not-called", also=[judge_placement])
def judge_verbs_served(history: History, case: str) -> Finding:
    """Every configured verb was called, and responded with status 200, in time, and with the verb's type."""
    configured = [
        name for name in ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb") if configuration(history).get(name)
    ]
    missing = []
    for name in configured:
        made = calls(history, name, case)
        if name == "preemptVerb":  # it is called only where pods are in the way, so the harness does
            made += calls(history, name, case, by="harness")
        flaws = [text for call in made if (text := flaw(call, name))]
        if flaws:
            ignored = "; kube-scheduler ignores that silently" if name == "prioritizeVerb" else ""
            return failed("call-failed", f"{name}: {flaws[0]}{ignored}")
        if made and not any(answered_in_time(history, call) for call in made):
            return failed(
                "call-too-slow",
                f"{name}: {described(made[0])} after {made[0].seconds:.1f} s, which exceeds its httpTimeout",
            )
        if not made:
            missing.append(name)
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if missing:
        return invalid("not-called", never_called(history, ", ".join(missing)))
    return passed(f"{', '.join(configured)}: responded with 200 and the verb's result")


@gives("call-failed", "not-applicable", "not-called", "wrong-cache-mode", also=[judge_placement])
def judge_cache_mode(history: History, case: str) -> Finding:
    """Filter responses were in the configured mode: names if nodeCacheCapable, otherwise nodes."""
    if not asking_verbs(history):
        return not_claimed(NOTHING_ASKED)
    mode = "names" if configuration(history).get("nodeCacheCapable") else "nodes"
    filtered = calls(history, "filterVerb", case)
    made = filtered + calls(history, "prioritizeVerb", case)
    for call in made:
        if call.status != HTTPStatus.OK or call.error:
            return failed("call-failed", f"called with {call.mode or 'no nodes'}: {described(call)}")
    wrong = [call for call in filtered if call.answered_mode != mode and not _passed_none(call)]
    if wrong:
        wanted = "NodeNames" if mode == "names" else "Nodes"
        return failed(
            "wrong-cache-mode",
            f"{described(wrong[0])}: expected {wanted}, because its configuration has nodeCacheCapable "
            f"{str(mode == 'names').lower()}",
        )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not made:
        return invalid("not-called", never_called(history, "it"))
    return passed(f"{len(made)} calls got a response in the mode of the request ({mode})")


def _passed_none(call: ExtenderCall) -> bool:
    """Whether a filter left out every node of the request, so that it lists none in either mode."""
    return not call.answered and {node.lower() for node in call.asked or ()} <= {*(call.failed or ())}


@gives("duplicate-node", "empty-answers", "not-applicable", "not-called", "unasked-node", also=[judge_placement])
def judge_filter_subset(history: History, case: str) -> Finding:
    """Filter responses had nodes of the request only, each once."""
    if not configuration(history).get("filterVerb"):
        return not_claimed("no filterVerb is configured")
    made = calls(history, "filterVerb", case)
    for call in made:
        asked, answered = call.asked or [], call.answered or []
        if invented := sorted(set(answered) - set(asked)):
            return failed(
                "unasked-node",
                f"the response to filter for {call.pod} has {', '.join(invented[:3])}, which the request does not have"
                + (": kube-scheduler binds the pod there" if call.answered_mode == "nodes" else ""),
            )
        if len(set(answered)) < len(answered):
            return failed("duplicate-node", f"the response to filter for {call.pod} has a node twice")
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not made:
        return invalid("not-called", never_called(history, "filterVerb"))
    if not any(call.answered for call in made):
        return invalid("empty-answers", "no filter response had nodes")
    return passed(f"{len(made)} filter responses had nodes of the request only")


@gives("no-failed-reason", "not-applicable", "not-called")
def judge_failed_reasons(history: History, _case: str) -> Finding:
    """In the whole run, each node that a filter left out has a reason."""
    if not configuration(history).get("filterVerb"):
        return not_claimed("no filterVerb is configured")
    left_out, made = 0, calls(history, "filterVerb")
    for call in made:
        if flaw(call, "filterVerb") or call.error or call.failed is None:
            continue
        left = sorted({*(call.asked or ())} - {*(call.answered or ())})
        left_out += len(left)
        if silent := [node for node in left if not call.failed.get(node.lower())]:
            return failed(
                "no-failed-reason",
                f"filter for {call.pod} left out {silent[0]} without a reason: the pod's condition cannot say why it "
                "is not scheduled",
                Evidence(timeline=[f"{call.at:8.3f}s  {described(call)}"]),
            )
    if not made:
        return invalid("not-called", never_called(history, "filterVerb"))
    if not left_out:
        return not_claimed("its filter left out no node in this run")
    return passed(f"nodes were left out {left_out} times, each with a reason")


@gives("answers-differ", "call-failed", "not-applicable", "not-tried", also=[judge_placement])
def judge_idempotent(history: History, case: str) -> Finding:
    """The same filter request was sent three times, and no node was lost because it had been requested before."""
    if not configuration(history).get("filterVerb"):
        return not_claimed("no filterVerb is configured")
    if (finding := _answered(history, case)) is not None:
        return finding
    made = _own_calls(history, case)
    if len(made) > 1:
        first, *others = ({*(call.answered or ())} for call in made)
        # Once more may be chance: a reading that came and went.
        if lost := sorted(first.difference(*others)):
            return failed(
                "answers-differ",
                f"filter for {made[0].pod} passed {', '.join(lost)} for the first request, and not for the same "
                f"request again ({len(others)} times)",
            )
    return _unless_placement_fails(history, case, "equal questions, repeated,")


@gives("call-unanswered", "malformed-call-accepted", "not-tried", also=[judge_placement])
def judge_malformed(history: History, case: str) -> Finding:
    """Each malformed call got an error status, or 200 with Error, and the extender kept serving.

    For valid JSON that lacks a field, any response is right: only a dropped connection is wrong.
    """
    made = [record for record in history.of(ExtenderCall, case) if record.by == "harness" and not record.is_redirect]
    if not made:
        return invalid("not-tried", "no malformed call was made")
    for call in made:
        where = f"{call.what} instead of the arguments of {call.verb}: {described(call)}"
        if call.what.startswith(_INCOMPLETE):
            if unanswered(call):
                return failed("call-unanswered", f"{where}; expected a response of any kind")
            continue
        refused = call.status >= HTTPStatus.BAD_REQUEST and not unanswered(call)
        if not refused and not call.error:
            return failed(
                "malformed-call-accepted",
                f"{where}; expected an error status, or 200 with Error",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    return passed(f"{len(made)} malformed calls were refused, and pods were scheduled afterwards")


@gives("not-applicable", "not-called", "not-configured", "not-tried", "unmanaged-pod-asked", also=[judge_placement])
def judge_managed_resources(history: History, case: str) -> Finding:
    """Pods that request a managed resource were sent to the extender and bound; other pods were bound without it."""
    config = configuration(history)
    if not config.get("managedResources"):
        return invalid("not-configured", "no managedResources are configured: its extender is called for every pod")
    names = cycle_verbs(history)
    if not names:
        return not_claimed(ONLY_PREEMPT)
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    put = {call.pod for name in names for call in calls(history, name, case)}
    asking = [pod.name for pod in history.test_pods(case, "probe")]
    others = [pod.name for pod in history.test_pods(case, "unmanaged")]
    if not asking or not others:
        return invalid("not-tried", "the trial did not have pods of both kinds")
    if left := [pod for pod in asking if pod not in put]:
        return invalid("not-called", f"kube-scheduler did not call it for {left[0]}")
    if asked := [pod for pod in others if pod in put]:
        return invalid(
            "unmanaged-pod-asked",
            f"kube-scheduler called it for {asked[0]}, which requests no managed resource",
        )
    managed = ", ".join(resource["name"] for resource in config["managedResources"])
    return passed(
        f"{len(asking)} pods that request {managed} were sent to the extender, {len(others)} others were not",
    )


@gives("not-applicable", "not-configured", also=[judge_placement])
def judge_managed_room(history: History, case: str) -> Finding:
    """Of pods that came at once, no more were bound to a node than it offers units of a resource that it counts.

    kube-scheduler ignores the resource. Whether the extender counts it, shows on another node, where pods came one
    after the other, the last one when the extender had to have seen the others.
    """
    if not configuration(history).get("managedResources"):
        return invalid("not-configured", "no managedResources are configured")
    resources = [str(resource["name"]) for resource in managed_apart(history)]
    if not resources:
        return not_claimed("kube-scheduler counts all its managed resources itself (ignoredByScheduler is not set)")
    apart, at_once = ([pod for pod in history.test_pods(case, role) if pod.uid in history.bindings] for role in ROLES)
    if len(apart) > UNITS:
        return not_claimed(f"it does not count {', '.join(resources)}: pods are bound where none is left")
    if len(at_once) > UNITS:
        node = history.bindings[at_once[0].uid].node
        return failed(
            "infeasible-node",
            f"{len(at_once)} pods that came at once were bound to {node}, which offers {UNITS} of {resources[0]}; of "
            f"pods that come one after the other it takes {len(apart)}",
        )
    return judge_placement(history, case)


@gives("call-failed", "not-applicable", "not-tried", also=[judge_placement])
def judge_unknown_fields(history: History, case: str) -> Finding:
    """Requests with fields that no version has got the same responses as other requests."""
    return _answered(history, case) or _unless_placement_fails(history, case, "questions with an unknown field")


@gives("call-unanswered", "not-applicable", "not-tried", "unasked-node", also=[judge_placement])
def judge_empty_nodes(history: History, case: str) -> Finding:
    """Requests without nodes got a response without nodes, and the extender kept serving."""
    if not asking_verbs(history):
        return not_claimed(NOTHING_ASKED)
    for call in _own_calls(history, case):
        named = [*(call.answered or ()), *(host for host, _ in call.scores or ())]
        if unanswered(call):
            return failed(
                "call-unanswered",
                f"for a request without nodes, {described(call)}; expected a response of any kind",
            )
        if call.status == HTTPStatus.OK and named:
            return failed(
                "unasked-node",
                f"the response to {call.request} has {', '.join(map(str, named[:3]))}, for a request without nodes",
            )
    return _unless_placement_fails(history, case, "questions without nodes")


@gives("answers-differ", "call-failed", "not-applicable", "not-tried", "wrong-cache-mode", also=[judge_placement])
def judge_both_cache_modes(history: History, case: str) -> Finding:
    """Requests with names and with whole nodes got results about the same nodes, in the mode of the request."""
    if (finding := _answered(history, case)) is not None:
        return finding
    filtered = [call for call in _own_calls(history, case) if verb(history, call) == "filterVerb"]
    for call in filtered:
        if call.answered_mode != call.mode and not _passed_none(call):
            answered = call.answered_mode or "no nodes"
            return failed(
                "wrong-cache-mode",
                f"called with {call.mode}, filter responded with {answered}",
            )
    for call, next_call in itertools.pairwise(filtered):
        if differ := sorted({*(call.answered or ())} ^ {*(next_call.answered or ())}):
            return failed(
                "answers-differ",
                f"filter passed {', '.join(differ)} only for one of the modes {call.mode} and {next_call.mode}",
            )  # fmt: skip
    return _unless_placement_fails(history, case, "questions in both modes")


@gives("call-failed", "not-applicable", "not-tried", "unasked-node", also=[judge_placement])
def judge_concurrent(history: History, case: str) -> Finding:
    """Concurrent requests all got responses, each with nodes of its own request."""
    if (finding := _answered(history, case)) is not None:
        return finding
    made = _own_calls(history, case)
    for call in made:
        named = {*(call.answered or ()), *(host for host, _ in call.scores or ())}
        if others := sorted(named - {*(call.asked or ())}):
            return failed(
                "unasked-node",
                f"{call.request} for {call.pod} had {', '.join(sorted(call.asked or ()))}, and its response has "
                f"{', '.join(map(str, others))}, nodes of another request in flight at that time",
            )
    begins = sorted((call.at - call.seconds, call.at) for call in made)
    if not any(second < ended for (_, ended), (second, _) in itertools.pairwise(begins)):
        return invalid("not-tried", "no two questions were in flight at the same time")
    return _unless_placement_fails(history, case, "questions at the same time")


@gives("call-failed", "call-too-slow", "not-applicable", "not-tried", also=[judge_placement])
def judge_large(history: History, case: str) -> Finding:
    """A request with many nodes got a response in time at least once, if a request with two of them did."""
    if not asking_verbs(history):
        return not_claimed(NOTHING_ASKED)
    calls_by_verb: dict[str, list[ExtenderCall]] = {}
    for call in _own_calls(history, case):
        calls_by_verb.setdefault(call.verb, []).append(call)
    for name, made in calls_by_verb.items():
        few, many = ([call for call in made if call.what == what] for what in ("few nodes", "many nodes"))
        if any(flaw(call, verb(history, call)) or call.error for call in few):
            return not_claimed(
                f"{described(few[0])}: the extender responds only about nodes that it knows from the API"
            )
        wrong = [call for call in many if flaw(call, verb(history, call)) or call.error]
        if wrong:
            return failed(
                "call-failed",
                f"{name} with {len(wrong[0].asked or ())} nodes: {described(wrong[0])}",
            )
        if many and not any(answered_in_time(history, call) for call in many):
            soonest = min(call.seconds for call in many)
            return failed(
                "call-too-slow",
                f"{name} with {len(many[0].asked or ())} nodes took {soonest:.1f} s, which exceeds its httpTimeout",
            )
    return _unless_placement_fails(history, case, "questions with few and with many nodes")


@gives("not-healthy", "not-tried", also=[judge_placement])
def judge_healthz(history: History, case: str) -> Finding:
    """The health path was requested before and after a pod was scheduled: `ready`, or /healthz if that is null."""
    asked = _own_calls(history, case)
    if not asked:
        return invalid("not-tried", "its health path was not requested")
    for call in asked:
        if not HTTPStatus.OK <= call.status < HTTPStatus.MULTIPLE_CHOICES:
            how = f"answers {call.status}" if call.status else "does not answer"
            return failed("not-healthy", f"{call.verb} {how}: a kubelet cannot tell whether it works")
    return _unless_placement_fails(history, case, "questions about its health")


def _own_calls(history: History, case: str) -> list[ExtenderCall]:
    return [record for record in history.of(ExtenderCall, case) if record.by == "harness" and not record.is_redirect]


def _answered(history: History, case: str) -> Finding | None:
    """A finding if a question of the harness got no response of the verb's type, or if none was asked."""
    if not asking_verbs(history):
        return not_claimed(NOTHING_ASKED)
    for call in _own_calls(history, case):
        if text := flaw(call, verb(history, call)):
            return failed("call-failed", f"{call.what}: {text}")
        if call.error:
            return failed("call-failed", f"{call.what}: {described(call)}")
    return None


def _unless_placement_fails(history: History, case: str, what: str) -> Finding:
    finding = judge_placement(history, case)
    made = _own_calls(history, case)
    if finding.outcome != "passed":
        return finding
    if not made:
        return invalid("not-tried", "no question was asked")
    return passed(f"{len(made)} {what} answered")


CLAUSES = (
    Clause(
        "extender/verbs-served", "The extender responds to every configured verb.",
        "extender API: a 404 on prioritize is ignored by kube-scheduler", judge_verbs_served, needs=SEVERAL_NODES,
        hint="Serve every verb of spec.extender.config on its path; kube-scheduler ignores a 404 silently.",
    ),
    Clause(
        "extender/filter-subset", "A filter response has only nodes of the request.",
        "extender API: ExtenderFilterResult", judge_filter_subset, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Respond to filter with a subset of the nodes in the request.",
    ),
    Clause(
        "extender/cache-capable",
        "Responses have node names if the extender is configured as nodeCacheCapable, and whole nodes otherwise.",
        "extender API: nodeCacheCapable", judge_cache_mode,
        hint="With nodeCacheCapable read and return NodeNames, otherwise Nodes.",
    ),
    Clause(
        "extender/malformed",
        "A malformed request gets an error status, or 200 with Error, and the extender keeps serving; a request "
        "that only lacks a field gets any response.",
        "extender API: ExtenderFilterResult.Error", judge_malformed,
        hint="Respond with 400, or 200 with Error, to unreadable requests, and keep the connection's server alive.",
    ),
    Clause(
        "extender/unknown-fields", "Unknown fields of a request, as a newer Kubernetes sends, change nothing.",
        "Kubernetes: API conventions, unknown fields", judge_unknown_fields, stands_on=STEERED,
        hint="Read the fields that you need, and ignore all others: no strict decoding.",
    ),
    Clause(
        "extender/empty-nodes",
        "A request without nodes gets a response without nodes, and the extender keeps serving.",
        "extender API: ExtenderArgs, whose lists may be empty", judge_empty_nodes, stands_on=STEERED,
        hint="An empty list does not mean all nodes, and has no first element.",
    ),
    Clause(
        "extender/both-cache-modes", "A request with node names and a request with whole nodes get the same result.",
        "extender API: nodeCacheCapable, which each deployment configures", judge_both_cache_modes,
        needs=SEVERAL_NODES, features=frozenset({"both-cache-modes"}), stands_on=STEERED,
        hint="Check which of NodeNames and Nodes the request has, and respond with the same.",
    ),
    Clause(
        "extender/idempotent", "Filter changes no state: the same request gets the same response again.",
        "kube-scheduler: a pod is tried again after each failure", judge_idempotent, stands_on=STEERED,
        hint="Reserve nothing in filter: kube-scheduler calls it again after each failure.",
    ),
    Clause(
        "extender/failed-reasons", "Filter gives a reason for each node that it leaves out.",
        "extender API: ExtenderFilterResult.FailedNodes", judge_failed_reasons, level="recommended", whole_run=True,
        hint="Give a reason in FailedNodes for each node that is left out; it goes into the pod's condition.",
    ),
    Clause(
        "extender/healthz", "The health path responds with success while the extender serves.",
        "Kubernetes: liveness and readiness probes", judge_healthz, level="recommended",
        hint="Serve /healthz, or set another path in spec.extender.ready; earlier requests must not matter.",
    ),
    Clause(
        "extender/concurrent", "Concurrent requests all get responses, each with the nodes of its own request.",
        "extender API: net/http, several schedulers and profiles", judge_concurrent, needs=SEVERAL_NODES,
        stands_on=STEERED,
        hint="Keep the data of a request in local variables; guard shared data by a lock.",
    ),
    Clause(
        "extender/large", "A request with 5,000 nodes gets a response within httpTimeout.",
        "Kubernetes: considerations for large clusters; Extender.httpTimeout", judge_large, stands_on=STEERED,
        hint="Send one query for all nodes, and nest no loop over all nodes in another.",
    ),
    Clause(
        "extender/managed-resources",
        "Pods that request a managed resource are sent to the extender and bound; other pods are bound without it.",
        "kubescheduler.config.k8s.io: Extender.managedResources", judge_managed_resources,
        features=frozenset({"managed-resources"}), needs=CHANGE_NODES,
        hint="Pass pods that request none of the managed resources.",
    ),
    Clause(
        "extender/managed-room",
        "A burst of pods takes no more of a resource that the extender counts than a node offers.",
        "kubescheduler.config.k8s.io: Extender.managedResources, ignoredByScheduler", judge_managed_room,
        features=frozenset({"managed-resources"}), needs=CHANGE_NODES, stands_on=STEERED,
        hint=(
            "kube-scheduler sends the next pod before a watch or a list shows the last one on its node: let it count "
            "the resource too (no ignoredByScheduler), or count pods from the extender's own bind on."
        ),
    ),
)  # fmt: skip
