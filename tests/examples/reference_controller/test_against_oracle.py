"""The reference controller and the oracle were written independently, and must agree on all fields that both know."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.feasibility import check

from .worlds import feasible, modules, world

Manifest = dict[str, Any]

KEYS = st.sampled_from(["zone", "disk", "size"])
VALUES = st.sampled_from(["a", "b", "10", "9", "x1", ""])
QUANTITIES = {
    "cpu": st.sampled_from(["0", "1m", "100m", "500m", "0.5", "1", "1500m", "2", "1e-1", "0.0001"]),
    "memory": st.sampled_from(["0", "1", "64Mi", "512Mi", "1Gi", "100M", "1e9", "1500m", "0.5Gi"]),
    "ephemeral-storage": st.sampled_from(["0", "1Gi", "2Gi", "1G"]),
    "hugepages-2Mi": st.sampled_from(["0", "2Mi", "4Mi"]),
    "example.com/gpu": st.sampled_from(["0", "1", "2"]),
}
WHOLE_POD = ("cpu", "memory", "hugepages-2Mi")


@st.composite
def amounts(draw: Any, names: tuple[str, ...] = tuple(QUANTITIES)) -> Manifest:
    chosen = draw(st.sets(st.sampled_from(names), max_size=3))
    return {name: draw(QUANTITIES[name]) for name in sorted(chosen)}


@st.composite
def requirements(draw: Any, keys: st.SearchStrategy[str] = KEYS) -> Manifest:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    requirement: Manifest = {"key": draw(keys), "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = draw(st.lists(VALUES, min_size=1, max_size=2))
    elif operator in ("Gt", "Lt"):
        requirement["values"] = [draw(st.sampled_from(["9", "10", "x", "010"]))]
    return requirement


@st.composite
def fields(draw: Any) -> Manifest:
    values = [draw(st.sampled_from(["n0", "n1", "n9"]))]
    return {"key": "metadata.name", "operator": draw(st.sampled_from(["In", "NotIn"])), "values": values}


seldom = st.sampled_from([False, False, False, True])
taints = st.fixed_dictionaries(
    {"key": KEYS, "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])},
    optional={"value": VALUES},
)
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": KEYS | st.just("node.kubernetes.io/unschedulable"),
        "operator": st.sampled_from(["Equal", "Exists", ""]),
        "value": VALUES,
        "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule", ""]),
    },
)
ports = st.builds(
    lambda number, protocol, address: {"containerPort": 1, "hostPort": number, **protocol, **address},
    st.sampled_from([80, 443]),
    st.sampled_from([{}, {"protocol": "TCP"}, {"protocol": "UDP"}]),
    st.sampled_from([{}, {"hostIP": "0.0.0.0"}, {"hostIP": "127.0.0.1"}, {"hostIP": "10.0.0.1"}, {"hostIP": "::"}]),
)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APPS = st.sampled_from([{}, {"app": "web"}, {"app": "db"}])
SELECTORS = st.sampled_from(
    [
        {"matchLabels": {"app": "web"}},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    ]
)
affinity_terms = st.fixed_dictionaries(
    {"topologyKey": KEYS},
    optional={"labelSelector": SELECTORS | st.just({}), "namespaces": st.sampled_from([[], ["default"], ["other"]])},
)
hard_spread = st.fixed_dictionaries(
    {"topologyKey": KEYS, "maxSkew": st.integers(1, 2), "whenUnsatisfiable": st.just("DoNotSchedule")},
    optional={
        "labelSelector": SELECTORS,
        "minDomains": st.integers(1, 3),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
    },
)


@st.composite
def company(draw: Any) -> Manifest:
    """A pod's affinity to other pods, and its topology spread."""
    affinity = {
        kind: {REQUIRED: draw(st.lists(affinity_terms, min_size=1, max_size=2))}
        for kind in ("podAffinity", "podAntiAffinity")
        if draw(seldom)
    }
    spread = draw(st.lists(hard_spread, max_size=2)) if draw(seldom) else []
    return {"affinity": affinity, "topologySpreadConstraints": spread}


@st.composite
def containers(draw: Any, prefix: str, *, most: int, least: int = 0, may_restart: bool = False) -> list[Manifest]:
    result = []
    for number in range(draw(st.integers(least, most))):
        container: Manifest = {"name": f"{prefix}{number}", "resources": {"requests": draw(amounts())}}
        if draw(seldom):
            container["ports"] = draw(st.lists(ports, max_size=2))
        if may_restart and draw(st.booleans()):
            container["restartPolicy"] = "Always"
        result.append(container)
    return result


