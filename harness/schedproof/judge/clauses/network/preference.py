"""Whether the quietest node got the pod, whichever node that was."""

from __future__ import annotations

import bisect
import dataclasses
import math
import operator
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus

from schedproof.candidate.claims import Claims
from schedproof.history.acts import NodesLoad, Reading, RunCluster, Unseen
from schedproof.history.history import History, TestPod
from schedproof.history.observations import Admission, PrometheusQuery
from schedproof.judge.clause import CHANGE_NODES, HOLD_BINDINGS, IDLE_NODES, SCRIPTED_METRICS, SEVERAL_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Decision, Evidence, Pattern
from schedproof.judge.rulings.configuration import not_all_scored
from schedproof.judge.rulings.decisions import ruled_table
from schedproof.judge.rulings.late import LATE, LateDecisions
from schedproof.judge.rulings.outweighed import outweighed
from schedproof.judge.rulings.ruling import Ruling, rule_binding
from schedproof.judge.rulings.scored import found_something, queries
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.rulings.timeline import timeline
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

ROTATIONS = 8
"""In clusters with more nodes, so many of them are the quietest in turn."""


_CHANCE = 1.5
"""So many times the average hits of a random choice still count as chance."""

RANDOM_LIMIT = 1e-6
"""A random choice among the feasible nodes must pass with a probability below this."""


@dataclasses.dataclass(frozen=True)
class _Probe:
    pod: TestPod
    ruling: Ruling
    quietest: str
    problem: str = ""
    """The code for why the environment cannot judge this probe; empty if it can."""
    why: str = ""
    """The same reason in words."""
    late: bool = False
    """Whether it came late; if it is also wrong, `problem` says that it was late."""

    @property
    def right(self) -> bool:
        return not self.ruling.reasons and self.ruling.binding.node == self.quietest


