"""core: which pods are together: affinity, anti-affinity and topology spread, as far as they are required."""

import pytest

ZONE, POOL, HOST = "schedproof.dev/zone", "schedproof.dev/pool", "kubernetes.io/hostname"
EAST, ALSO_EAST, WEST, NORTH = "node-east-1", "node-east-2", "node-west", "node-north"
ZONES = {EAST: "east", ALSO_EAST: "east", WEST: "west", NORTH: "north"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def zones(case, *nodes):
    """A pool of nodes in zones, and one in none. Returns the latter, and what a pod of the pool selects."""
    unzoned = case.nodes[0]
    case.change_node(unzoned, labels={POOL: "company"})
    for node in nodes:
        case.add_node(node)
        case.change_node(node, labels={POOL: "company", ZONE: ZONES[node]})
    return unzoned, {POOL: "company"}


def term(app, key=ZONE, **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def together(*terms):
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms):
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


@pytest.mark.clause("core/pod-affinity")
def test_pod_affinity(case):
    """Beside a pod by zone and by node, by two terms, first of a group and after it; and where no such pod is."""
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.neighbour(EAST, "db")
    case.neighbour(WEST, "cache")
    case.neighbour(unzoned, "lost")
    case.settle()

    def pods(*affinities, **selector):
        return [case.pod("beside", affinity=one, nodeSelector={**pool, **selector}) for one in affinities]

    exists = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    case.expect_bound(pods(together(term("db")), together(term("cache")), together(term("db", HOST)), together(exists)))
    case.expect_bound(
        pods(together(term("db"), term("db", HOST)), together(term("db"), exists), together(term("lost", HOST)))
    )
    for _ in range(4):  # one by one: the others must follow the first
        case.expect_bound(
            [case.pod("group", labels={"app": "group"}, affinity=together(term("group")), nodeSelector=pool)]
        )
    nowhere = pods(
        together(term("absent")), together(term("db"), term("cache")), together(term("lost")),
        together(term("db", "schedproof.dev/no-such-label")), together({"topologyKey": ZONE}),
    )  # fmt: skip
    nowhere += pods(together(term("db")), **{ZONE: "west"}) + pods(together(term("db")), **{HOST: unzoned})
    own = together(term("alone", "schedproof.dev/no-such-label"))
    nowhere.append(case.pod("first", labels={"app": "alone"}, affinity=own, nodeSelector=pool))
    nowhere.append(
        case.pod("first", labels={"app": "alone"}, affinity=together(term("alone")), nodeSelector={HOST: unzoned})
    )
    case.expect_pending(nowhere)


@pytest.mark.clause("core/pod-anti-affinity")
def test_pod_anti_affinity(case):
    """Away from a pod by zone and by node, also where there is no zone; then a group of which each wants a node."""
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.neighbour(EAST, "db")
    case.neighbour(unzoned, "lost")
    case.settle()

    def pods(affinity, **selector):
        return [case.pod("away", affinity=affinity, nodeSelector={**pool, **selector})]

    for terms in ([term("db")], [term("db", HOST)], [term("db"), term("lost", HOST)], [term("absent")]) * 2:
        case.expect_bound(pods(apart(*terms)))
    case.expect_bound(pods(apart(term("db", HOST)), **{HOST: ALSO_EAST}))
    case.expect_bound(pods(apart(term("lost")), **{HOST: unzoned}))
    case.expect_bound(pods(apart({"topologyKey": ZONE}), **{HOST: EAST}))
    nowhere = pods(apart(term("db")), **{ZONE: "east"}) + pods(apart(term("absent"), term("db", HOST)), **{HOST: EAST})
    case.expect_pending(nowhere + pods(apart({"topologyKey": ZONE, "labelSelector": {}}), **{ZONE: "east"}))
    alone = {"labels": {"app": "single"}, "affinity": apart(term("single", HOST)), "nodeSelector": pool}
    case.expect_so_many_bound([case.pod("single", **alone) for _ in range(6)], 4)


@pytest.mark.clause("core/anti-affinity-symmetry")
def test_anti_affinity_symmetry(case):
    """Pods are there that want none of an application near them: pods of that application keep away, others do not."""
    _, pool = zones(case, EAST, ALSO_EAST, WEST)
    case.neighbour(EAST, "db", affinity=apart(term("noisy"), term("rude")))
    case.neighbour(WEST, "cache", affinity=apart(term("rude", HOST)))
    case.settle()

    def pods(app, **selector):
        return [case.pod(app, labels={"app": app}, nodeSelector={**pool, **selector})]

    for app in ("noisy", "rude", "noisy", "rude"):
        case.expect_bound(pods(app))
    case.expect_bound(pods("noisy", **{ZONE: "west"}) + pods("quiet", **{ZONE: "east"}) + pods("db", **{ZONE: "east"}))
    nowhere = [
        ("noisy", {HOST: EAST}),
        ("noisy", {HOST: ALSO_EAST}),
        ("rude", {ZONE: "east"}),
        ("rude", {ZONE: "west"}),
    ]
    case.expect_pending([pod for app, selector in nowhere for pod in pods(app, **selector)])


@pytest.mark.clause("core/affinity-namespaces")
def test_affinity_namespaces(case):
    """Terms that say nothing of namespaces, name one, select some by labels, or all; of either side."""
    _, pool = zones(case, EAST, ALSO_EAST, WEST)
    red, blue = case.namespaces(red={"team": "red"}, blue={"team": "blue"})
    own = {"matchLabels": {"kubernetes.io/metadata.name": case.trial.namespace}}
    case.neighbour(EAST, "db", namespace=red)
    case.neighbour(EAST, "guard", namespace=blue, affinity=apart(term("web", HOST)))
    case.neighbour(ALSO_EAST, "guard", namespace=blue, affinity=apart(term("web", HOST, namespaceSelector=own)))
    case.neighbour(WEST, "guard", namespace=blue, affinity=apart(term("web", HOST, namespaces=[case.trial.namespace])))
    case.settle()

    def pods(name, affinity, **selector):
        return [case.pod(name, affinity=affinity, nodeSelector={**pool, **selector})]

    def by_team(*teams):
        return {"matchExpressions": [{"key": "team", "operator": "In", "values": list(teams)}]}

    red_ones = [
        {"namespaces": [red]}, {"namespaceSelector": by_team("red")}, {"namespaceSelector": {}},
        {"namespaces": [red, blue]}, {"namespaces": [blue], "namespaceSelector": by_team("red", "green")},
    ]  # fmt: skip
    others = [
        {},
        {"namespaces": [blue]},
        {"namespaceSelector": by_team("blue")},
        {"namespaces": [case.trial.namespace]},
    ]
    for meant in red_ones:
        case.expect_bound(pods("beside", together(term("db", **meant))))
    for meant in others:
        case.expect_bound(pods("beside", apart(term("db", **meant)), **{HOST: EAST}))
    case.expect_bound([case.pod("guarded", labels={"app": "web"}, nodeSelector={HOST: EAST})])
    nowhere = [pod for meant in others for pod in pods("away", together(term("db", **meant)))]
    nowhere += [pod for meant in red_ones for pod in pods("away", apart(term("db", **meant)), **{HOST: EAST})]
    for node in (ALSO_EAST, WEST):
        nowhere.append(case.pod("guarded", labels={"app": "web"}, nodeSelector={HOST: node}))
    case.expect_pending(nowhere)


@pytest.mark.clause("core/topology-spread")
def test_topology_spread(case):
    """Over zones, one pod after the other and many at once; then minDomains, matchLabelKeys, and both policies."""
    unzoned, pool = zones(case, EAST, ALSO_EAST, WEST, NORTH)
    for _ in range(3):
        case.neighbour(EAST, "versioned")
    case.neighbour(unzoned, "lost")
    case.settle()

    def pods(app, count, selector=pool, labels=None, **constraint):
        spread = {
            "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}}, **constraint,
        }  # fmt: skip
        named = {"app": app, **(labels or {})}
        return [
            case.pod(app, labels=named, nodeSelector=selector, topologySpreadConstraints=[spread]) for _ in range(count)
        ]

    for _ in range(7):
        case.expect_bound(pods("steady", 1))
    case.expect_bound(pods("burst", 9))
    case.expect_pending(pods("lost", 1, {**pool, HOST: unzoned}))
    case.expect_so_many_bound(pods("domains", 5, minDomains=4), 3)
    east = {**pool, ZONE: "east"}
    ignoring = {"nodeAffinityPolicy": "Ignore"}
    case.expect_pending(pods("versioned", 1, east, **ignoring))
    case.expect_bound(pods("versioned", 1, east, {"version": "2"}, matchLabelKeys=["version"], **ignoring))
    case.expect_pending(pods("versioned", 1, east, {"version": "2"}, matchLabelKeys=["version"], **ignoring))
    case.expect_bound(pods("selecting", 3, east, nodeAffinityPolicy="Honor"))
    case.expect_so_many_bound(pods("ignoring", 3, east, **ignoring), 1)
    case.expect_so_many_bound(pods("loose", 3, east, maxSkew=2, **ignoring), 2)
    case.change_node(NORTH, taints=[{"key": POOL, "value": "closed", "effect": "NoSchedule"}])
    case.settle()
    case.expect_so_many_bound(pods("tainted", 4), 2)
    case.expect_bound(pods("honoring", 4, nodeTaintsPolicy="Honor"))
