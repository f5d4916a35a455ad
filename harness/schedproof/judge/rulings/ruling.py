"""Whether a binding was feasible in some view of the world that the candidate may have decided in."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedproof.history.acts import ShownSeen
from schedproof.history.history import History
from schedproof.history.watched import Binding
from schedproof.judge.rulings.configuration import as_configured
from schedproof.oracle.coverage import rules_about_others, unmodelled
from schedproof.oracle.feasibility import check, rooms
from schedproof.oracle.preferences import Wishes, wishes
from schedproof.oracle.reason import Reason
from schedproof.oracle.resources import Room

Manifest = Mapping[str, Any]
_Change = Callable[[list[Manifest]], list[Manifest]]
"""From the pods that count in a view to those that counted if another order, or a list that was taken over, is assumed.
"""

_REORDERED = 3
"""So many bindings before one are tried in every order: each subset of them is looked at."""


def _as_seen(pods: list[Manifest]) -> list[Manifest]:
    return pods


@dataclasses.dataclass(frozen=True)
class Ruling:
    """A ruling on a binding. `reasons` is empty if it was feasible.

    `nodes` and `pods` are the revisions of the view that was used: the newest that allows the binding; if none does,
    the newest of all.
    """

    history: History = dataclasses.field(repr=False, compare=False)
    binding: Binding
    reasons: tuple[Reason, ...]
    nodes: int
    pods: int
    change: _Change = dataclasses.field(default=_as_seen, repr=False, compare=False)
    """What is assumed of the pods of that view, if only that allows the binding."""

    @functools.cached_property
    def per_node(self) -> dict[str, tuple[Reason, ...]]:
        """Each node's name in that view, with the reasons why the pod cannot run there."""
        found = _check(self.history, self.binding, self.nodes, self.pods, self.change)
        # What allows it may be several mixtures of two lists, each by some rules, and not the one that is shown.
        return found if self.reasons else {**found, self.binding.node: ()}

    @functools.cached_property
    def room(self) -> dict[str, dict[str, Room]]:
        """What each node has of the pod's requested resources, in that view."""
        view, at_bind = self.history.world.view(self.nodes, self.pods), self.history.world.at(self.binding.rv - 1)
        others = with_own(view.pods, own_placements(self.history, at_bind.pods, but=self.binding.uid))
        return rooms(self.binding.manifest, view.nodes.values(), others.values(), at_bind.inventory)

    @functools.cached_property
    def feasible(self) -> tuple[str, ...]:
        """The nodes on which the pod could run, in that view."""
        return tuple(sorted(node for node, why in self.per_node.items() if not why))

    @functools.cached_property
    def wishes(self) -> dict[str, Wishes]:
        """How well each node meets the pod's preferences, in that view."""
        view = self.history.world.view(self.nodes, self.pods)
        others = {**view.pods, **own_placements(self.history, view.pods, but=self.binding.uid)}
        pod = as_configured(self.history, self.binding.manifest)
        return wishes(pod, view.nodes.values(), others.values(), view.namespaces)

    @functools.cached_property
    def unmodelled(self) -> tuple[str, ...]:
        """What was in use at the bind that the oracle does not model."""
        state = self.history.world.at(self.binding.rv - 1)
        return unmodelled(
            self.binding.manifest, state.pods.values(), state.nodes.values(), state.namespaces, state.storage,
            state.inventory,
        )  # fmt: skip

    @property
    def guessed(self) -> bool:
        """Whether the oracle does not know all the rules: its reasons against an existing node are a guess."""
        return bool(self.unmodelled) and self.binding.node in self.per_node