@gives(
    "answered-late", "best-node-unchanged", "control-inconclusive", "load-not-distinct", "load-not-shown",
    "not-all-nodes-scored", "not-tried", "outweighed", "probe-not-on-quietest", "random-chooser-passes",
    also=[judge_placement],
)  # fmt: skip
def judge_probes(
    history: History,
    case: str,
    *,
    distinct: int,
    controlled: bool = True,
    alike: bool = True,
    not_due: Collection[str] = (),
) -> Finding:
    """Whether all probes went to the quietest feasible node, and so many different nodes were that in turn.

    Args:
        history: the record.
        case: the clause.
        distinct: how many nodes must have been the quietest.
        controlled: whether the control must have failed the same probes.
        alike: whether the nodes are meant to differ in their traffic alone. Then a probe for which kube-scheduler's own
            plugins outweighed the candidate's scores proves nothing; otherwise it is wrong like any other.
        not_due: uids of probes that may be wrong, since later ones show what the candidate prefers.
    """
    assert history.claims.network is not None
    pods = (*history.test_pods(case, "probe"), *history.released(case))
    if any(history.of(Unseen, case)):
        # It did not bind the pod that was to show what it has seen: the probes are not all there.
        return judge_placement(history, case)
    if reason := not_all_scored(history):
        return invalid("not-all-nodes-scored", reason)
    if not pods:
        return invalid("not-tried", "nothing was tried")
    unbound = [pod.name for pod in pods if pod.uid not in history.bindings]
    if unbound:
        return failed("not-bound-in-time", f"{unbound[0]} was never bound ({len(unbound)} of {len(pods)} probes)")
    excused, late = excused_pods(history, pods), LateDecisions(history)
    tried = [_probe(history, pod, late, alike=alike) for pod in pods]
    # One that breaks a rule is excused by nothing; nor need one that is right.
    left_out = [
        probe for probe in tried
        if not (probe.right or probe.ruling.reasons)
        and (
            probe.pod.uid in not_due
            or (
                probe.pod.uid in excused
                and placements_may_explain(history, probe.pod, probe.ruling, _load(history, probe.pod))
            )
        )
    ]  # fmt: skip
    probes = [probe for probe in tried if probe not in left_out]
    probes = _in_time(history, case, probes, left_out, distinct)
    chance = _chance(probes, left_out)
    measured = {"probes": len(probes), "chance_of_a_random_chooser": chance}
    # A probe that the environment cannot judge does not hide the others.
    if wrong := [probe for probe in probes if not probe.right and not probe.problem]:
        first, pattern = wrong[0], _pattern_of(history, wrong, probes) if alike else "outweighed"
        expected = f"expected {first.quietest}, chose {first.ruling.binding.node}"
        return failed(
            "probe-not-on-quietest",
            f"{_headline(pattern, wrong, probes)}; {first.pod.name}: {expected}"
            + (_query_trouble(history, case, first.pod) or _others_decide(history, first)),
            Evidence(
                pattern=pattern, decisions=[_table(probe) for probe in wrong[:3]], measured=measured,
                timeline=timeline(history, case, first.pod.name),
            ),
        )  # fmt: skip
    if broken := [probe for probe in probes if probe.problem]:
        return invalid(
            broken[0].problem, f"{broken[0].pod.name}: {broken[0].why} ({len(broken)} of {len(probes)} probes)",
            Evidence(decisions=[_table(probe) for probe in broken[:3]]),
        )  # fmt: skip
    quietest = {probe.quietest for probe in probes}
    if len(quietest) < distinct:
        return invalid(
            "best-node-unchanged",
            f"only {len(quietest)} of {distinct} nodes were the quietest in turn",
            Evidence(measured=measured),
        )
    if chance >= RANDOM_LIMIT:
        return invalid(
            "random-chooser-passes",
            f"a random choice would pass with probability {chance:.1e}",
            Evidence(measured=measured),
        )
    if controlled and (problem := _control_problem(history, case)):
        return invalid("control-inconclusive", problem, Evidence(measured=measured))
    return passed(
        f"{len(probes)} of {len(probes)} probes on the quietest of the feasible nodes, which {len(quietest)} nodes "
        f"were in turn; a random choice passes with probability {chance:.1e}" + _counts(len(left_out)),
        Evidence(decisions=[_table(probes[0])], measured=measured),
    )  # fmt: skip


@unless_not_served
@gives(also=[judge_probes])
def judge_least_traffic(history: History, case: str) -> Finding:
    """All probes went to the quietest feasible node, and each of the nodes was the quietest in turn.

    If two nodes differ by less than the claimed resolution, either is right.
    """
    finding = judge_probes(history, case, distinct=min(len(history.run.cluster.nodes), ROTATIONS))
    return (_beyond_resolution(history, case) or finding) if finding.outcome == "passed" else finding


def _beyond_resolution(history: History, case: str) -> Finding | None:
    """A finding if a pod with two right nodes went to a third node, or to none."""
    assert history.claims.network is not None
    pods = history.test_pods(case, "undecided")
    excused, late = excused_pods(history, pods), LateDecisions(history)
    for pod in pods:
        if (binding := history.bindings.get(pod.uid)) is None:
            return failed("not-bound-in-time", f"{pod.name} was never bound")
        if late.why(pod):
            continue
        load = _load(history, pod)
        limit = min(load.values()) * (1 + history.claims.network.resolution)
        if load.get(binding.node, math.inf) <= limit:
            continue
        ruling = rule_binding(history, binding)
        if not (pod.uid in excused and placements_may_explain(history, pod, ruling, load)):
            first, why = outweighed(history, ruling)
            if first and all(load.get(node, math.inf) <= limit for node in first):
                return invalid("outweighed", f"{pod.name}: {why}")
            right = " or ".join(sorted(node for node, rate in load.items() if rate <= limit))
            return failed(
                "probe-not-on-quietest",
                f"{pod.name} went to {binding.node}, expected {right}: the two quietest nodes differ by less than the "
                "claimed resolution, and all others exceed it",
                Evidence(decisions=[ruled_table(ruling, expected=right)]),
            )  # fmt: skip
    return None


