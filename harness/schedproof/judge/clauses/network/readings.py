"""How a candidate behaves if readings are zero, missing or unavailable, and how many queries it sends."""

from __future__ import annotations

import dataclasses
import math
from http import HTTPStatus

from schedproof.candidate.claims import Claims, OnOutage
from schedproof.history.acts import NodesLoad
from schedproof.history.history import History
from schedproof.history.observations import PrometheusQuery
from schedproof.history.world import RESERVED
from schedproof.judge.clause import CHANGE_NODES, IDLE_NODES, SCRIPTED_METRICS, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT, judge_recovery
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.late import LATE, LateDecisions
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.rulings.scored import found_something, queries, unscored
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


def no_outage_policy(claims: Claims) -> str:
    """Why no policy for outages can be required of a candidate."""
    assert claims.network is not None
    return "" if claims.network.on_outage is not None else "no policy for outages is claimed (network.on-outage)"


@unless_not_served
@gives(
    "answered-late", "call-failed", "load-not-shown", "no-choice", "no-samples-seen",
    also=[judge_placement],
)  # fmt: skip
def judge_zero_traffic(history: History, case: str) -> Finding:
    """Pods were scheduled while no node had any traffic, with at least two nodes to choose from."""
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if wrong := unscored(history, case):
        return failed("call-failed", wrong)
    loads = [record.traffic for record in history.of(NodesLoad, case)]
    if not all(loads) or not loads or any(any(load.values()) for load in loads):
        return invalid("load-not-shown", "the harness did not set every node's traffic to 0")
    for load in history.of(NodesLoad, case):
        begin, last = _span(history, case, load)
        if any(begin <= query.at <= last and found_something(query) for query in history.of(PrometheusQuery)):
            continue
        if why := LateDecisions(history).why_between(load.at, last):
            return invalid(LATE, f"{why}, and the candidate then placed pods without a query")
        return invalid("no-samples-seen", _why_nothing_was_read(history, case))
    bound = [pod for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    if not any(len(rule_binding(history, history.bindings[pod.uid]).feasible) > 1 for pod in bound):
        return invalid("no-choice", "there were never two nodes to choose from, so nothing was scored")
    return finding


def _span(history: History, case: str, load: NodesLoad) -> tuple[float, float]:
    """From when a query could show this load until the Binding of the last pod under it."""
    network = history.claims.network
    assert network is not None
    end = next((record.at for record in history.of(NodesLoad, case) if record.at > load.at), math.inf)
    bound = [history.bindings[pod.uid].at for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    # The load is on record once readings from before it are too old to be used.
    return load.at - network.staleness, max((at for at in bound if load.at <= at < end), default=-math.inf)


def _why_nothing_was_read(history: History, case: str) -> str:
    asked = queries(history, case)
    if not asked:
        return "it sent no query to Prometheus"
    if asked[-1].status != HTTPStatus.OK:
        return f"Prometheus responded with {asked[-1].status or 'nothing'} to its query {asked[-1].request}"
    return f"none of its queries returned a value while pods were placed, for example {asked[-1].request}"


@unless_not_served
@gives(
    "bound-during-outage",
    "no-outage",
    "not-bound-during-outage",
    "old-readings-used",
    also=[judge_recovery],
)
def judge_outage(history: History, case: str) -> Finding:
    """During the outage pods were scheduled, or waited, as claimed; after it the preference came back in time.

    Pods that were scheduled after the last readings were older than window plus refresh did not follow them.
    """
    assert history.claims.network is not None
    policy = history.claims.network.on_outage
    finding = _outage(history, case, policy)
    return finding if policy != "schedule" else _unless_outdated(history, case, finding)


@unless_not_served
@gives("call-failed", also=[judge_outage])
def judge_no_readings(history: History, case: str) -> Finding:
    """As `judge_outage`, while Prometheus responds without a reading of any node: that is an outage too."""
    assert history.claims.network is not None
    wrong = unscored(history, case)
    return failed("call-failed", wrong) if wrong else _outage(history, case, history.claims.network.without_readings)


@unless_not_served
@gives(also=[judge_no_readings])
def judge_stale_series(history: History, case: str) -> Finding:
    """As `judge_outage`, after readings have become stale; pods that are scheduled do not follow the last readings."""
    assert history.claims.network is not None
    finding = judge_no_readings(history, case)
    if history.claims.network.without_readings != "schedule":
        return finding
    return _unless_outdated(history, case, finding)


def _unless_outdated(history: History, case: str, finding: Finding) -> Finding:
    """The finding on an outage; `failed` also if the pods of the outage followed the last readings.

    They did if all went to the previously quietest node, on one node and then on another: chance hardly ever does that.
    """
    pods = [pod for pod in history.test_pods(case, "outage") if pod.phase >= 0]
    # (Histories of earlier versions have no phase with the pods of an outage of Prometheus itself.)
    if finding.outcome != "passed" or not pods:
        return finding
    loads = {record.phase: record.traffic for record in history.of(NodesLoad, case)}
    quietest, right, chance = set(), True, 1.0
    for pod in pods:
        last = next(loads[phase] for phase in range(pod.phase, -1, -1) if loads[phase])
        ruling = rule_binding(history, history.bindings[pod.uid])
        old = min(last, key=lambda node: last[node])
        quietest.add(old)
        right = right and ruling.binding.node == old
        chance /= max(1, len(ruling.feasible))
    measured = {"chance_of_a_random_chooser": chance}
    if len(quietest) < 2 or chance >= RANDOM_LIMIT:
        return invalid(
            "random-chooser-passes",
            f"a random choice would look like old readings with probability {chance:.1e}",
            Evidence(measured=measured),
        )  # fmt: skip
    if right:
        return failed(
            "old-readings-used",
            "all pods went to the node that was the quietest before its readings ended "
            f"({', '.join(sorted(quietest))} in turn; by chance with probability {chance:.1e}): readings older than "
            "the claimed window are used",
            Evidence(measured=measured),
        )  # fmt: skip
    return finding


def _outage(history: History, case: str, policy: OnOutage | None) -> Finding:
    assert history.claims.network is not None
    outages = [outage for outage in history.outages("prometheus", case) if outage.healed]
    finding = judge_placement(history, case)
    if finding.outcome == "failed" or not outages:
        return finding if finding.outcome == "failed" else invalid("no-outage", "there was no outage")
    ends = {
        pod: outage.end for pod in history.test_pods(case, "outage") for outage in outages if outage.at(pod.at)
    }  # fmt: skip
    if not ends:
        return invalid("no-outage", "no pod was created during the outage")
    bound = {uid: binding.at for uid, binding in history.bindings.items()}
    early = [pod for pod, end in ends.items() if bound.get(pod.uid, math.inf) < end]
    late = [pod for pod in ends if pod not in early]
    if policy == "wait" and early:
        node = history.bindings[early[0].uid].node
        return failed(
            "bound-during-outage",
            f"{early[0].name} was bound to {node} during the outage; claimed on-outage: wait",
        )
    if finding.outcome != "passed":
        return finding
    if policy == "schedule" and late:
        return failed(
            "not-bound-during-outage",
            f"{late[0].name} was bound only after the outage; claimed on-outage: schedule",
        )
    what = {"wait": "waited for its end", "schedule": "were scheduled during it"}.get(
        policy or "", f"were scheduled, {len(late)} of them after it"
    )
    broken = ", ".join(dict.fromkeys(span.fault for outage in outages for span in outage.spans))
    summary = f"Prometheus {broken}: {len(ends)} pods {what}"
    if history.claims.network.recovers_within is None:
        return passed(f"{summary}; no time to recover is claimed")
    recovery = judge_recovery(history, case)
    if recovery.outcome != "passed":
        return recovery
    return passed(f"{summary}; then {recovery.summary}", recovery.evidence)


@unless_not_served
@gives("no-choice", "no-samples-seen", "not-tried", "queries-grow-with-nodes", also=[judge_placement])
def judge_query_cost(history: History, case: str) -> Finding:
    """The number of queries to Prometheus during a decision does not grow with the number of nodes.

    Counted from a pod's creation to its Binding. A candidate with a query for each node, feasible or not, sends one
    more for each additional node; half of that is the limit, so that a poll that falls into a decision is not mistaken
    for it.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    costs = {role: _queries(history, case, role) for role in ("few", "all")}
    if not any(history.of(PrometheusQuery)):
        return invalid("no-samples-seen", "it sent no query to Prometheus")
    if not all(costs.values()):
        return invalid("not-tried", "no decisions to compare")
    feasible = {role: max(cost.feasible for cost in costs[role]) for role in costs}
    nodes = {role: max(cost.nodes for cost in costs[role]) for role in costs}
    means = {role: sum(cost.queries for cost in costs[role]) / len(costs[role]) for role in costs}
    if feasible["all"] <= feasible["few"]:
        return invalid("no-choice", "all decisions had equally many nodes")
    among = {role: f"{feasible[role]} of {nodes[role]} nodes" for role in costs}
    measured = {f"queries per pod between {among[role]}": means[role] for role in costs}
    text = f"{means['few']:.1f} queries per pod between {among['few']}, {means['all']:.1f} between {among['all']}"
    more = min(grown for counts in (feasible, nodes) if (grown := counts["all"] - counts["few"]) > 0)
    if means["all"] - means["few"] >= more / 2:
        return failed(
            "queries-grow-with-nodes",
            f"{text}: they grow with the number of nodes",
            Evidence(measured=measured),
        )
    return passed(text, Evidence(measured=measured))


@dataclasses.dataclass(frozen=True)
class _Cost:
    """A decision: how many nodes were feasible, how many there were, and how many queries it took."""

    feasible: int
    nodes: int
    queries: int


def _queries(history: History, case: str, role: str) -> list[_Cost]:
    asked = [record.begun for record in history.of(PrometheusQuery)]
    costs = []
    for pod in history.test_pods(case, role):
        binding = history.bindings[pod.uid]
        ruling = rule_binding(history, binding)
        queries = sum(pod.at <= at <= binding.at for at in asked)
        costs.append(_Cost(len(ruling.feasible), len(ruling.per_node.keys() - {RESERVED}), queries))
    return costs


_OUTAGE_HINT = "Set a timeout on the query that is shorter than the bind deadline, and catch its error."


CLAUSES = (
    Clause(
        "network/zero-traffic", "If no node has traffic, pods are scheduled.",
        "scheduler framework: NormalizeScore must not divide by zero", judge_zero_traffic, needs=SCRIPTED_METRICS,
        hint="The highest reading can be 0: do not divide by it.",
    ),
    Clause(
        "network/missing-all",
        "While Prometheus has samples of no node, pods are scheduled or wait, as claimed; with samples, the "
        "preference returns.",
        "the candidate's own claim", judge_no_readings, needs=SCRIPTED_METRICS,
        hint="A node without a sample is not a node with traffic 0: treat it as claims.network.on-missing says.",
    ),
    Clause(
        "network/no-samples",
        "While Prometheus returns empty results, as after a restart, pods are scheduled or wait, as claimed.",
        "Prometheus: a query that finds nothing is answered 200", judge_no_readings, needs=SCRIPTED_METRICS,
        hint="An empty result is an outage like any other: do what claims.network.on-outage says.",
    ),
    Clause(
        "network/prometheus-down",
        "While Prometheus is down, pods are scheduled without old readings, or wait, as claimed; then the "
        "preference returns.",
        "the candidate's own claim", judge_outage, needs=SCRIPTED_METRICS, unclaimed=no_outage_policy,
        stands_on=STEERED,
        hint=_OUTAGE_HINT,
    ),
    Clause(
        "network/prometheus-slow",
        "While Prometheus does not respond, pods are scheduled without old readings, or wait, as claimed; then the "
        "preference returns, even if the open queries never get a response.",
        "the candidate's own claim", judge_outage, needs=SCRIPTED_METRICS, unclaimed=no_outage_policy,
        stands_on=STEERED,
        hint=_OUTAGE_HINT,
    ),
    Clause(
        "network/prometheus-error",
        "While Prometheus responds with 503 or nonsense, pods are scheduled without old readings, or wait, as "
        "claimed; then the preference returns.",
        "Prometheus: HTTP API, status codes", judge_outage, needs=SCRIPTED_METRICS, unclaimed=no_outage_policy,
        stands_on=STEERED,
        hint=_OUTAGE_HINT,
    ),
    Clause(
        "network/nan",
        "While every reading is NaN, pods are scheduled or wait, as claimed; with valid readings, the preference "
        "returns.",
        "Prometheus: samples are float64", judge_no_readings, needs=SCRIPTED_METRICS,
        hint="Check that a reading is finite before you compare it, convert it to an integer or divide it.",
    ),
    Clause(
        "network/stale-series",
        "Once all series are stale, pods are scheduled or wait, as claimed, and old readings are not used.",
        "the candidate's own claim", judge_stale_series, needs=SCRIPTED_METRICS, stands_on=STEERED,
        hint="Drop readings that are older than the window; if none is left, that is an outage.",
    ),
    Clause(
        "network/query-cost", "The number of queries for a decision does not grow with the number of nodes.",
        "schedproof", judge_query_cost, needs=SCRIPTED_METRICS | CHANGE_NODES | IDLE_NODES, stands_on=STEERED,
        hint="Send one query for all nodes (sum by (node) ...), or cache the response for a refresh interval.",
    ),
)  # fmt: skip
