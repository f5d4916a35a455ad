"""On which of several nodes pods are evicted: core/preemption-choice.

kube-scheduler finds the victims on each node where evictions make room, and takes the node whose victims have the
fewest violations of PodDisruptionBudgets; of several such nodes, the one whose highest priority is the lowest; then
the smallest sum of priorities, the fewest victims, and the victims of the highest priority that started last.

Source: pickOneNodeForPreemption in pkg/scheduler/framework/preemption/preemption.go, SelectVictimsOnNode in
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from schedproof.candidate.claims import ANY_CHOICE, Claims
from schedproof.history.history import History, TestPod
from schedproof.history.world import Manifest, State
from schedproof.judge.clause import AUDIT, CHANGE_NODES, STEERED, Clause
from schedproof.judge.clauses.core.preemption import FEATURE, all_evicted, evicted_for, judge_preemption, named
from schedproof.judge.rulings.configuration import as_configured
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.feasibility import check
from schedproof.oracle.manifest import priority

_CRITERIA = (
    "number of budget violations", "highest priority", "sum of priorities", "number of victims",
    "start of those of the highest priority",
)  # fmt: skip
"""In the order in which they count."""
_OFFSET = 2**31
"""Added to each priority of a sum, so that no term is negative and more victims never give the smaller sum."""


class _Loss(NamedTuple):
    """The cost of the evictions on a node, in the order of `_CRITERIA`; kube-scheduler takes the least."""

    violations: int
    highest: int
    total: int
    """With `_OFFSET` for each victim."""
    victims: int
    started: float
    """Seconds since 1970, negated, of the earliest start among the victims of the highest priority."""

    def __str__(self) -> str:
        begun = math.isfinite(self.started)
        started = f"{datetime.datetime.fromtimestamp(-self.started, datetime.UTC):%H:%M:%S}" if begun else "not yet"
        plain = self.total - self.victims * _OFFSET
        return (
            f"budget violations {self.violations}, highest priority {self.highest}, sum {plain}, "
            f"victims {self.victims}, first start {started}"
        )


@gives("no-choice", "worse-victims", also=[judge_preemption])
def judge_preemption_choice(history: History, case: str) -> Finding:
    """For each preemptor, the victims were on the node that kube-scheduler's order prefers, and those of this node.

    Pods of the role `budgeted` are selected by a PodDisruptionBudget that allows no disruption. Each criterion of the
    order has to decide for at least one pod.
    """
    if (finding := judge_preemption(history, case)).outcome != "passed":
        return finding
    evicted = all_evicted(history, case)
    budgeted = {pod.uid for pod in history.test_pods(case, "budgeted")}
    preemptors = history.test_pods(case, "preemptor")
    decided: set[str] = set()
    for preemptor in preemptors:
        gone, before = evicted_for(history, preemptor, evicted)
        losses = _losses(as_configured(history, history.manifests[preemptor.uid]), before, budgeted)
        best, *others = sorted(losses, key=lambda node: losses[node])
        if not others or losses[best] == losses[others[0]] or not gone:
            return invalid("no-choice", f"{preemptor.name} had no choice of victims")
        decided.add(_criterion(losses[best], losses[others[0]]))
        node = history.bindings[preemptor.uid].node
        if node not in losses or losses[node] != losses[best]:
            return failed("worse-victims", _worse(history, preemptor, node, best, losses))
        actual = _loss([before.pods[victim.name] for victim in gone], budgeted)
        if actual > losses[node]:
            return failed(
                "worse-victims",
                f"{named(history, preemptor)} had pods of {node} evicted ({actual}), but others suffice there "
                f"({losses[node]}), which are preferred by the {_criterion(losses[node], actual)}; "
                "claims.preemption.choice is upstream",
            )
    if untried := [criterion for criterion in _CRITERIA if criterion not in decided]:
        return invalid("no-choice", f"no pod's victims were decided by the {untried[0]}")
    return passed(
        f"for {len(preemptors)} pods, of several nodes, the victims were those that kube-scheduler's order prefers",
    )


def _worse(history: History, preemptor: TestPod, node: str, best: str, losses: Mapping[str, _Loss]) -> str:
    """The sentence that the victims of another node are preferred, and by which criterion."""
    where = f"{named(history, preemptor)} had pods of {node} evicted"
    if node not in losses:
        return f"{where}, where evictions make no room; on {best} they do ({losses[best]})"
    return (
        f"{where} ({losses[node]}), but those of {best} are preferred ({losses[best]}) by the "
        f"{_criterion(losses[best], losses[node])}; claims.preemption.choice is upstream"
    )


def _criterion(better: _Loss, worse: _Loss) -> str:
    """The first criterion by which they differ."""
    return next(name for name, left, right in zip(_CRITERIA, better, worse, strict=True) if left != right)


def _losses(manifest: Mapping[str, object], before: State, budgeted: Collection[str]) -> dict[str, _Loss]:
    """The cost by node, of the nodes where evictions are needed and make room for a pod."""
    return {
        name: _loss(victims, budgeted)
        for name, node in before.nodes.items()
        if (victims := _victims(dict(manifest), node, before, budgeted))
    }


def _victims(manifest: Manifest, node: Manifest, before: State, budgeted: Collection[str]) -> list[Manifest]:
    """The pods that kube-scheduler evicts on a node; empty if evictions make no room.

    All pods of lower priority, except those that can stay: pods with budgets are tried first, then by priority, then by
    age. What a pod of this case needs is decided by the node itself.
    """
    name = node["metadata"]["name"]
    company = [pod for pod in before.pods.values() if pod["spec"].get("nodeName") == name]

    def fits(gone: Sequence[Manifest]) -> bool:
        return not check(manifest, [node], [pod for pod in company if pod not in gone], before.namespaces)[name]

    lower = [pod for pod in company if priority(pod) < priority(manifest)]
    if not fits(lower):
        return []
    victims = lower
    for pod in sorted(lower, key=lambda pod: (_uid(pod) not in budgeted, -priority(pod), _started(pod))):
        fewer = [victim for victim in victims if victim is not pod]
        victims = fewer if fits(fewer) else victims
    return victims


def _loss(victims: Sequence[Manifest], budgeted: Collection[str]) -> _Loss:
    highest = max(map(priority, victims))
    return _Loss(
        violations=sum(_uid(pod) in budgeted for pod in victims),
        highest=highest,
        total=sum(priority(pod) + _OFFSET for pod in victims),
        victims=len(victims),
        started=-min(_started(pod) for pod in victims if priority(pod) == highest),
    )


def _uid(pod: Manifest) -> str:
    return str(pod["metadata"]["uid"])


def _started(pod: Manifest) -> float:
    """Seconds since 1970; infinity for a pod that has not started: kube-scheduler uses the time of its decision."""
    started = (pod.get("status") or {}).get("startTime")
    return datetime.datetime.fromisoformat(started).timestamp() if started else math.inf


def _unclaimed(claims: Claims) -> str:
    if claims.preemption_choice == ANY_CHOICE:
        return "the candidate does not claim which node's pods are evicted (preemption.choice: any)"
    return ""


CLAUSES = (
    Clause(
        "core/preemption-choice",
        "If evictions on several nodes suffice, the choice follows kube-scheduler's documented order: fewest "
        "violations of PodDisruptionBudgets, lowest highest priority, smallest sum of priorities, fewest victims, "
        "latest start.",
        "DefaultPreemption plugin: pickOneNodeForPreemption", judge_preemption_choice, features=FEATURE,
        needs=CHANGE_NODES | AUDIT, unclaimed=_unclaimed, stands_on=STEERED,
        hint=(
            "Compare nodes by their victims: violated budgets, highest priority, sum (2^31 added to each), number, "
            "latest start; or claim `preemption: {choice: any}`."
        ),
    ),
)  # fmt: skip