@unless_not_served
@gives(also=[judge_probes])
def judge_flip(history: History, case: str) -> Finding:
    """All probes went to the quietest node before the load was swapped, and to the new quietest node after."""
    return judge_probes(history, case, distinct=2)


@unless_not_served
@gives(also=[judge_probes])
def judge_ranking(history: History, case: str) -> Finding:
    """While one node after the other became infeasible, all probes went to the quietest of the remaining nodes."""
    return judge_probes(history, case, distinct=min(len(history.run.cluster.nodes), ROTATIONS) - 1)


@unless_not_served
@gives("no-binding-refused", also=[judge_probes])
def judge_bind_refused(history: History, case: str) -> Finding:
    """All pods whose Bindings had been refused went to the quietest node when Bindings were allowed again."""
    finding = judge_placement(history, case)
    if finding.outcome == "failed":
        # Of some pods no Binding came that could be refused, so that they were never let go.
        return finding
    finding = judge_probes(history, case, distinct=2)
    refused = {record.pod for record in history.of(Admission, case) if record.code}
    if finding.outcome == "passed" and any(pod.name not in refused for pod in history.released(case)):
        return invalid("no-binding-refused", "for some of the probes, no Binding was refused")
    return finding


@gives(also=[judge_probes])
def judge_recovery(history: History, case: str) -> Finding:
    """All probes after an outage went to the quietest node, which one node after the other was.

    A probe within the claimed time to recover may be wrong if there are later ones of its phase.
    """
    network = history.claims.network
    within = (network.recovers_within if network else None) or 0.0
    ends = [outage.end for outage in history.outages("prometheus", case)]
    pods = history.test_pods(case, "probe")
    early = {pod.uid for pod in pods if any(end <= pod.at < end + within for end in ends)}
    later = {pod.phase: pod.at for pod in pods if pod.uid not in early}
    not_due = {pod.uid for pod in pods if pod.uid in early and pod.at < later.get(pod.phase, -math.inf)}
    return judge_probes(history, case, distinct=2, controlled=False, not_due=not_due)


def no_packets_for(claims: Claims, cluster: RunCluster) -> str:
    """Why packets cannot change the claimed metric."""
    assert claims.network is not None
    metric = f"node_network_{claims.network.direction}_bytes_total"
    if claims.network.metric != metric:
        return f"packets change {metric}, but {claims.network.metric} is claimed"
    device = claims.network.device.format(device=cluster.device)
    if device != cluster.device:
        return f"the nodes' traffic interface is {cluster.device}, but {device} is claimed"
    return ""


def no_third_node(_claims: Claims, cluster: RunCluster) -> str:
    """Why no node can be much busier than two others."""
    return "" if len(cluster.nodes) > 2 else "there is no third node beside the two to tell apart"


def no_other_direction(claims: Claims) -> str:
    """Why no series could be mistaken for the claimed direction."""
    assert claims.network is not None
    is_named = f"_{claims.network.direction}_" in claims.network.metric
    return "" if is_named else f"the name of {claims.network.metric} does not contain a direction"


def _in_time(
    history: History, case: str, probes: list[_Probe], left_out: Sequence[_Probe], distinct: int
) -> list[_Probe]:
    """The probes without those for which packets or answers came late, as on a busy machine, if enough probes are left.

    Right probes are left out as well: a candidate whose answers are late, and that is right by chance, must not be
    asked until chance favors it often enough.
    """
    packets = any(load.source == "packets" for load in history.of(NodesLoad, case))
    found = [probe for probe in probes if not (probe.late or (packets and probe.problem))]
    suffices = _chance(found, left_out) < RANDOM_LIMIT and len({probe.quietest for probe in found}) >= distinct
    return found if suffices else probes


def _chance(probes: Sequence[_Probe], left_out: Sequence[_Probe]) -> float:
    """The probability that a random choice is right for all these probes."""
    odds = [(probe.pod, 1 / len(probe.ruling.feasible)) for probe in probes if probe.ruling.feasible]
    return chance_of_all(odds, [probe.pod for probe in left_out])


