"""Did the quietest node get the pod, whichever node that was?"""

from __future__ import annotations

import dataclasses
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from schedproof.judge.evidence import decision_table, shown, timeline
from schedproof.judge.placement import Ruling, judge_placement, rule_binding
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.candidates.claims import Claims
    from schedproof.history.history import History, TestPod

__all__ = [
    "RANDOM_LIMIT", "ROTATIONS", "judge_flip", "judge_least_traffic", "judge_ranking", "judge_recovery",
    "no_packets_for", "quietest_of",
]  # fmt: skip

ROTATIONS = 8
"""In clusters of more nodes than this, so many of them are the quietest in turn."""

RANDOM_LIMIT = 1e-6
"""A chooser that picks among the feasible nodes at random must pass with a probability below this."""


@dataclasses.dataclass(frozen=True)
class _Probe:
    pod: TestPod
    ruling: Ruling
    quietest: str
    problem: str
    """Why the environment cannot judge this probe; empty where it can."""

    @property
    def right(self) -> bool:
        return not self.ruling.reasons and self.ruling.binding.node == self.quietest


def judge_least_traffic(history: History, case: str) -> Finding:
    """All probes landed on the quietest feasible node, and that node was each of the nodes in turn."""
    return _judge(history, case, distinct=min(len(history.run["cluster"]["nodes"]), ROTATIONS))


def judge_flip(history: History, case: str) -> Finding:
    """All probes landed on the quietest node before the load was swapped, and on the new one after."""
    return _judge(history, case, distinct=2)


def judge_ranking(history: History, case: str) -> Finding:
    """As one node after the other became infeasible, all probes landed on the quietest of those left."""
    return _judge(history, case, distinct=min(len(history.run["cluster"]["nodes"]), ROTATIONS) - 1)


def judge_recovery(history: History, case: str) -> Finding:
    """All probes after an outage landed on the quietest node, which was one node after the other."""
    return _judge(history, case, distinct=2, controlled=False)


def no_packets_for(claims: Claims, cluster: Mapping[str, Any]) -> str:
    """Why packets cannot make the claimed metric move."""
    assert claims.network is not None
    metric = f"node_network_{claims.network.direction}_bytes_total"
    if claims.network.metric != metric:
        return f"packets move {metric}, and {claims.network.metric} is claimed"
    device = claims.network.device.format(device=cluster["device"])
    if device != cluster["device"]:
        return f"the nodes' traffic interface is {cluster['device']}, and {device} is claimed"
    return ""


def _judge(history: History, case: str, *, distinct: int, controlled: bool = True) -> Finding:
    assert history.claims.network is not None
    pods = history.test_pods(case, "probe")
    if any(history.of("unseen", case)):
        # It did not bind the pod that was to show what it has seen: the probes are not all there.
        return judge_placement(history, case)
    if not pods:
        return invalid("nothing was tried", timeline=timeline(history, case))
    evidence = shown(history, case)
    unbound = [pod.name for pod in pods if pod.uid not in history.bindings]
    if unbound:
        return failed(f"{unbound[0]} was never bound ({len(unbound)} of {len(pods)} probes)", **evidence)
    probes = [_probe(history, pod, history.claims.network.resolution) for pod in pods]
    if broken := [probe for probe in probes if probe.problem]:
        return invalid(
            f"{broken[0].pod.name}: {broken[0].problem} ({len(broken)} of {len(probes)} probes)",
            decisions=[_table(history, probe) for probe in broken[:3]], **evidence,
        )  # fmt: skip
    chance = math.prod(1 / len(probe.ruling.feasible) for probe in probes if probe.ruling.feasible)
    measured = {"probes": len(probes), "chance_of_a_random_chooser": chance}
    wrong = [probe for probe in probes if not probe.right]
    if wrong:
        first = wrong[0]
        expected = f"expected {first.quietest}, chose {first.ruling.binding.node}"
        return failed(
            f"{len(wrong)} of {len(probes)} probes did not land on the quietest node; {first.pod.name}: {expected}"
            + _query_trouble(history, case),
            decisions=[_table(history, probe) for probe in wrong[:3]], measured=measured,
            timeline=timeline(history, case, first.pod.name), logs=evidence["logs"],
        )  # fmt: skip
    quietest = {probe.quietest for probe in probes}
    if len(quietest) < distinct:
        return invalid(
            f"only {len(quietest)} of {distinct} nodes were the quietest in turn", measured=measured, **evidence
        )
    if chance >= RANDOM_LIMIT:
        return invalid(f"a random chooser would pass with probability {chance:.1e}", measured=measured, **evidence)
    if controlled and (problem := _control_problem(history, case)):
        return invalid(problem, measured=measured, **evidence)
    return passed(
        f"{len(probes)} of {len(probes)} probes on the quietest of the feasible nodes, which was each of "
        f"{len(quietest)} in turn; a random chooser passes with probability {chance:.1e}",
        decisions=[_table(history, probes[0])], measured=measured, timeline=evidence["timeline"],
    )  # fmt: skip


