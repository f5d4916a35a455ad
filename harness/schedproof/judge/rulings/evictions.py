"""Whether an eviction was of use to a pod of higher priority, in some view that the candidate may have decided in.

Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/ (victims get their graceful
termination period; the scheduler tracks the room that is reserved for a preemptor), and PodEligibleToPreemptOthers and
SelectVictimsOnNode in pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go: a node without its pods
of lower priority must have room for the preemptor, and a preemptor whose victims terminate evicts no others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from schedproof.history.history import History
from schedproof.history.watched import Binding
from schedproof.history.world import Manifest, State
from schedproof.judge.rulings.configuration import as_configured
from schedproof.judge.rulings.lateness import is_overdue
from schedproof.judge.rulings.removals import Removal
from schedproof.judge.rulings.ruling import own_placements, with_own
from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.feasibility import check
from schedproof.oracle.manifest import priority

_NAMING = frozenset({"pods", "pods/eviction"})
"""Resources of the requests that give a grace period, or leave it to the pod."""


def beneficiaries(history: History, removal: Removal) -> list[Manifest]:
    """The candidate's pods of higher priority that may preempt, and that waited when a pod was removed.

    One that was bound or deleted within the claimed freshness before counts as well: the candidate did not have to know
    that.
    """
    own = history.own_pods()
    if (pod := own.get(removal.uid)) is None:
        return []
    before = history.world.at(int(removal.rv) - 1) if math.isfinite(removal.rv) else history.world.latest()
    waiting = {
        found["metadata"]["uid"]
        for found in before.pods.values()
        if not found["spec"].get("nodeName") and not found["spec"].get("schedulingGates")
    }

    def waited(uid: str) -> bool:
        if uid in waiting:
            return True
        over = [event.at for events in (history.bindings, history.endings) if (event := events.get(uid)) is not None]
        late = min(over, default=math.inf)
        return late <= removal.at and not is_overdue(history, late, removal.at, history.claims.timing.freshness)

    return [
        other
        for uid, other in own.items()
        if priority(other) > priority(pod) and other["spec"].get("preemptionPolicy") != "Never" and waited(uid)
    ]


def in_vain(history: History, removal: Removal, evicted: Sequence[Removal]) -> str:
    """Why an eviction could help none of the pods of higher priority that waited; "" if it may have helped.

    `evicted`: all `removals` of the history.
    Of these, only those count that waited in one of the views. It helped none if in no view one of them fits without
    pods of lower priority, whether all of them are gone, those of the victim's node, or those that the candidate has
    evicted. With a single one, it did not help either if that has room in every view as soon as earlier victims are
    gone, which the watch showed as terminating for longer than the claimed freshness. Rules that the oracle does not
    model are not judged.
    """
    node, preemptors = _node(history, removal), beneficiaries(history, removal)
    if not node or not preemptors or not math.isfinite(removal.rv):
        return ""
    last = int(removal.rv) - 1
    seen = history.seen_before(last + 1).pods
    preemptors = [pod for pod in preemptors if _waited_until(history, pod) > seen]
    if any(_unmodelled(pod, history.world.at(last)) for pod in preemptors):
        return ""
    uids = {other.uid for other in evicted}
    if not any(_helps(history, pod, node, view, uids) for view in _views(history, last) for pod in preemptors):
        names = ", ".join(str(pod["metadata"]["name"]) for pod in preemptors) or "no pod"
        return f"even without pods of lower priority there was no room on {node} for what waited ({names})"
    if len(preemptors) > 1:
        return ""  # each may have had victims of its own
    within = history.claims.timing.freshness
    leaving = {
        other.uid: _node(history, other)
        for other in evicted
        if other.rv < removal.rv
        and is_overdue(history, other.at, removal.at, within)
        and _is_there(history, other, last)
    }
    for place in sorted({*leaving.values()}):
        if all(_fits(history, preemptors[0], place, view, leaving) for view in _views(history, last)):
            name = preemptors[0]["metadata"]["name"]
            return f"earlier victims were terminating on {place}, and without them there was room for {name}"
    return ""


def given_away(history: History, binding: Binding, evicted: Sequence[Removal]) -> str:
    """Which pod of higher priority lost the room that was made for it to a pod that was bound; "" if none did.

    The pod was created when the victims had been terminating for longer than the claimed freshness. In every view, the
    one for which they were evicted fits without them, on their node only, and no longer beside the pod. `evicted`: all
    `removals` of the history.
    """
    last, within = binding.rv - 1, history.claims.timing.freshness
    before = [removal for removal in evicted if removal.rv < binding.rv]
    made = [removal for removal in before if _node(history, removal) == binding.node]
    created = next((pod.at for pod in history.test_pods() if pod.uid == binding.uid), -math.inf)
    for removal in made:
        if not is_overdue(history, removal.at, created, within):
            continue
        state = history.world.at(last)
        waiting = [pod for pod in beneficiaries(history, removal) if _waited_until(history, pod) > binding.rv]
        if len(waiting) != 1 or _name(lost := waiting[0]) not in state.pods:
            continue
        if priority(lost) <= priority(binding.manifest) or _unmodelled(lost, state):
            continue
        gone, views = {removal.uid for removal in before}, list(_views(history, last))
        kept = all(_fits(history, lost, binding.node, view, gone) for view in views)
        beside = any(_fits(history, lost, binding.node, view, gone, binding.manifest) for view in views)
        elsewhere = any(not all(_objections(history, lost, view, ()).values()) for view in views)
        if kept and not beside and not elsewhere:
            return str(lost["metadata"]["name"])
    return ""


def shortened_grace(history: History, removal: Removal) -> str:
    """By how much a victim's grace period was shortened, as the watch showed its deletion first; "" if it was not.

    The periods are in seconds. A pod that is not on a node, or has ended, has none.
    """
    event = history.endings.get(removal.uid)
    if event is None or removal.request.resource not in _NAMING or not removal.request.name:
        return ""
    spec, metadata = event.object["spec"], event.object["metadata"]
    own, given = spec.get("terminationGracePeriodSeconds"), metadata.get("deletionGracePeriodSeconds")
    ended = (event.object.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if not spec.get("nodeName") or ended or own is None or given is None or given >= own:
        return ""
    return f"with a grace period of {given} s instead of its terminationGracePeriodSeconds, {own}"


def _node(history: History, removal: Removal) -> str:
    return str(history.manifests[removal.uid]["spec"].get("nodeName") or "")


def _name(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _is_there(history: History, removal: Removal, rv: int) -> bool:
    """Whether a removed pod was still there, terminating, at a revision."""
    pod = history.world.at(rv).pods.get(removal.pod)
    return pod is not None and pod["metadata"]["uid"] == removal.uid


def _views(history: History, last: int) -> Iterator[State]:
    """The views of nodes and of pods that the candidate may have had at a revision, newest first.

    It knows its own bindings: see `rule_binding`.
    """
    seen, world = history.seen_before(last + 1), history.world
    placed = own_placements(history, world.at(last).pods)
    for nodes in world.revisions("nodes", min(seen.nodes, last), last):
        for pods in world.revisions("pods", min(seen.pods, last), last):
            view = world.view(nodes, pods)
            yield dataclasses.replace(view, pods=with_own(view.pods, placed))


def _waited_until(history: History, pod: Manifest) -> float:
    """The revision at which the watch showed that a pod was bound, or deleted; infinity if it waits."""
    over = (events.get(_uid(pod)) for events in (history.bindings, history.endings))
    return min((event.rv for event in over if event is not None), default=math.inf)


def _unmodelled(pod: Manifest, state: State) -> bool:
    return bool(
        unmodelled(pod, state.pods.values(), state.nodes.values(), state.namespaces, state.storage, state.inventory)
    )


def _helps(history: History, pod: Manifest, node: str, view: State, evicted: AbstractSet[str]) -> bool:
    """Whether a pod has room in a view without pods of lower priority; on the node, if those of others stay."""
    lower = {_uid(other): other for other in view.pods.values() if priority(other) < priority(pod)}
    here = {uid for uid, other in lower.items() if other["spec"].get("nodeName") == node}
    if _fits(history, pod, node, view, here) or _fits(history, pod, node, view, evicted & lower.keys()):
        return True
    return not all(_objections(history, pod, view, lower).values())


def _fits(
    history: History, pod: Manifest, node: str, view: State, gone: Collection[str], beside: Manifest | None = None
) -> bool:
    """Whether a pod has room on a node in a view, without the pods of these uids, and beside one more."""
    return not _objections(history, pod, view, gone, beside).get(node, ("is gone",))


def _objections(
    history: History, pod: Manifest, view: State, gone: Collection[str], beside: Manifest | None = None
) -> Mapping[str, Sequence[object]]:
    others = [other for other in view.pods.values() if _uid(other) not in gone] + ([beside] if beside else [])
    return check(
        as_configured(history, pod), view.nodes.values(), others, view.namespaces,
        storage=view.storage, inventory=view.inventory,
    )  # fmt: skip


def _uid(pod: Manifest) -> str:
    return str(pod["metadata"]["uid"])