def chance_of_all(odds: Sequence[tuple[TestPod, float]], left_out: Sequence[TestPod]) -> float:
    """The probability that all these pods are on their right nodes by chance, given the probability of each.

    Only pods count that came after the last left-out pod of their phase: after that the phase began anew, which can
    happen once in each of the phases, after any number of right answers.
    """
    anew = {pod.phase: pod.at for pod in left_out}
    chance = math.prod(its for pod, its in odds if pod.at > anew.get(pod.phase, -1.0))
    return chance * 2 * len({pod.phase for pod, _ in odds}) if left_out else chance


def excused_pods(history: History, pods: Sequence[TestPod]) -> set[str]:
    """Uids of pods whose node may be due to earlier placements, which no reading could show yet.

    A scheduler may count these, in order not to send a whole burst to one node, unless it claims that it does not. Then
    later pods of the same phase, further apart, show what it prefers: without such pods, nothing is excused. Pods with
    the role `together` could all be placed from the same time on: none of them counts as apart.
    """
    network = history.claims.network
    if network is None or network.own_placements == "ignored":
        return set()
    apart = {pod.uid for pod in pods if pod.role != "together" and _is_apart(history, pod, network.look_back)}
    return {
        pod.uid
        for pod in pods
        if pod.uid not in apart
        and any(other.uid in apart and other.phase == pod.phase and other.at > pod.at for other in pods)
    }


def placements_may_explain(history: History, pod: TestPod, ruling: Ruling, traffic: Mapping[str, float]) -> bool:
    """Whether earlier placements may explain the node of a pod, given the nodes' traffic.

    Placements only ever add to a node's load. So they explain nothing if a feasible node that got no pod recently has
    less traffic than the chosen node, by more than the claimed resolution. A node without a reading counts as
    infinitely busy.
    """
    network = history.claims.network
    assert network is not None
    used = used_before(history, pod, ruling)
    chosen = traffic.get(ruling.binding.node, math.inf)
    return not any(
        traffic.get(node, math.inf) * (1 + network.resolution) < chosen for node in ruling.feasible if node not in used
    )


def used_before(history: History, pod: TestPod, ruling: Ruling) -> set[str]:
    """Nodes that got pods so shortly before this pod was bound that no reading may have shown them yet."""
    assert history.claims.network is not None
    since = pod.at - history.claims.network.counting
    # One that could be placed together with others may have been decided after them, and bound before.
    until = math.inf if pod.role == "together" else ruling.binding.at
    return {node for at, node in history.placements if since <= at <= until}


def _is_apart(history: History, pod: TestPod, look_back: float) -> bool:
    """Whether nothing was placed for so many seconds before a pod was created."""
    before = bisect.bisect_left(history.placements, pod.at, key=operator.itemgetter(0))
    return not before or pod.at - history.placements[before - 1][0] >= look_back


def _counts(excused: int) -> str:
    if not excused:
        return ""
    return (
        f"; {excused} probes soon after other placements went elsewhere: it counts its own placements "
        "(network.own-placements)"
    )


def _headline(pattern: Pattern, wrong: Sequence[_Probe], probes: Sequence[_Probe]) -> str:
    """The headline: what the probes have in common."""
    text = f"{len(wrong)} of {len(probes)} probes did not go to the quietest node"
    if pattern == "one-node":
        return f"{text}: all went to {probes[0].ruling.binding.node}, whichever node was the quietest"
    return f"{text}: all went to the busiest node" if pattern == "inverted" else text


def _others_decide(history: History, probe: _Probe) -> str:
    """How kube-scheduler's own plugins outweighed the candidate's scores, if they did."""
    _, why = outweighed(history, probe.ruling)
    return f"; {why}" if why else ""


