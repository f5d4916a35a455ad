"""core: what pods would rather have, of the nodes on which they fit. Readings, where they count, are the same."""

import pytest

HOST, WISH = "kubernetes.io/hostname", "schedproof.dev/wish"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def in_turn(case, prepare):
    """Two nodes are the best in turn, for as many pods as chance does not place; `prepare` gives what the pods wish."""
    case.even_out()
    for node in case.nodes[:2]:
        wish = prepare(node)
        case.settle()
        for _ in range(case.probes(2)):
            pod = case.pod("wish", role="wish", cpu="100m", **wish)
            case.expect_bound([pod])
            case.delete([pod])
        case.restore()


@pytest.mark.clause("core/prefer-no-schedule")
def test_prefer_no_schedule(case):
    """All nodes but one have a taint; that one's is tolerated."""

    def prepare(best):
        for node in case.nodes:
            value = "yes" if node == best else "no"
            case.change_node(node, taints=[{"key": WISH, "value": value, "effect": "PreferNoSchedule"}])
        return {"tolerations": [{"key": WISH, "operator": "Equal", "value": "yes"}]}

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-node-affinity")
def test_prefer_node_affinity(case):
    """First the one heavy term wins over two light ones of another node; then two middling ones over the heavy one."""
    weights = iter(((90, 20), (90, 50)))

    def prepare(best):
        heavy, light = next(weights)
        other = next(node for node in case.nodes if node != best)
        one, two = (best, other) if heavy > 2 * light else (other, best)
        case.change_node(one, labels={WISH: "heavy"})
        case.change_node(two, labels={WISH: "light", f"{WISH}-too": "light"})
        terms = [(heavy, WISH, "heavy"), (light, WISH, "light"), (light, f"{WISH}-too", "light")]
        preferred = [
            {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
            for weight, key, value in terms
        ]
        return {"affinity": {"nodeAffinity": {PREFERRED: preferred}}}

    in_turn(case, prepare)


def company(kind, app):
    """The affinity of a pod that would rather be with, or away from, pods of this name, by node."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {PREFERRED: [{"weight": 100, "podAffinityTerm": term}]}}}


@pytest.mark.clause("core/prefer-pod-affinity")
def test_prefer_pod_affinity(case):
    """A pod is on one node with which others would rather be."""

    def prepare(best):
        app = f"near-{best}"
        case.neighbour(best, app)
        return company("podAffinity", app)

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-pod-anti-affinity")
def test_prefer_pod_anti_affinity(case):
    """On all nodes but one is a pod from which others would rather be away; on that one are two others."""

    def prepare(best):
        app = f"far-from-{best}"
        for node in case.nodes:
            # The best one is not the emptiest.
            for name in (app,) if node != best else ("stranger", "stranger"):
                case.neighbour(node, name)
        return company("podAntiAffinity", app)

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-spread")
def test_prefer_spread(case):
    """Each node has three pods that count, but for one, which has one, and three others."""

    def prepare(best):
        app = f"spread-{best}"
        for node in case.nodes:
            # The best one is not the emptiest.
            for name in [app] * 3 if node != best else [app, *["stranger"] * 3]:
                case.neighbour(node, name)
        constraint = {
            "topologyKey": HOST, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": app}},
        }  # fmt: skip
        return {"labels": {"app": app}, "topologySpreadConstraints": [constraint]}

    in_turn(case, prepare)
