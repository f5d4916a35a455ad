"""Whether a report that a pod is Unschedulable was so in some view that the candidate may have had.

Source: PodReasonUnschedulable in k8s.io/api/core/v1: "the scheduler can't schedule the pod right now, for example due
to insufficient resources in the cluster".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.history.world import Manifest
from schedproof.judge.rulings.configuration import as_configured
from schedproof.judge.rulings.extender_calls import configuration
from schedproof.oracle.coverage import rules_about_others, unmodelled
from schedproof.oracle.feasibility import check


def untrue_reports(history: History) -> Iterator[tuple[WatchEvent, str]]:
    """The versions of pods with a new report that was true in no view, and a node where the pod fitted in all of them.

    A report is the condition PodScheduled=False with the reason Unschedulable. Only what nothing of the candidate's own
    can explain counts: see `_has_rules_of_its_own`. Nothing counts if requests are missing from the audit log. The
    views go back to what the candidate had seen when the pod came, because a report may be written long after the
    decision. The pod fitted on a node for certain if each version of it fits on each version of the node, beside all
    pods that were there, or that the candidate tried to bind there, at any time of these views.
    """
    if history.lost_requests or _has_rules_of_its_own(history):
        return
    own, said = history.own_pods(), dict[str, object]()
    versions: dict[str, list[WatchEvent]] = {}
    """By uid, the events in which a pod's spec or its labels changed."""
    for event in history.of(WatchEvent):
        if event.resource != "pods" or event.type == "DELETED":
            continue
        uid = event.object["metadata"]["uid"]
        before = versions.setdefault(uid, [])
        if not before or _asks(before[-1].object) != _asks(event.object):
            before.append(event)
        report = _report(event.object)
        if report is not None and report != said.get(uid) and uid in own:
            waits = not event.object["spec"].get("nodeName")
            if waits and (node := _fitted(history, event, before)):
                yield event, node
        said[uid] = report


def _report(pod: Manifest) -> object:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if (condition["type"], condition["status"]) == ("PodScheduled", "False"):
            of_reason = condition.get("reason") == "Unschedulable"
            return (condition.get("message"), condition.get("lastTransitionTime")) if of_reason else None
    return None


def _asks(pod: Manifest) -> object:
    return pod["spec"], pod["metadata"].get("labels")


def _holds(pod: Manifest) -> object:
    """What a pod on a node holds there; a resize changes it."""
    status = pod.get("status") or {}
    statuses = [(one.get("name"), one.get("resources")) for one in status.get("containerStatuses") or ()]
    return pod["spec"].get("containers"), pod["spec"].get("resources"), statuses, status.get("resources")


def _has_rules_of_its_own(history: History) -> bool:
    """Whether the candidate may find a pod unschedulable by rules that the oracle does not know.

    A compiled scheduler may have filters and waits of its own, except for the unchanged kube-scheduler; an extender a
    filter, an attached candidate anything. A gang waits for its members; without readings, some wait or reject nodes.
    """
    candidate, claims = history.run.candidate, history.claims
    changed = candidate.plugin is not None and candidate.plugin.get("binary") != "kube-scheduler"
    extended = configuration(history).get("filterVerb") or (candidate.scheduler_config or {}).get("extenders")
    network = claims.network
    waits = network is not None and (network.on_missing not in ("neutral", "avoid") or network.on_outage != "schedule")
    return candidate.kind == "attached" or changed or bool(extended) or waits or "gang" in claims.features


def _fitted(history: History, event: WatchEvent, versions: Sequence[WatchEvent]) -> str:
    """The node where a pod fitted in all views from its coming to its report; "" if there is none, or it is not known.

    Nothing on record shows where a pod with volumes or claims was counted before its Binding was tried.
    """
    pod, last = event.object, event.rv - 1
    seen = history.seen_before(versions[0].rv)
    first_nodes, first = min(seen.nodes, last), min(seen.pods, last)
    state, own = history.world.at(last), history.own_pods()
    waiting = [
        other for other in state.pods.values() if other["metadata"]["uid"] in own and not other["spec"].get("nodeName")
    ]
    if pod["spec"].get("schedulingGates") or any(
        other["spec"].get("volumes") or other["spec"].get("resourceClaims") for other in [pod, *waiting]
    ):
        return ""
    if rules_about_others(pod, history.guards(first, last)) or unmodelled(
        pod, state.pods.values(), state.nodes.values(), state.namespaces, state.storage, state.inventory
    ):
        return ""
    tried = _tried(history, event, first)
    asked = [as_configured(history, version.object) for version in versions]
    for node in state.nodes:
        found = [other for rv in history.world.company_changes(node, first, last)
                 for other in history.world.company(node, rv).values()]  # fmt: skip
        company = {other["metadata"]["uid"]: other for other in found}
        if any(_holds(other) != _holds(company[other["metadata"]["uid"]]) for other in found):
            continue  # resized
        beside = [*{**tried.get(node, {}), **company}.values()]
        nodes = [version for _, version in history.world.node_versions(node, first_nodes, last)]
        if all(version and not check(pod, [version], beside)[node] for version in nodes for pod in asked):
            return node
    return ""


def _tried(history: History, event: WatchEvent, first: int) -> dict[str, dict[str, Manifest]]:
    """By node, the pods that the candidate may have counted there although the watch did not show them there.

    These are all that it tried to bind there in the run, and all that are nominated for it.
    """
    counted: list[tuple[str, Manifest]] = []
    for attempt in history.attempts:
        uid = attempt.uid or history.uid_at(attempt.pod, attempt.line)
        pod, ended = history.manifests.get(uid), history.endings.get(uid)
        ours = attempt.user in history.candidate_users and attempt.received <= event.at
        if ours and pod is not None and (ended is None or ended.rv > first):
            counted.append((attempt.node, pod))
    for pod in history.world.at(event.rv - 1).pods.values():
        node = (pod.get("status") or {}).get("nominatedNodeName")
        if node and not pod["spec"].get("nodeName"):
            counted.append((node, pod))
    found: dict[str, dict[str, Manifest]] = {}
    for node, pod in counted:
        if (uid := pod["metadata"]["uid"]) != event.object["metadata"]["uid"]:
            # In its last state it may have ended.
            running = {"spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Pending"}}
            found.setdefault(node, {})[uid] = {**pod, **running}
    return found