def _pattern_of(history: History, wrong: Sequence[_Probe], probes: Sequence[_Probe]) -> Pattern:
    """What the probes' nodes have in common."""
    if len({probe.ruling.binding.node for probe in probes}) == 1 and len({probe.quietest for probe in probes}) > 1:
        return "one-node"
    loads = [(probe, _load(history, probe.pod)) for probe in probes]
    if all(load and probe.ruling.binding.node == _loudest(load, probe.ruling.feasible) for probe, load in loads):
        return "inverted"
    expected = sum(1 / len(probe.ruling.feasible) for probe in probes if probe.ruling.feasible)
    return "ignored" if len(probes) - len(wrong) <= _CHANCE * expected else "partly"


def _loudest(load: Mapping[str, float], feasible: Collection[str]) -> str:
    return max((node for node in feasible if node in load), key=lambda node: load[node], default="")


def _load(history: History, pod: TestPod) -> Mapping[str, float]:
    """The load at the time when a pod was created; empty if there was none."""
    none: Mapping[str, float] = {}
    return next((r.traffic for r in history.of(NodesLoad, pod.case) if r.phase == pod.phase), none)


def _probe(history: History, pod: TestPod, late: LateDecisions, *, alike: bool) -> _Probe:
    assert history.claims.network is not None
    resolution = history.claims.network.resolution
    ruling = rule_binding(history, history.bindings[pod.uid])
    none: dict[str, float] = {}
    asked = _load(history, pod)
    readings = [r.traffic for r in history.of(Reading, pod.case) if r.pod == pod.name] or [none]
    quietest, gap = quietest_of(asked, ruling.feasible)
    seen = [quietest_of(reading, ruling.feasible) for reading in readings]
    if not quietest or gap <= resolution:
        return _Probe(pod, ruling, quietest, "load-not-distinct", _why_not_distinct(asked, ruling.feasible, resolution))
    if other := [r for r, (node, its) in zip(readings, seen, strict=True) if node != quietest or its <= resolution]:
        why = f"Prometheus showed {other[0]} instead of the requested {asked}"
        return _Probe(pod, ruling, quietest, "load-not-shown", why)
    if ruling.unmodelled:
        why = f"the oracle does not model {', '.join(ruling.unmodelled)}"
        return _Probe(pod, ruling, quietest, "oracle-gap", why)
    if not ruling.reasons and (why := late.why(pod)):
        wrong = ruling.binding.node != quietest
        return _Probe(pod, ruling, quietest, LATE if wrong else "", why, late=True)
    first, why = outweighed(history, ruling)
    if alike and first == {quietest}:
        return _Probe(pod, ruling, quietest, "outweighed", why)
    return _Probe(pod, ruling, quietest)


def _why_not_distinct(asked: Mapping[str, float], feasible: Collection[str], resolution: float) -> str:
    """Why no node is the quietest of the feasible nodes by the traffic that the harness requested for the pod."""
    if not asked:
        return "no traffic was requested before the pod was bound"
    if unasked := sorted(set(feasible) - asked.keys()):
        return f"no traffic was requested for the feasible nodes {', '.join(unasked)}"
    if len(feasible) < 2:
        return f"only {', '.join(feasible) or 'no node'} was feasible when the pod was bound"
    return f"the requested traffic of the nodes does not differ by more than the claimed {resolution:.0%}"


def quietest_of(traffic: Mapping[str, float], feasible: tuple[str, ...]) -> tuple[str, float]:
    """The quietest of the feasible nodes, and the relative difference to the next; "" if a feasible node has no
    reading.
    """
    # Prometheus can answer NaN, which is no number of bytes, and which nothing can be sorted by.
    known = sorted((traffic[node], node) for node in feasible if not math.isnan(traffic.get(node, math.nan)))
    if len(known) < len(feasible) or len(known) < 2:
        return "", 0.0
    (least, node), (second, _) = known[:2]
    return node, math.inf if least == 0 < second else (second - least) / least if least else 0.0


def _table(probe: _Probe) -> Decision:
    return ruled_table(probe.ruling, expected=probe.quietest)


