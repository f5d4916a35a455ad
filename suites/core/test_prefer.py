"""core: preferences of pods among feasible nodes. Traffic readings, where they count, are equal on all nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

HOST, WISH = "kubernetes.io/hostname", "schedproof.dev/wish"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def in_turn(case: Case, prepare: Callable[[str], dict[str, Any]]) -> None:
    """Make each of two nodes the best in turn, for enough pods to rule out chance; `prepare` returns the pods' wish.

    Another node has their image, which only saves time.
    """
    case.even_out()
    for turn, node in enumerate(case.nodes.names[:2]):
        wish = prepare(node)
        case.nodes.hold_image(next(n for n in case.nodes.names if n != node), case.trial.cluster.workload_image)
        case.settle()

        def ask(phase: int = turn, wish: dict[str, Any] = wish) -> Pod:
            pod = case.pod("wish", role="wish", phase=phase, cpu="100m", **wish)
            case.expect_bound([pod])
            return pod

        case.seek(case.chance.probes(2), node, ask)
        case.restore()


@pytest.mark.clause("core/prefer-no-schedule")
def test_prefer_no_schedule(case: Case) -> None:
    """Every node is tainted with PreferNoSchedule; pods tolerate the taint of one node only."""

    def prepare(best: str) -> dict[str, Any]:
        for node in case.nodes.names:
            value = "yes" if node == best else "no"
            case.nodes.change(node, taints=[{"key": WISH, "value": value, "effect": "PreferNoSchedule"}])
        return {"tolerations": [{"key": WISH, "operator": "Equal", "value": "yes"}]}

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-node-affinity")
def test_prefer_node_affinity(case: Case) -> None:
    """First a heavy term outweighs two light terms of another node; then two medium terms outweigh the heavy term."""
    weights = iter(((90, 20), (90, 50)))

    def prepare(best: str) -> dict[str, Any]:
        heavy, light = next(weights)
        other = next(node for node in case.nodes.names if node != best)
        one, two = (best, other) if heavy > 2 * light else (other, best)
        case.nodes.change(one, labels={WISH: "heavy"})
        case.nodes.change(two, labels={WISH: "light", f"{WISH}-too": "light"})
        terms = [(heavy, WISH, "heavy"), (light, WISH, "light"), (light, f"{WISH}-too", "light")]
        preferred = [
            {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
            for weight, key, value in terms
        ]
        return {"affinity": {"nodeAffinity": {PREFERRED: preferred}}}

    in_turn(case, prepare)


def company(kind: str, app: str) -> dict[str, Any]:
    """Return the preferred affinity, or anti-affinity, to pods of this name on the same node."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {PREFERRED: [{"weight": 100, "podAffinityTerm": term}]}}}


@pytest.mark.clause("core/prefer-pod-affinity")
def test_prefer_pod_affinity(case: Case) -> None:
    """A pod is on a node, and other pods prefer to be near it."""

    def prepare(best: str) -> dict[str, Any]:
        app = f"near-{best}"
        case.pods.neighbour(best, app)
        return company("podAffinity", app)

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-pod-anti-affinity")
def test_prefer_pod_anti_affinity(case: Case) -> None:
    """All nodes but one have a pod that others prefer to avoid; that node has two unrelated pods."""

    def prepare(best: str) -> dict[str, Any]:
        app = f"far-from-{best}"
        for node in case.nodes.names:
            # The best node is not the emptiest.
            for name in (app,) if node != best else ("stranger", "stranger"):
                case.pods.neighbour(node, name)
        return company("podAntiAffinity", app)

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-pod-affinity-symmetry")
def test_prefer_pod_affinity_symmetry(case: Case) -> None:
    """A pod prefers to be near the new pods, and the pods on the other nodes prefer to be apart from them."""

    def prepare(best: str) -> dict[str, Any]:
        app = f"new-{best}"
        for node in case.nodes.names:
            kind = "podAffinity" if node == best else "podAntiAffinity"
            case.pods.neighbour(node, f"beside-{best}", **company(kind, app))
        return {"labels": {"app": app}}

    in_turn(case, prepare)


@pytest.mark.clause("core/prefer-spread")
def test_prefer_spread(case: Case) -> None:
    """Each node has three matching pods, except one, which has one matching pod and three unrelated pods."""

    def prepare(best: str) -> dict[str, Any]:
        app = f"spread-{best}"
        for node in case.nodes.names:
            # The best node is not the emptiest.
            for name in [app] * 3 if node != best else [app, *["stranger"] * 3]:
                case.pods.neighbour(node, name)
        constraint = {
            "topologyKey": HOST, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": app}},
        }  # fmt: skip
        return {"labels": {"app": app}, "topologySpreadConstraints": [constraint]}

    in_turn(case, prepare)