def rule_binding(history: History, binding: Binding) -> Ruling:
    """Whether a binding was feasible in some view of the world that the candidate may have had.

    Caches lag, each on its own: every revision of the nodes counts from the newest that the candidate is shown to have
    seen up to the bind, with every revision of the pods from the newest that it is shown to have seen. It knows its own
    earlier bindings: they are part of each of those views as long as the pods exist. (It does not know a pod that was
    created on its node, whatever its schedulerName.)

    Claims, volumes and devices are those at the bind: if the candidate has to bind or to allocate a claim, it must have
    done so by then.

    Its bindings may take effect in another order than it decided on them: kube-scheduler posts each in a goroutine of
    its own. Pods that waited at this bind, and that it bound later, may have been decided on earlier: affinity and
    spread count them if that favors the pod. Pods that it bound earlier, while this one waited, may have been decided
    on later, if they could go where they are beside this one, or if there is an order of these decisions by which each
    could.

    After its connections to the apiserver have ended, it lists pods again, and may take the list over pod by pod while
    it decides (client-go's reflector and informers): each pod then counts as it was before, or as it is now.
    """
    last = binding.rv - 1
    for nodes, pods, reasons in _views(history, binding, last):
        if not reasons:
            return Ruling(history, binding, (), nodes, pods)
        if (nodes, pods) == (last, last):
            newest = reasons
    for change in _decided_after(history, binding):
        for nodes, pods, reasons in _views_of_all(history, binding, last, change):
            if not reasons:
                return Ruling(history, binding, (), nodes, pods, change)
    return _while_it_lists(history, binding, last) or Ruling(history, binding, newest, last, last)


def _decided_after(history: History, binding: Binding) -> Iterator[_Change]:
    """Without earlier bindings of the candidate that it may have decided on later: all together, one by one, several.

    Only rules about other pods depend on the order of two decisions.
    """
    last, first = binding.rv - 1, history.seen_before(binding.rv).pods
    if not rules_about_others(binding.manifest, history.guards(min(first, last), last)):
        return
    own = history.own_pods()
    earlier = [
        other
        for uid, other in history.bindings.items()
        if uid in own and first < other.rv < binding.rv
        and binding.uid == history.world.at(other.rv - 1).pods.get(binding.pod, {}).get("metadata", {}).get("uid")
    ]  # fmt: skip
    beside = [other for other in earlier if _allows(history, other, binding)]
    if len(beside) > 1:
        yield _without(beside)
    yield from (_without([other]) for other in reversed(beside))
    if 1 < len(earlier) != len(beside):
        yield from _in_another_order(history, binding, earlier[-_REORDERED:])


def _in_another_order(history: History, binding: Binding, earlier: Sequence[Binding]) -> Iterator[_Change]:
    """Without those that follow this binding in an order by which each of them could go where it is."""
    every = {other.uid: other for other in (*earlier, binding)}

    @functools.cache
    def could(uid: str, before: frozenset[str]) -> bool:
        counted = [every[other].manifest for other in before]
        missing = _without([*every.values()])
        views = _views_of_all(history, every[uid], every[uid].rv - 1, lambda pods: [*missing(pods), *counted])
        return any(not reasons for _, _, reasons in views)

    @functools.cache
    def begins(before: frozenset[str]) -> bool:
        return not before or any(could(uid, before - {uid}) and begins(before - {uid}) for uid in before)

    @functools.cache
    def ends(before: frozenset[str]) -> bool:
        left = every.keys() - before
        return not left or any(could(uid, before) and ends(before | {uid}) for uid in left)

    others = [other.uid for other in earlier]
    for count in range(len(others) - 1):  # of a single one that follows, it is known already
        for before in map(frozenset, itertools.combinations(others, count)):
            if could(binding.uid, before) and begins(before) and ends(before | {binding.uid}):
                yield _without([other for other in earlier if other.uid not in before])


def _without(bindings: Sequence[Binding]) -> _Change:
    uids = {binding.uid for binding in bindings}
    return lambda pods: [pod for pod in pods if pod["metadata"]["uid"] not in uids]


def _while_it_lists(history: History, binding: Binding, last: int) -> Ruling | None:
    """A ruling that allows the binding for pods of which some are as an earlier list has them, and others as a later.

    None if none does, or if the candidate did not list pods again before this binding. It has taken over the list once
    it is shown to have seen what came after the end of the fault.

    A binding is allowed if for each rule there is a mixture of the lists by which the rule allows it. That one mixture
    satisfies all rules is not required: their number doubles with each pod that came or went.
    """
    shown = max((seen.at for seen in history.of(ShownSeen) if seen.shown_at_rv < binding.rv), default=0.0)
    if not any(shown < end < binding.at for _, end in history.cuts):
        return None
    first, _ = _first(history, binding, last)
    mixtures = _mixtures(history, binding, last)
    for nodes in _changed(history.world.revisions("nodes", first, last), lambda rv: _nodes_at(history, rv)):
        found = [
            _check(history, binding, nodes, last, change).get(binding.node, _gone(binding.node)) for change in mixtures
        ]
        if not set.intersection(*({reason.rule for reason in reasons} for reasons in found)):
            change = min(zip(found, mixtures, strict=True), key=lambda one: len(one[0]))[1]
            return Ruling(history, binding, (), nodes, last, change)
    return None