def _query_trouble(history: History, case: str, pod: TestPod) -> str:
    """What happened to the candidate's own queries, if that explains why it saw no traffic.

    Faults that the harness caused are reported as such: after an outage only other faults count.
    """
    begin, _ = history.span(case)
    asked = queries(history, case)
    if not asked and any(history.of(PrometheusQuery)):
        return "; it sent no query to Prometheus while this was tried"
    if asked and asked[-1].fault == "hang":
        return "; it sent no more queries to Prometheus after a request without a response: requests need a timeout"
    outages = [outage for outage in history.outages("prometheus", case) if outage.begin <= pod.at]
    last = outages[-1] if outages else None
    loads = [load.at for load in history.of(NodesLoad, case) if load.phase == pod.phase]
    whole = max([begin, *((last.end, *loads) if last else ())])
    for query in asked if last is None or last.end <= pod.at else ():
        if query.fault or query.begun < whole:
            continue
        if query.status >= HTTPStatus.BAD_REQUEST:
            return f"; Prometheus responded with {query.status} to its query {query.request}"
        if not found_something(query):
            return f"; its query finds no series: {query.request}"
    if last is not None:
        until = f" until {pod.at - last.end:.1f} s before that pod" if last.end <= pod.at else ""
        return f"; the harness caused an outage of Prometheus{until}: {last.spans[-1].fault.words}"
    return ""


def _control_problem(history: History, case: str) -> str:
    """A scheduler that ignores traffic must fail the same probes, or they prove nothing."""
    controls = history.test_pods(case, "control")
    if not controls:
        return "no control ran beside the candidate"
    for pod in controls:
        load = _load(history, pod)
        binding = history.bindings.get(pod.uid)
        if binding is None:
            return f"the control did not schedule {pod.name}"
        if not load:
            return f"there was no load when the control placed {pod.name}"
        # What is out of its reach too, it cannot choose: that shows nothing of what it knows.
        reach = [node for node in rule_binding(history, binding).feasible if node in load]
        if reach and binding.node != min(reach, key=lambda node: load[node]):
            return ""
    return f"the control, which ignores traffic, also placed all {len(controls)} of its probes on the quietest node"


_HINT = "Compare readings and scores in the decision's table; a higher score must mean less traffic."


