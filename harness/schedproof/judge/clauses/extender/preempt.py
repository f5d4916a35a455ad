"""What an extender makes of the victims that kube-scheduler has chosen: extender/preempt.

Source: ProcessPreemption and convertToVictims in pkg/scheduler/extender.go, callExtenders in
pkg/scheduler/framework/preemption. Its answer names victims by their uids, in whichever way it was asked. It may leave
out nodes, and have other pods of a node go; kube-scheduler gives up the whole preemption where a node has no victims,
or where a victim is not on its node. Of several nodes that are left kube-scheduler takes that with the fewest
NumPDBViolations, as the answer has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.history.history import History, TestPod
from schedproof.history.observations import ExtenderCall
from schedproof.judge.clause import CHANGE_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.extender_calls import calls, configuration, described, flaw, never_called
from schedproof.judge.verdict import Finding, failed, invalid, passed
from schedproof.oracle.manifest import priority

_UNUSABLE = "unusable-victims"


def judge_preempt(history: History, case: str) -> Finding:
    """Each answer named nodes that were offered, each with pods of lower priority on it; and the pod was bound."""
    if not configuration(history).get("preemptVerb"):
        return invalid("not-configured", "no preemptVerb is configured: its extender is not asked about victims")
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
            f"{left.name} was not bound, although {_offered(made)} nodes were offered on which others can make room; "
            f"{described(made[-1])}",
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if not made or not preemptors:
        return invalid("not-called", never_called(history, "preemptVerb"))
    return passed(
        f"{len(made)} answers about victims on {_offered(made)} nodes were legal; {len(preemptors)} pods were bound",
    )


def _offered(made: Sequence[ExtenderCall]) -> int:
    return max(len(call.victims_asked) for call in made)


def _illegal(history: History, call: ExtenderCall) -> tuple[str, str] | None:
    """The code, and why an answer is none that kube-scheduler can use; None where it is."""
    asked, answered = call.victims_asked, call.victims_answered
    preemptor = next((pod for pod in history.test_pods() if pod.name == call.pod), None)
    where = f"{call.request} for {call.pod} answered with"
    for node, victims in answered.items():
        if node not in asked:
            return "unasked-node", f"{where} {node}, which it was not asked about"
        if not victims and not configuration(history).get("ignorable"):
            return _UNUSABLE, f"{where} no victim on {node}: kube-scheduler gives up the preemption"
        for uid in victims:
            if uid not in asked[node] and (text := _not_a_victim(history, uid, node, preemptor)):
                return _UNUSABLE, f"{where} {uid!r} on {node}, {text}"
    if text := _lost_violations(call):
        return "lost-violations", f"{where} {text}"
    return None


def _lost_violations(call: ExtenderCall) -> str:
    """Which two nodes, of unchanged victims, are not told apart any more by NumPDBViolations; "" where all are."""
    same = [node for node, uids in call.victims_answered.items() if set(uids) == set(call.victims_asked[node])]
    asked = {node: call.violations_asked.get(node, 0) for node in same}
    answered = {node: call.violations_answered.get(node, 0) for node in same}
    for worse in same:
        for better in same:
            if asked[better] < asked[worse] and answered[better] >= answered[worse]:
                return (
                    f"NumPDBViolations {answered[worse]} on {worse} and {answered[better]} on {better}, with the same "
                    f"victims as it was asked about, where they were {asked[worse]} and {asked[better]}: "
                    f"kube-scheduler does not see whose victims a PodDisruptionBudget protects"
                )
    return ""


def _not_a_victim(history: History, uid: str, node: str, preemptor: TestPod | None) -> str:
    """Why a pod that was not offered cannot be a victim; "" where it can be one."""
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
            "Answer NodeNameToMetaVictims with metadata.uid of each victim, on nodes of the request; leave out a node, "
            "not its victims."
        ),
    ),
)  # fmt: skip
