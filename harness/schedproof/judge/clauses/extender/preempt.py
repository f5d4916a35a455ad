"""How an extender changes the victims that kube-scheduler proposes: extender/preempt.

Source: ProcessPreemption and convertToVictims in pkg/scheduler/extender.go, callExtenders in
pkg/scheduler/framework/preemption. The response names victims by their uids, whatever the mode of the request. It may
leave out nodes, and name other pods of a node; kube-scheduler gives up the whole preemption if a node has no victims,
or if a victim is not on its node. Of several remaining nodes kube-scheduler takes the node with the fewest
NumPDBViolations of the response.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.history.history import History, TestPod
from schedproof.history.observations import ExtenderCall
from schedproof.judge.clause import CHANGE_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.extender_calls import calls, configuration, described, flaw, never_called
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.manifest import priority

_UNUSABLE = "unusable-victims"


@gives(
    "call-failed", "lost-violations", "not-called", "not-configured", "preemptor-not-bound", "unasked-node",
    "unusable-victims", also=[judge_placement],
)  # fmt: skip
def judge_preempt(history: History, case: str) -> Finding:
    """Each response had nodes of the request, each with pods of lower priority on it, and the preemptor was bound."""
    if not configuration(history).get("preemptVerb"):
        return invalid("not-configured", "no preemptVerb is configured: its extender is not called about victims")
    made = calls(history, "preemptVerb", case)
    for call in made:
        if text := flaw(call, "preemptVerb"):
            return failed("call-failed", text)
        if illegal := _illegal(history, call):
            return failed(*illegal)
    preemptors = history.test_pods(case, "preemptor")
    if made and (left := next((pod for pod in preemptors if pod.uid not in history.bindings), None)):
        return failed(
            "preemptor-not-bound",
            f"{left.name} was not bound, although {_offered(made)} nodes were offered where evictions make room; "
            f"{described(made[-1])}",
        )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not made or not preemptors:
        return invalid("not-called", never_called(history, "preemptVerb"))
    return passed(
        f"{len(made)} responses about victims on {_offered(made)} nodes were legal; {len(preemptors)} pods were bound",
    )


def _offered(made: Sequence[ExtenderCall]) -> int:
    return max(len(call.victims_asked) for call in made)


def _illegal(history: History, call: ExtenderCall) -> tuple[str, str] | None:
    """The code, and why kube-scheduler cannot use a response; None if it can."""
    asked, answered = call.victims_asked, call.victims_answered
    preemptor = next((pod for pod in history.test_pods() if pod.name == call.pod), None)
    where = f"the response to {call.request} for {call.pod} has"
    for node, victims in answered.items():
        if node not in asked:
            return "unasked-node", f"{where} {node}, which the request does not have"
        if not victims and not configuration(history).get("ignorable"):
            return _UNUSABLE, f"{where} no victim on {node}: kube-scheduler gives up the preemption"
        for uid in victims:
            if uid not in asked[node] and (text := _not_a_victim(history, uid, node, preemptor)):
                return _UNUSABLE, f"{where} {uid!r} on {node}, {text}"
    if text := _lost_violations(call):
        return "lost-violations", f"{where} {text}"
    return None


def _lost_violations(call: ExtenderCall) -> str:
    """The two nodes with unchanged victims whose NumPDBViolations no longer differ; "" if all do."""
    same = [node for node, uids in call.victims_answered.items() if set(uids) == set(call.victims_asked[node])]
    asked = {node: call.violations_asked.get(node, 0) for node in same}
    answered = {node: call.violations_answered.get(node, 0) for node in same}
    for worse in same:
        for better in same:
            if asked[better] < asked[worse] and answered[better] >= answered[worse]:
                return (
                    f"NumPDBViolations {answered[worse]} on {worse} and {answered[better]} on {better}, with the same "
                    f"victims as in the request, where they were {asked[worse]} and {asked[better]}: kube-scheduler "
                    "does not see whose victims a PodDisruptionBudget protects"
                )
    return ""


def _not_a_victim(history: History, uid: str, node: str, preemptor: TestPod | None) -> str:
    """Why a pod that was not offered cannot be a victim; "" if it can."""
    pod = history.manifests.get(uid)
    if pod is None or pod["spec"].get("nodeName") != node:
        return "which is the uid of no pod on that node"
    if preemptor is not None and priority(pod) >= priority(history.manifests[preemptor.uid]):
        return "whose priority is not lower"
    return ""


CLAUSES = (
    Clause(
        "extender/preempt",
        "A preempt response names nodes of the request only, each with at least one victim, by uid, and with its "
        "number of violated PodDisruptionBudgets.",
        "extender API: ExtenderPreemptionResult; ProcessPreemption", judge_preempt, needs=CHANGE_NODES,
        features=frozenset({"preempt"}),
        hint=(
            "Return NodeNameToMetaVictims with metadata.uid of each victim, on nodes of the request; to spare a "
            "node's pods, leave out the node, not its victims."
        ),
    ),
)  # fmt: skip