def _mixtures(history: History, binding: Binding, last: int) -> list[_Change]:
    """Mixtures of earlier lists of pods and the last, of which each rule has one that suits it best.

    Of the pods that came or went, all are there, none, or those outside of the node, or of a domain of a spread
    constraint; and all pods have their oldest labels, or their newest. The candidate's own placements are there.
    """
    _, first = _first(history, binding, last)
    at_last = history.world.view(last, last)
    own = {pod["metadata"]["uid"] for pod in own_placements(history, at_last.pods, but=binding.uid).values()}
    lists = [_placed(history, rv) for rv in sorted({*history.world.revisions("pods", first, last), first})]
    versions: dict[str, list[Manifest]] = {}
    for pod in itertools.chain(*(pods.values() for pods in lists)):
        versions.setdefault(pod["metadata"]["uid"], []).append(pod)
    stay = {uid for uid, seen in versions.items() if uid in own or len(seen) == len(lists)}

    def outside(key: str) -> Callable[[str], bool]:
        places = {name: (node["metadata"].get("labels") or {}).get(key) for name, node in at_last.nodes.items()}
        return lambda node: places.get(node) != places.get(binding.node)

    keys = {constraint["topologyKey"] for constraint in binding.manifest["spec"].get("topologySpreadConstraints") or ()}
    kept: list[Callable[[str], bool]] = [
        lambda _node: True, lambda _node: False, lambda node: node != binding.node, *map(outside, sorted(keys))
    ]  # fmt: skip
    return [
        functools.partial(
            _instead,
            [seen[which] for uid, seen in versions.items() if uid in stay or is_kept(seen[which]["spec"]["nodeName"])],
        )
        for which in (0, -1)
        for is_kept in kept
    ]


def _instead(counted: list[Manifest], _pods: list[Manifest]) -> list[Manifest]:
    return counted


def _allows(history: History, binding: Binding, before: Binding) -> bool:
    """Whether a pod could go where it is if another one, which was bound after it, counted already."""

    def with_it(pods: list[Manifest]) -> list[Manifest]:
        return [*_without([before])(pods), before.manifest]

    views = _views_of_all(history, binding, binding.rv - 1, with_it)
    return any(not reasons for _, _, reasons in views)


def _views(history: History, binding: Binding, last: int) -> Iterator[tuple[int, int, tuple[Reason, ...]]]:
    """Revisions of nodes and of pods, and why the pod could not run on its node as of those; newest first."""
    first_nodes, first_pods = _first(history, binding, last)
    if rules_about_others(binding.manifest, history.guards(first_pods, last)):
        yield from _views_of_all(history, binding, last)
        return
    # What other nodes are like has no part in it.
    world, node = history.world, binding.node
    placed = own_placements(history, world.company(node, last), but=binding.uid)
    pod = as_configured(history, binding.manifest)
    versions = _distinct(world.node_versions(node, first_nodes, last))
    companies = world.company_changes(node, first_pods, last)
    storage, inventory = world.storage(last), world.inventory(last)
    for nodes, manifest in versions:
        for pods in companies:
            if manifest is None:
                yield nodes, pods, _gone(node)
                continue
            company = with_own(world.company(node, pods), placed)
            found = check(pod, [manifest], company.values(), storage=storage, inventory=inventory)
            yield nodes, pods, found[node]


def _first(history: History, binding: Binding, last: int) -> tuple[int, int]:
    """The newest revisions of nodes and of pods that the candidate is shown to have seen before a bind."""
    seen = history.seen_before(binding.rv)
    return min(seen.nodes, last), min(seen.pods, last)