@st.composite
def pods(draw: Any, name: str, node: str = "") -> Manifest:
    spec: Manifest = {
        "containers": draw(containers("main", most=2, least=1)),
        "initContainers": draw(containers("init", most=2, may_restart=True)),
        **draw(company()),
    }
    if draw(seldom):
        spec["overhead"] = draw(amounts())
    if draw(seldom):
        spec["resources"] = {"requests": draw(amounts(WHOLE_POD))}
    if node:
        spec["nodeName"] = node
    else:
        if draw(seldom):
            spec["nodeSelector"] = draw(st.dictionaries(KEYS, VALUES, max_size=1))
        spec["tolerations"] = draw(st.lists(tolerations, max_size=3))
        if draw(seldom):
            terms = st.fixed_dictionaries(
                {},
                optional={
                    "matchExpressions": st.lists(requirements(), max_size=2),
                    "matchFields": st.lists(fields(), max_size=1),
                },
            )
            required = {"nodeSelectorTerms": draw(st.lists(terms, max_size=3))}
            spec["affinity"]["nodeAffinity"] = {REQUIRED: required}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": draw(APPS), "resourceVersion": "1"}
    if node and draw(st.booleans()):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": draw(statuses(spec)) if node else {"phase": "Pending"}}


@st.composite
def statuses(draw: Any, spec: Manifest) -> Manifest:
    status: Manifest = {"phase": draw(st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Failed"]))}
    for kind, listed in (("containerStatuses", spec["containers"]), ("initContainerStatuses", spec["initContainers"])):
        status[kind] = [{"name": container["name"], **draw(reports())} for container in listed if draw(st.booleans())]
    if "resources" in spec:
        status |= draw(reports(WHOLE_POD))
    if draw(st.booleans()):
        reason = draw(st.sampled_from(["Infeasible", "Deferred"]))
        status["conditions"] = [{"type": "Ready", "status": "True"}, {"type": "PodResizePending", "reason": reason}]
    return status


@st.composite
def reports(draw: Any, names: tuple[str, ...] = tuple(QUANTITIES)) -> Manifest:
    report: Manifest = {}
    if draw(st.booleans()):
        report["resources"] = {"requests": draw(amounts(names))}
    if draw(st.booleans()):
        report["allocatedResources"] = draw(amounts(names))
    return report


OFFERS = {
    "cpu": ["1", "2500m", "4", "8"],
    "memory": ["1Gi", "2Gi", "4G"],
    "ephemeral-storage": ["2Gi", "4Gi", "4Gi"],
    "hugepages-2Mi": ["4Mi", "8Mi", "8Mi"],
    "example.com/gpu": ["2", "4", "4"],
    "pods": ["1", "2", "110", "110"],
}


@st.composite
def nodes(draw: Any, name: str) -> Manifest:
    lacks = draw(st.sampled_from([*OFFERS, "", "", "", "", "", ""]))
    allocatable = {name: draw(st.sampled_from(offers)) for name, offers in OFFERS.items() if name != lacks}
    spec: Manifest = {"taints": draw(st.lists(taints, max_size=2)) if draw(seldom) else []}
    if draw(seldom):
        spec["unschedulable"] = True
    labels = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}


@st.composite
def worlds(draw: Any) -> tuple[Manifest, list[Manifest], list[Manifest]]:
    there = [draw(nodes(f"n{number}")) for number in range(draw(st.integers(1, 3)))]
    names = st.sampled_from([node["metadata"]["name"] for node in there] + ["elsewhere"])
    others = [draw(pods(f"other{number}", draw(names))) for number in range(draw(st.integers(0, 3)))]
    return draw(pods("probe")), there, others


@settings(database=None, deadline=None)
@given(worlds())
def test_the_controller_and_the_oracle_agree_on_every_node(
    case: tuple[Manifest, list[Manifest], list[Manifest]],
) -> None:
    probe, there, others = case
    assert not unmodelled(probe, others, there)
    by_oracle = check(probe, there, others)
    by_controller = modules.feasibility.check(modules.pods.Pod(probe), world(there, others))
    assert {name: not why for name, why in by_oracle.items()} == {
        name: not why for name, why in by_controller.items()
    }, f"oracle: {by_oracle}, controller: {by_controller}"


@settings(database=None, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_watch_events_does_not_change_decisions(
    case: tuple[Manifest, list[Manifest], list[Manifest]], random: Any
) -> None:
    probe, there, others = case
    updates = [("nodes", node) for node in there] + [("pods", other) for other in others]
    random.shuffle(updates)
    shuffled = modules.world.World()
    for kind, manifest in updates:
        shuffled.apply(modules.watching.Update(kind, manifest))
    assert feasible(probe, shuffled) == feasible(probe, world(there, others))
