"""core: required pod affinity, required pod anti-affinity, and topology spread constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

ZONE, POOL, HOST = "schedproof.dev/zone", "schedproof.dev/pool", "kubernetes.io/hostname"
EAST, ALSO_EAST, WEST, NORTH = "node-east-1", "node-east-2", "node-west", "node-north"
ZONES = {EAST: "east", ALSO_EAST: "east", WEST: "west", NORTH: "north"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def zones(case: Case, *nodes: str) -> tuple[str, dict[str, str]]:
    """Label a pool of nodes with zones, and one without; return the latter, and the labels that select the pool."""
    unzoned = case.nodes.names[0]
    case.nodes.change(unzoned, labels={POOL: "company"})
    for node in nodes:
        case.nodes.add(node)
        case.nodes.change(node, labels={POOL: "company", ZONE: ZONES[node]})
    return unzoned, {POOL: "company"}


def term(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def selecting(*expressions: tuple[str, ...], key: str = ZONE, **labels: str) -> dict[str, Any]:
    """Return a term with these labels and expressions, each a key, an operator and values."""
    chosen = [{"key": name, "operator": operator, "values": values} for name, operator, *values in expressions]
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels, "matchExpressions": chosen}}


def meaning(app: str, key: str = ZONE) -> list[dict[str, Any]]:
    """Return terms that match a pod whose only label is `app`, with this value."""
    absent = [("tier", "NotIn", "front"), ("tier", "DoesNotExist")]
    both = [("app", "Exists"), ("app", "In", app)]
    return [*(selecting(one, key=key, app=app) for one in absent), selecting(*both, key=key)]


def not_meaning(app: str) -> list[dict[str, Any]]:
    """Return terms that do not match such a pod, because of one of their expressions."""
    exists, other = ("app", "Exists"), ("app", "In", "other")
    wrong = [("tier", "Exists"), ("app", "NotIn", app), ("app", "DoesNotExist")]
    alone = [selecting(one, app=app) for one in wrong]
    return [*alone, selecting(other), selecting(exists, other), selecting(other, exists)]


def ended(case: Case, node: str, app: str, **spec: Any) -> None:
    """Create a succeeded and a failed pod, still bound to the node; none if pods cannot be made to end.

    The node is one of the cluster's own: where kubelets run pods, nodes that joined later have none.
    """
    if "ending-pods" in case.trial.cluster.capabilities and not case.leaves_out(Subject.ENDED_PODS):
        for phase in ("Succeeded", "Failed"):
            case.pods.finish(case.pods.neighbour(node, app, ends=phase, **spec), phase)


def leaving(case: Case, node: str, app: str, **spec: Any) -> bool:
    """Create a pod on the node that is terminating for the whole case; return whether the cluster allows that."""
    capabilities = case.trial.cluster.capabilities
    if "ending-pods" not in capabilities or "real-pods" in capabilities or case.leaves_out(Subject.ENDED_PODS):
        return False
    case.pods.terminate(case.pods.neighbour(node, app, lingers=True, **spec))
    return True


def together(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


@pytest.mark.clause("core/pod-affinity")
def test_pod_affinity(case: Case) -> None:
    """Pods require pods near them, by zone and by node, by two terms; or pods like themselves, or absent pods.

    Terms select by labels and by expressions, also by labels that a pod lacks, and by the pod's own values of labels.
    Pods that have ended do not count; terminating pods still do. Last, a pod waits, and then a pod with the same spec
    is the first of a group.
    """
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.pods.neighbour(EAST, "db")
    case.pods.neighbour(WEST, "cache")
    case.pods.neighbour(unzoned, "lost")
    ended(case, unzoned, "done")
    still_there = leaving(case, unzoned, "leaving")
    case.settle()

    def pods(*affinities: dict[str, Any], **selector: str) -> list[Pod]:
        return [case.pod("beside", affinity=one, nodeSelector={**pool, **selector}) for one in affinities]

    exists = selecting(("app", "Exists"))
    case.expect_bound(pods(together(term("db")), together(term("cache")), together(term("db", HOST)), together(exists)))
    case.expect_bound(
        pods(together(term("db"), term("db", HOST)), together(term("db"), exists), together(term("lost", HOST)))
    )
    case.expect_bound(pods(*(together(one) for one in meaning("cache"))))
    if still_there:
        case.expect_bound(pods(together(term("leaving", HOST))))
    case.expect_bound(pods(together({"topologyKey": HOST, "labelSelector": {}}), **{HOST: WEST}))
    versioned = case.pod("versioned", labels={"app": "versioned", "version": "1"}, nodeSelector={HOST: EAST})
    case.expect_bound([versioned])
    by_version = {"affinity": together(term("versioned", matchLabelKeys=["version"])), "nodeSelector": pool}
    by_others = {"affinity": together(term("versioned", mismatchLabelKeys=["version"])), "nodeSelector": pool}
    one, two = {"labels": {"version": "1"}}, {"labels": {"version": "2"}}
    case.expect_bound([case.pod("same", **one, **by_version), case.pod("other", **two, **by_others)])
    unlike = [case.pod("same", **two, **by_version), case.pod("other", **one, **by_others)]
    for _ in range(4):  # one by one: the others must follow the first
        case.expect_bound(
            [case.pod("group", labels={"app": "group"}, affinity=together(term("group")), nodeSelector=pool)]
        )
    nowhere = pods(
        together(term("absent")), together(term("db"), term("cache")), together(term("lost")),
        together(term("db", "schedproof.dev/no-such-label")), together({"topologyKey": ZONE}),
    )  # fmt: skip
    nowhere += unlike
    nowhere += pods(together(term("db")), **{ZONE: "west"}) + pods(together(term("db")), **{HOST: unzoned})
    nowhere += pods(*(together(one) for one in not_meaning("cache")), **{ZONE: "west"})
    nowhere += pods(together(term("done", HOST)))
    own = together(term("alone", "schedproof.dev/no-such-label"))
    nowhere.append(case.pod("first", labels={"app": "alone"}, affinity=own, nodeSelector=pool))
    nowhere.append(
        case.pod("first", labels={"app": "alone"}, affinity=together(term("alone")), nodeSelector={HOST: unzoned})
    )
    case.expect_pending(nowhere)
    # A pod waits; then one that differs from it only by a label is created, before anything else has changed.
    late = {"affinity": together(term("late")), "nodeSelector": pool}
    waits = case.pod("waits", **late)
    case.status.await_decision(waits, case.deadlines.bind)
    case.expect_bound([case.pod("first", labels={"app": "late"}, **late)])
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-pod-added")
def test_requeue_pod_added(case: Case) -> None:
    """Two pods wait to be near others. Then one of these is created for the candidate, one for another scheduler."""
    ours, theirs = (case.pod("waits", affinity=together(term(app, HOST))) for app in ("ours", "theirs"))
    case.expect_pending([ours, theirs])
    case.expect_bound([case.pod("partner", labels={"app": "ours"})])
    case.expect_bound([ours], case.deadlines.requeue)
    foreign = case.pods.foreign(labels={"app": "theirs"})
    case.pods.bind_elsewhere(foreign, case.nodes.names[0])
    case.expect_bound([theirs], case.deadlines.requeue)


@pytest.mark.clause("core/pod-anti-affinity")
def test_pod_anti_affinity(case: Case) -> None:
    """Pods avoid a pod by zone and by node, also on a node without a zone; then a group wants one node for each member.

    Terms select by labels and by expressions, also by labels that a pod lacks. Pods that have ended keep no pod
    away; terminating pods still do. A relabelled pod keeps those pods away that it did not keep away before.
    """
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.pods.neighbour(EAST, "db")
    relabelled = case.pods.neighbour(WEST, "blue")
    case.pods.neighbour(unzoned, "lost")
    ended(case, unzoned, "done")
    still_there = leaving(case, unzoned, "leaving")
    case.settle()

    def pods(affinity: dict[str, Any], **selector: str) -> list[Pod]:
        return [case.pod("away", affinity=affinity, nodeSelector={**pool, **selector})]

    for terms in ([term("db")], [term("db", HOST)], [term("db"), term("lost", HOST)], [term("absent")]) * 2:
        case.expect_bound(pods(apart(*terms)))
    case.expect_bound(pods(apart(term("db", HOST)), **{HOST: ALSO_EAST}))
    case.expect_bound(pods(apart(term("lost")), **{HOST: unzoned}))
    case.expect_bound(pods(apart(term("done", HOST)), **{HOST: unzoned}))
    case.expect_bound(pods(apart({"topologyKey": ZONE}), **{HOST: EAST}))
    case.expect_bound([pod for one in not_meaning("db") for pod in pods(apart(one), **{HOST: EAST})])
    case.expect_bound([case.pod("versioned", labels={"app": "versioned", "version": "1"}, nodeSelector={HOST: WEST})])
    versions: dict[str, list[Pod]] = {
        version: [
            case.pod("away", labels={"version": version}, affinity=apart(one), nodeSelector={HOST: WEST})
            for one in (
                term("versioned", matchLabelKeys=["version"]), term("absent"),
                term("versioned", mismatchLabelKeys=["version"]),
            )
        ]
        for version in ("1", "2")
    }  # fmt: skip
    case.expect_bound([*versions["1"][1:], *versions["2"][:2]])
    nowhere = pods(apart(term("db")), **{ZONE: "east"}) + pods(apart(term("absent"), term("db", HOST)), **{HOST: EAST})
    nowhere += [pod for one in meaning("db") for pod in pods(apart(one), **{ZONE: "east"})]
    nowhere += pods(apart(term("leaving", HOST)), **{HOST: unzoned}) if still_there else []
    nowhere += [versions["1"][0], versions["2"][2]]
    case.expect_pending(nowhere + pods(apart({"topologyKey": ZONE, "labelSelector": {}}), **{ZONE: "east"}))
    waits = pods(apart(term("blue", HOST)), **{HOST: WEST})
    case.expect_pending(waits)
    case.expect_bound(pods(apart(term("green", HOST)), **{HOST: WEST}))
    case.pods.patch(relabelled, {"metadata": {"labels": {"app": "green"}}})
    case.expect_bound(waits, case.deadlines.requeue)
    case.settle()
    case.expect_pending(pods(apart(term("green", HOST)), **{HOST: WEST}))
    alone = {"labels": {"app": "single"}, "affinity": apart(term("single", HOST)), "nodeSelector": pool}
    case.expect_so_many_bound([case.pod("single", **alone) for _ in range(6)], 4)


@pytest.mark.clause("core/anti-affinity-symmetry")
def test_anti_affinity_symmetry(case: Case) -> None:
    """Bound pods have anti-affinity to an application: its pods are kept away from them, other pods are not.

    Their terms select by labels and by expressions. Those of pods that have ended do not count; those of
    terminating pods do. Last, a node with such a pod moves to another zone.
    """
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.pods.neighbour(EAST, "db", affinity=apart(term("noisy"), term("rude")))
    case.pods.neighbour(WEST, "cache", affinity=apart(term("rude", HOST), *not_meaning("plain")))
    guarded = dict(zip((unzoned, EAST, ALSO_EAST), meaning("plain", HOST), strict=True))
    for node, unwanted in guarded.items():
        case.pods.neighbour(node, "guard", affinity=apart(unwanted))
    ended(case, unzoned, "done", affinity=apart(term("late", HOST)))
    still_there = leaving(case, unzoned, "leaving", affinity=apart(term("shy", HOST)))
    case.settle()

    def pods(app: str, **selector: str) -> list[Pod]:
        return [case.pod(app, labels={"app": app}, nodeSelector={**pool, **selector})]

    for app in ("noisy", "rude", "noisy", "rude"):
        case.expect_bound(pods(app))
    case.expect_bound(pods("noisy", **{ZONE: "west"}) + pods("quiet", **{ZONE: "east"}) + pods("db", **{ZONE: "east"}))
    case.expect_bound(pods("plain", **{ZONE: "west"}) + pods("late", **{HOST: unzoned}))
    nowhere = [
        *(("plain", {HOST: node}) for node in guarded),
        ("noisy", {HOST: EAST}),
        ("noisy", {HOST: ALSO_EAST}),
        ("rude", {ZONE: "east"}),
        ("rude", {ZONE: "west"}),
        *([("shy", {HOST: unzoned})] if still_there else []),
    ]
    waiting = [pod for app, selector in nowhere for pod in pods(app, **selector)]
    case.expect_pending(waiting)
    case.delete(waiting)
    case.nodes.change(EAST, labels={ZONE: "north"})
    case.settle()
    case.expect_bound(pods("noisy", **{HOST: ALSO_EAST}))
    case.expect_pending(pods("noisy", **{HOST: EAST}))


@pytest.mark.clause("core/affinity-namespaces")
def test_affinity_namespaces(case: Case) -> None:
    """Terms without namespaces, with names of namespaces, or with a selector of some or all; of new and of bound pods.

    After its labels have decided once, a namespace is relabelled, and another one is deleted and created again with
    other labels. A pod is the first of its group only if its term covers its own namespace.
    """
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    red, blue, late, again = case.objects.namespaces(
        red={"team": "red"}, blue={"team": "blue"}, late={"team": "none"}, again={"team": "former"}
    )
    here = case.trial.namespace
    own = {"matchLabels": {"kubernetes.io/metadata.name": here}}
    case.pods.neighbour(EAST, "db", namespace=red)
    case.pods.neighbour(WEST, "relabelled", namespace=late)
    case.pods.neighbour(EAST, "guard", namespace=blue, affinity=apart(term("web", HOST)))
    case.pods.neighbour(ALSO_EAST, "guard", namespace=blue, affinity=apart(term("web", HOST, namespaceSelector=own)))
    case.pods.neighbour(WEST, "guard", namespace=blue, affinity=apart(term("web", HOST, namespaces=[here])))
    # Only for bound pods: in a new pod, kube-scheduler takes such a selector for one of all namespaces.
    no_team = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    case.pods.neighbour(unzoned, "guard", namespace=blue, affinity=apart(term("web", HOST, namespaceSelector=no_team)))
    case.settle()

    def pods(name: str, affinity: dict[str, Any], **selector: str) -> list[Pod]:
        return [case.pod(name, affinity=affinity, nodeSelector={**pool, **selector})]

    def by_team(*teams: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": "team", "operator": "In", "values": list(teams)}]}

    # It matches no namespace without labels: see above.
    neither_blue = {
        "matchExpressions": [
            {"key": "team", "operator": "Exists"}, {"key": "team", "operator": "NotIn", "values": ["blue"]},
            {"key": "no-such", "operator": "DoesNotExist"},
        ]
    }  # fmt: skip
    former = case.pods.neighbour(WEST, "returned", namespace=again)
    case.expect_bound(pods("beside", together(term("relabelled", namespaceSelector=by_team("none")))))
    case.expect_bound(pods("beside", together(term("returned", namespaceSelector=by_team("former")))))
    case.objects.namespaces(late={"team": "late"})
    case.delete([former])
    case.objects.namespace_again(again, {"team": "latter"})
    case.pods.neighbour(WEST, "returned", namespace=again)
    red_ones: list[dict[str, Any]] = [
        {"namespaces": [red]}, {"namespaceSelector": by_team("red")}, {"namespaceSelector": {}},
        {"namespaces": [red, blue]}, {"namespaces": [blue], "namespaceSelector": by_team("red", "green")},
        {"namespaceSelector": neither_blue},
    ]  # fmt: skip
    others: list[dict[str, Any]] = [
        {},
        {"namespaces": [blue]},
        {"namespaceSelector": by_team("blue")},
        {"namespaces": [here]},
    ]

    def first(app: str, *terms: dict[str, Any]) -> Pod:
        group = together(*(term(app, **meant) for meant in terms))
        return case.pod("first", labels={"app": app}, affinity=group, nodeSelector=pool)

    for meant in red_ones:
        case.expect_bound(pods("beside", together(term("db", **meant))))
    case.expect_bound(pods("beside", together(term("relabelled", namespaceSelector=by_team("late")))))
    case.expect_bound(pods("beside", together(term("returned", namespaceSelector=by_team("latter")))))
    for meant in others:
        case.expect_bound(pods("beside", apart(term("db", **meant)), **{HOST: EAST}))
    case.expect_bound([case.pod("guarded", labels={"app": "web"}, nodeSelector={HOST: EAST})])
    groups: list[dict[str, Any]] = [{}, {"namespaces": [here, red]}, {"namespaceSelector": own}]
    case.expect_bound([first(f"group-{number}", meant) for number, meant in enumerate(groups)])
    nowhere = [pod for meant in others for pod in pods("away", together(term("db", **meant)))]
    nowhere += pods("away", together(term("relabelled", namespaceSelector=by_team("none"))))
    nowhere += pods("away", together(term("returned", namespaceSelector=by_team("former"))))
    nowhere += [first("alone", {"namespaces": [red]}), first("alone", {"namespaceSelector": by_team("red")})]
    nowhere.append(first("alone", {}, {"namespaces": [red]}))
    nowhere += [pod for meant in red_ones for pod in pods("away", apart(term("db", **meant)), **{HOST: EAST})]
    for node in (ALSO_EAST, WEST, unzoned):
        nowhere.append(case.pod("guarded", labels={"app": "web"}, nodeSelector={HOST: node}))
    case.expect_pending(nowhere)


def spread(app: str, **constraint: Any) -> dict[str, Any]:
    """Return a DoNotSchedule constraint over zones, with a maxSkew of 1."""
    return {
        "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}}, **constraint,
    }  # fmt: skip


def over_both(case: Case, app: str, node: str) -> list[Pod]:
    """Create two pods for a node, spread over zones and over nodes, with the constraints in either order."""
    keys = [spread(app, topologyKey=key, nodeAffinityPolicy="Ignore") for key in (ZONE, HOST)]
    return [
        case.pod(app, labels={"app": app}, nodeSelector={HOST: node}, topologySpreadConstraints=one)
        for one in (keys, keys[::-1])
    ]


@pytest.mark.clause("core/topology-spread")
def test_topology_spread(case: Case) -> None:
    """Pods are spread over zones, singly and in a burst; then minDomains, matchLabelKeys, and both policies.

    A constraint selects by labels or by expressions; one without a selector counts no pod.

    Of two constraints, each keeps pods off. Pods with the same labels in another namespace are all in one zone and
    do not count, nor do pods that have ended or are terminating.
    """
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST, NORTH)
    for _ in range(3):
        case.pods.neighbour(EAST, "versioned")
    case.pods.neighbour(unzoned, "lost")
    ended(case, unzoned, "hosted")
    for _ in range(3):
        leaving(case, EAST, "replaced")
    (other,) = case.objects.namespaces(other={})
    for _ in range(3):
        case.pods.neighbour(EAST, "steady", namespace=other)
    for node, app in ((EAST, "two-keys"), (WEST, "two-keys"), (NORTH, "two-keys"), (EAST, "one-zone")) * 2:
        case.pods.neighbour(node, app)
    case.settle()

    def pods(
        app: str,
        count: int,
        selector: dict[str, str] = pool,
        labels: dict[str, str] | None = None,
        **constraint: Any,
    ) -> list[Pod]:
        named = {"app": app, **(labels or {})}
        return [
            case.pod(app, labels=named, nodeSelector=selector, topologySpreadConstraints=[spread(app, **constraint)])
            for _ in range(count)
        ]

    for _ in range(7):
        case.expect_bound(pods("steady", 1))
    case.expect_bound(pods("burst", 9))
    east = {**pool, ZONE: "east"}
    ignoring: dict[str, Any] = {"nodeAffinityPolicy": "Ignore"}
    written = selecting(("app", "Exists"), ("app", "In", "burst"), ("app", "NotIn", "db"), ("tier", "DoesNotExist"))
    by_expressions = {"labelSelector": written["labelSelector"], **ignoring}
    case.expect_so_many_bound(pods("burst", 2, east, **by_expressions), 1)
    everywhere = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **ignoring}
    case.expect_bound([case.pod("burst", nodeSelector=east, topologySpreadConstraints=[everywhere]) for _ in range(3)])
    case.expect_pending(over_both(case, "two-keys", EAST) + over_both(case, "one-zone", ALSO_EAST))
    case.expect_so_many_bound(over_both(case, "two-keys", ALSO_EAST), 1)
    case.expect_pending(pods("lost", 1, {**pool, HOST: unzoned}))
    case.expect_so_many_bound(pods("domains", 5, minDomains=4), 3)
    case.expect_pending(pods("versioned", 1, east, **ignoring))
    case.expect_bound(pods("versioned", 1, east, {"version": "2"}, matchLabelKeys=["version"], **ignoring))
    case.expect_pending(pods("versioned", 1, east, {"version": "2"}, matchLabelKeys=["version"], **ignoring))
    case.expect_bound(pods("selecting", 3, east, nodeAffinityPolicy="Honor"))
    case.expect_bound(pods("replaced", 1, east, **ignoring))
    case.expect_so_many_bound(pods("ignoring", 3, east, **ignoring), 1)
    on_unzoned = {**pool, HOST: unzoned}
    case.expect_bound(pods("hosted", 1, on_unzoned, topologyKey=HOST, **ignoring))
    case.expect_so_many_bound(pods("loose", 3, east, maxSkew=2, **ignoring), 2)
    case.nodes.change(NORTH, taints=[{"key": POOL, "value": "closed", "effect": "NoSchedule"}])
    case.settle()
    case.expect_so_many_bound(pods("tainted", 4), 2)
    case.expect_bound(pods("honoring", 4, nodeTaintsPolicy="Honor"))


def key_of(change: str) -> str:
    """Return the label of nodes that is the topology key of the pod that waits for a change."""
    return f"schedproof.dev/{change}"


@pytest.mark.clause("core/requeue-spread")
def test_requeue_spread(case: Case) -> None:
    """Pods are spread over a label each: one domain has a pod, another node's has none and is closed to the pod.

    Each waits for one change: a pod goes, is relabelled, or comes to the empty domain; the other node loses the label,
    gets the same value or a taint by which it does not count, or is deleted. A last pod selects a node that then gets
    the label.
    """
    node, other = case.nodes.names[:2]
    case.nodes.add(NORTH)
    changes: dict[str, Callable[[], object]] = {
        "pod-goes": lambda: case.delete([there["pod-goes"]]),
        "pod-changes": lambda: case.pods.relabel(there["pod-changes"], {"app": "another"}),
        "pod-comes": lambda: case.pods.neighbour(other, "pod-comes"),
        "label-goes": lambda: case.nodes.change(other, labels={key_of("label-goes"): None}),
        "label-changes": lambda: case.nodes.change(other, labels={key_of("label-changes"): "first"}),
        "node-goes": lambda: case.nodes.remove(NORTH),
        "label-comes": lambda: case.nodes.change(other, labels={key_of("label-comes"): "second"}),
    }
    if not case.leaves_out(Subject.TAINTS):
        taint = {"key": key_of("taint-comes"), "effect": "NoSchedule"}
        changes["taint-comes"] = lambda: case.nodes.change(other, taints=[taint])
    empty = dict.fromkeys(changes, other) | {"node-goes": NORTH}
    case.nodes.change(node, labels={key_of(change): "first" for change in changes})
    for second in (other, NORTH):
        mine = [change for change in changes if empty[change] == second and change != "label-comes"]
        case.nodes.change(second, labels={key_of(change): "second" for change in mine})
    there = {change: case.pods.neighbour(node, change) for change in changes}
    case.settle()
    waiting = {
        change: case.pod(
            change, labels={"app": change}, nodeSelector={HOST: other if change == "label-comes" else node},
            topologySpreadConstraints=[
                spread(change, topologyKey=key_of(change), nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")
            ],
        )
        for change in changes
    }  # fmt: skip
    case.expect_pending(list(waiting.values()))
    for change, happens in changes.items():
        happens()
        case.expect_bound([waiting[change]], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-affinity")
def test_requeue_affinity(case: Case) -> None:
    """Pods have affinity or anti-affinity to a pod on another node, over a label each. Each waits for one change.

    One of the two nodes gets the label, loses it, or gets another value; or the pod goes, or is relabelled.
    """
    node, other = case.nodes.names[:2]

    def relabels(one: str, change: str, value: str | None) -> Callable[[], object]:
        return lambda: case.nodes.change(one, labels={key_of(change): value})

    far: dict[str, Callable[[], object]] = {
        "meets": relabels(other, "meets", "first"),
        "is-met": relabels(node, "is-met", "second"),
        "gets-place": relabels(other, "gets-place", "first"),
        "has-place": relabels(node, "has-place", "first"),
        "pod-turns": lambda: case.pods.relabel(there["pod-turns"], {"app": "pod-turns"}),
    }
    near: dict[str, Callable[[], object]] = {
        "leaves": relabels(other, "leaves", "second"),
        "is-left": relabels(node, "is-left", "second"),
        "loses-place": relabels(other, "loses-place", None),
        "has-lost-place": relabels(node, "has-lost-place", None),
        "pod-goes": lambda: case.delete([there["pod-goes"]]),
        "pod-changes": lambda: case.pods.relabel(there["pod-changes"], {"app": "another"}),
    }
    at_first = {"gets-place": (None, "first"), "has-place": ("first", None), "pod-turns": ("first", "first")}
    places = {
        change: at_first.get(change, ("second", "first") if change in far else ("first", "first"))
        for change in (*far, *near)
    }
    case.nodes.change(other, labels={key_of(change): place for change, (place, _) in places.items()})
    case.nodes.change(node, labels={key_of(change): place for change, (_, place) in places.items()})
    there = {
        change: case.pods.neighbour(node, "another" if change == "pod-turns" else change) for change in (*far, *near)
    }
    case.settle()
    waiting = {
        change: case.pod(
            change, nodeSelector={HOST: other},
            affinity=(together if change in far else apart)(term(change, key_of(change))),
        )
        for change in (*far, *near)
    }  # fmt: skip
    case.expect_pending(list(waiting.values()))
    for change, happens in {**far, **near}.items():
        happens()
        case.expect_bound([waiting[change]], case.deadlines.requeue)