def _views_of_all(
    history: History, binding: Binding, last: int, change: _Change = _as_seen
) -> Iterator[tuple[int, int, tuple[Reason, ...]]]:
    """As `_views`, for a pod that depends on pods of other nodes, or with something assumed of the pods."""
    world, (first_nodes, first_pods) = history.world, _first(history, binding, last)
    for nodes in _changed(world.revisions("nodes", first_nodes, last), lambda rv: _nodes_at(history, rv)):
        for pods in _changed(world.revisions("pods", first_pods, last), lambda rv: _placed_at(history, rv)):
            found = _check(history, binding, nodes, pods, change)
            yield nodes, pods, found.get(binding.node, _gone(binding.node))


def _check(history: History, binding: Binding, nodes: int, pods: int, change: _Change) -> dict[str, tuple[Reason, ...]]:
    """Every node's reasons against a bound pod, in a view of the world, of whose pods something may be assumed."""
    view, at_bind = history.world.view(nodes, pods), history.world.at(binding.rv - 1)
    others = with_own(view.pods, own_placements(history, at_bind.pods, but=binding.uid))
    return check(
        as_configured(history, binding.manifest),
        view.nodes.values(),
        change(list(others.values())),
        view.namespaces,
        under_way=_under_way(history, binding, at_bind.pods),
        storage=at_bind.storage,
        inventory=at_bind.inventory,
    )


def _gone(node: str) -> tuple[Reason, ...]:
    return (Reason(f"node {node!r} does not exist", rule="existence"),)


def _under_way(history: History, binding: Binding, at_bind: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidate's pods that waited at the bind and were bound after it, in their state at the bind."""
    own = history.own_pods()
    bindings = (history.bindings.get(uid) for pod in at_bind.values() if (uid := pod["metadata"]["uid"]) in own)
    return [later.manifest for later in bindings if later is not None and later.rv > binding.rv]


def with_own(seen: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The pods of a view with the candidate's placements, of which it knows before the view shows them.

    Of a placement that the view shows, its state is the view's: whether it is terminating is not known earlier.
    """
    shown = {
        name: pod
        for name, pod in seen.items()
        if name not in own or (pod["metadata"]["uid"] == own[name]["metadata"]["uid"] and pod["spec"].get("nodeName"))
    }
    return {**own, **shown}


def own_placements(history: History, pods: Mapping[str, Manifest], *, but: str = "") -> dict[str, Manifest]:
    """Those of the pods that the candidate has put on their nodes. `but`: the uid of one that is left out."""
    own = history.own_pods()
    return {
        name: pod
        for name, pod in pods.items()
        if (uid := pod["metadata"]["uid"]) in own and uid in history.bindings and uid != but
        and pod["spec"].get("nodeName")
    }  # fmt: skip


def _changed(revisions: list[int], content: Callable[[int], object]) -> Iterator[int]:
    """The revisions at which the content differs from that of the previous revision."""
    before: object = None
    for rv in revisions:
        if (now := content(rv)) != before:
            yield rv
        before = now


def _nodes_at(history: History, rv: int) -> object:
    return {name: _what_counts(node) for name, node in history.world.view(rv, rv).nodes.items()}


def _placed_at(history: History, rv: int) -> object:
    return {name: _what_others_see(pod) for name, pod in _placed(history, rv).items()}


def _placed(history: History, rv: int) -> dict[str, Manifest]:
    """The pods on nodes right after a revision."""
    pods = history.world.view(rv, rv).pods
    return {name: pod for name, pod in pods.items() if pod["spec"].get("nodeName")}


def _what_others_see(pod: Manifest | None) -> object:
    """Where a pod is, and what other pods' rules see of it. None: it is not there."""
    if pod is None:
        return None
    metadata = pod["metadata"]
    return (
        pod["spec"]["nodeName"], metadata["uid"], metadata.get("labels"), "deletionTimestamp" in metadata,
        pod["status"],
    )  # fmt: skip


def _distinct(versions: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """The revisions without those that differ from the next newer one only in what no scheduler reads, such as a
    heartbeat.
    """
    kept: list[tuple[int, Any]] = []
    for rv, manifest in versions:
        if not kept or _what_counts(kept[-1][1]) != _what_counts(manifest):
            kept.append((rv, manifest))
    return kept


def _what_counts(node: Mapping[str, Any] | None) -> object:
    return node and (node["metadata"].get("labels"), node["spec"], node["status"].get("allocatable"))