def _probe(history: History, pod: TestPod, resolution: float) -> _Probe:
    ruling = rule_binding(history, history.bindings[pod.uid])
    none: dict[str, float] = {}
    asked = next((r["traffic"] for r in history.of("load", pod.case) if r["phase"] == pod.phase), none)
    readings = [r["traffic"] for r in history.of("reading", pod.case) if r["pod"] == pod.name] or [none]
    quietest, gap = quietest_of(asked, ruling.feasible)
    seen = [quietest_of(reading, ruling.feasible) for reading in readings]
    problem = ""
    if not quietest or gap <= resolution:
        problem = f"the load asked for does not tell the nodes apart by more than the claimed {resolution:.0%}"
    elif other := [r for r, (node, its) in zip(readings, seen, strict=True) if node != quietest or its <= resolution]:
        problem = f"Prometheus showed {other[0]} where {asked} was asked for"
    elif ruling.unmodelled:
        problem = f"the oracle does not model {', '.join(ruling.unmodelled)}"
    return _Probe(pod, ruling, quietest, problem)


def quietest_of(traffic: Mapping[str, float], feasible: tuple[str, ...]) -> tuple[str, float]:
    """The quietest of the feasible nodes, and the relative difference to the next; "" where one has no reading."""
    # Prometheus can answer NaN, which is no number of bytes, and which nothing can be sorted by.
    known = sorted((traffic[node], node) for node in feasible if not math.isnan(traffic.get(node, math.nan)))
    if len(known) < len(feasible) or len(known) < 2:
        return "", 0.0
    (least, node), (second, _) = known[:2]
    return node, math.inf if least == 0 < second else (second - least) / least if least else 0.0


def _table(history: History, probe: _Probe) -> dict[str, object]:
    return decision_table(history, probe.ruling.binding, probe.ruling.per_node, expected=probe.quietest)


def _query_trouble(history: History, case: str) -> str:
    """What the candidate's own queries met, where that explains that it knew of no traffic."""
    begin, end = history.span(case)
    for query in history.of("query"):
        if not begin <= query["at"] <= end or query.get("fault"):
            continue
        if query["status"] >= HTTPStatus.BAD_REQUEST:
            return f"; Prometheus answered {query['status']} to its query {query['request']}"
        if '"result":[]' in query["answer"].replace(" ", ""):
            return f"; its query finds no series: {query['request']}"
    return ""


def _control_problem(history: History, case: str) -> str:
    """A scheduler that knows nothing of traffic must fail the same probes, or they prove nothing."""
    controls = history.test_pods(case, "control")
    if not controls:
        return "no control ran beside the candidate"
    for pod in controls:
        load: dict[str, float] = next((r["traffic"] for r in history.of("load", case) if r["phase"] == pod.phase), {})
        binding = history.bindings.get(pod.uid)
        if binding is None:
            return f"the control did not schedule {pod.name}"
        if not load:
            return f"no load was on when the control placed {pod.name}"
        # What is out of its reach too, it cannot choose: that shows nothing of what it knows.
        reach = [node for node in rule_binding(history, binding).feasible if node in load]
        if reach and binding.node != min(reach, key=lambda node: load[node]):
            return ""
    return f"the control, which ignores traffic, also placed all {len(controls)} of its probes on the quietest node"