CLAUSES = (
    Clause(
        "network/least-traffic",
        "Among the feasible nodes, the node with the least traffic gets the pod, whichever node that is.",
        "the candidate's own claim", judge_least_traffic, needs=SCRIPTED_METRICS,
        hint=_HINT,
    ),
    Clause(
        "network/flip",
        "When the load of the nodes is swapped, the preference follows within the claimed window plus refresh.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS,
        hint=_HINT,
    ),
    Clause(
        "network/waiting",
        "A pod that has waited is placed by the traffic at the time at which it can be scheduled, not by earlier "
        "traffic.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS | CHANGE_NODES,
        hint="Read the traffic, nodes and tolerations at each attempt; store none of them by a pod's uid.",
    ),
    Clause(
        "network/bind-refused",
        "A pod whose Binding was refused is placed by the traffic at the time of the next attempt.",
        "the candidate's own claim", judge_bind_refused, needs=SCRIPTED_METRICS | HOLD_BINDINGS,
        hint="After a refused Binding decide anew: store no readings, scores or chosen node by the pod's uid.",
    ),
    Clause(
        "network/ranking",
        "If the quietest node is infeasible, the second-quietest gets the pod, and so on down the ranking.",
        "the candidate's own claim", judge_ranking, needs=SCRIPTED_METRICS | CHANGE_NODES,
        hint=_HINT,
    ),
    Clause(
        "network/large-counters", "Counters near 2^60, and rates to match, are ranked correctly.",
        "Prometheus: samples are float64; scores are int64", judge_flip, needs=SCRIPTED_METRICS,
        hint="Multiply in floating point, or divide first: 100 times a rate can exceed int64.",
    ),
    Clause(
        "network/near-zero", "Rates of a few bytes per second, and of zero, are ranked correctly.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS,
        hint="Compare rates without rounding: whole kilobytes make small rates equal, and 0 is a reading.",
    ),
    Clause(
        "network/window", "Traffic from before the claimed window does not affect placement.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS,
        hint="Use rate(...[WINDOW]) with the claimed window; a longer window still includes load that is over.",
    ),
    Clause(
        "network/burst",
        "Traffic counts by its mean over the claimed window, so a burst counts by its share of the window.",
        "Prometheus: rate() is a mean over its range, irate() is not", judge_flip, level="recommended",
        needs=SCRIPTED_METRICS,
        hint="Use rate(), or an average, over the whole claimed window; irate() uses the last two samples only.",
    ),
    Clause(
        "network/outlier",
        "A single node with very much traffic does not hide the differences between the other nodes.",
        "schedproof; of scores the feature strict promises it (normalize/strict)",
        judge_flip, level="recommended", needs=SCRIPTED_METRICS, obstacle=no_third_node,
        hint=(
            "Score by ranks or ratios: as a share of the range from least to most, differences shrink with the maximum."
        ),
    ),
    Clause(
        "network/rate-not-total", "A node that is busy now loses to a node that is idle now, whatever their totals.",
        "Prometheus: counters are read as rates", judge_flip, needs=SCRIPTED_METRICS,
        hint="Use rate() over the counter, not its value nor the sum of its samples.",
    ),
    Clause(
        "network/counter-reset",
        "A counter reset, as after a reboot, makes a node neither the quietest nor the busiest.",
        "Prometheus: rate() adjusts for counter resets", judge_flip, needs=SCRIPTED_METRICS,
        hint="Use rate(), which adjusts for resets; a difference of two samples does not.",
    ),
    Clause(
        "network/duplicate-series",
        "A node whose series exist twice, from two replicas, does not count with more traffic.",
        "Prometheus: replicas with external labels", judge_flip, level="recommended", needs=SCRIPTED_METRICS,
        hint="Use max by (node), not sum by (node); in joins aggregate both sides first, or select one replica.",
    ),
    Clause(
        "network/other-hosts",
        "Series of machines that are no nodes, and that have no label `node`, change nothing.",
        "Prometheus: other jobs scrape node_exporters as well", judge_flip, level="recommended",
        needs=SCRIPTED_METRICS,
        hint="Skip a series without the label `node` instead of giving up all others, and compare nodes only.",
    ),
    Clause(
        "network/interface", "Only the claimed network device counts.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS,
        hint="Select the claimed device in the query: {device=\"...\"}.",
    ),
    Clause(
        "network/joins",
        "Each usual join of series to nodes keeps similar names and addresses apart, and gives an address to the "
        "node that has it now.",
        "Prometheus: vector matching; node_exporter: node_uname_info", judge_flip,
        needs=SCRIPTED_METRICS | CHANGE_NODES | IDLE_NODES,
        hint=(
            "Match a node's name or address as a whole (an unanchored regular expression matches longer ones too), "
            "and do not cache which node has an address."
        ),
    ),
    Clause(
        "network/node-names",
        "Node names are compared literally, also with dots and of 253 characters, and not as regular expressions.",
        "Kubernetes: names of objects (RFC 1123 subdomains)", judge_flip,
        needs=SCRIPTED_METRICS | CHANGE_NODES | IDLE_NODES,
        hint="Escape a node's name in a regular expression, or compare it literally; keep all of its 253 characters.",
    ),
    Clause(
        "network/direction", "Only the claimed direction of traffic counts.",
        "the candidate's own claim", judge_flip, needs=SCRIPTED_METRICS, unclaimed=no_other_direction,
        hint="Query receive or transmit, as claimed, and do not add the two.",
    ),
    Clause(
        "network/real-traffic",
        "The quietest node gets the pod end to end: real packets, a real exporter, a real scrape.",
        "the candidate's own claim", judge_flip, needs=frozenset({"load"}) | SEVERAL_NODES,
        obstacle=no_packets_for,
        hint=_HINT,
    ),
)  # fmt: skip
