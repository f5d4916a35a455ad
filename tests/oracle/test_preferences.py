"""Preferences of a pod, one world for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.preferences import falls_short, wishes

Manifest = dict[str, Any]
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SOFT = {"key": "a", "value": "1", "effect": "PreferNoSchedule"}


def node(name: str, labels: dict[str, str] | None = None, *taints: Manifest) -> Manifest:
    return {"metadata": {"name": name, "labels": {"host": name, **(labels or {})}}, "spec": {"taints": list(taints)}}


def there(where: str, app: str, *, namespace: str = "default", phase: str = "Running", **metadata: Any) -> Manifest:
    name = f"{where}-{app}-{namespace}-{phase}"
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}, **metadata}
    return {"metadata": metadata, "spec": {"containers": [], "nodeName": where}, "status": {"phase": phase}}


def probe(**spec: Any) -> Manifest:
    return {
        "metadata": {"name": "probe", "namespace": "default", "labels": {"app": "web", "version": "2"}},
        "spec": {"containers": [], **spec},
    }


def company(kind: str, app: str, weight: int, key: str = "host") -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}}


def spread(**constraint: Any) -> Manifest:
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    constraint_ = {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", **selector, **constraint}
    return {"topologySpreadConstraints": [constraint_]}


def kind_of_wish(place: int, pod: Manifest, nodes: list[Manifest], *pods: Manifest) -> dict[str, float]:
    return {name: wish[place] for name, wish in wishes(pod, nodes, pods, {}).items()}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], -1),
        ([{"key": "a", "value": "1"}], 0),
        ([{"key": "a", "operator": "Exists", "effect": "PreferNoSchedule"}], 0),
        ([{"key": "a", "value": "1", "effect": "NoSchedule"}], -1),
    ],
)
def test_each_untolerated_prefer_no_schedule_taint_counts_against_a_node(tolerations: Any, expected: int) -> None:
    hard = {"key": "b", "effect": "NoSchedule"}
    nodes = [node("x", {}, SOFT), node("y", {}, hard), node("z", {}, SOFT, {**SOFT, "key": "c"})]
    assert kind_of_wish(0, probe(tolerations=tolerations), nodes) == {"x": expected, "y": 0, "z": expected - 1}


def test_weights_of_matching_node_affinity_terms_add_up() -> None:
    def term(weight: int, **expression: Any) -> Manifest:
        return {"weight": weight, "preference": {"matchExpressions": [expression] if expression else []}}

    terms = [term(90, key="disk", operator="Exists"), term(50, key="gpu", operator="In", values=["a"]),
             term(50, key="gpu", operator="NotIn", values=["b"]), term(100)]  # fmt: skip
    pod = probe(affinity={"nodeAffinity": {PREFERRED: terms}})
    nodes = [node("heavy", {"disk": "x", "gpu": "b"}), node("light", {"gpu": "a"}), node("none", {"gpu": "b"})]
    assert kind_of_wish(1, pod, nodes) == {"heavy": 90, "light": 100, "none": 0}


def test_each_matching_pod_of_a_domain_counts_for_or_against_it() -> None:
    nodes = [node("a1", {"zone": "a"}), node("a2", {"zone": "a"}), node("b1", {"zone": "b"}), node("c1")]
    pods = [there("a1", "db"), there("a2", "db"), there("b1", "db", namespace="other"), there("c1", "db"),
            there("b1", "db", phase="Succeeded")]  # fmt: skip
    near = {"a1": 20, "a2": 20, "b1": 0, "c1": 0}
    assert kind_of_wish(2, probe(**company("podAffinity", "db", 10, "zone")), nodes, *pods) == near
    far = {name: -weight for name, weight in near.items()}
    assert kind_of_wish(2, probe(**company("podAntiAffinity", "db", 10, "zone")), nodes, *pods) == far


def test_terms_of_pods_that_are_there_count_as_well() -> None:
    def prefers(kind: str, where: str, about: str = "web", **more: Any) -> Manifest:
        pod = there(where, f"{kind}-{about}", **more)
        return {**pod, "spec": {**pod["spec"], **company(kind, about, 10, "zone")}}

    nodes = [node("a1", {"zone": "a"}), node("a2", {"zone": "a"}), node("b1", {"zone": "b"}), node("c1")]
    near, far = "podAffinity", "podAntiAffinity"
    pods = [prefers(near, "a1"), prefers(near, "a2"), prefers(far, "b1"), prefers(near, "c1"),
            prefers(near, "b1", "db"), prefers(near, "b1", namespace="other"),
            prefers(near, "b1", phase="Failed")]  # fmt: skip
    assert kind_of_wish(2, probe(), nodes, *pods) == {"a1": 20, "a2": 20, "b1": -10, "c1": 0}
    own = probe(**company(near, "podAntiAffinity-web", 10, "zone"))
    assert kind_of_wish(2, own, nodes, *pods) == {"a1": 20, "a2": 20, "b1": 0, "c1": 0}


def test_schedule_anyway_counts_pods_and_do_not_schedule_is_no_preference() -> None:
    nodes = [node("x"), node("y"), {"metadata": {"name": "z", "labels": {}}, "spec": {}}]
    pods = [there("x", "web"), there("x", "db"), there("y", "web", deletionTimestamp="2026-01-01T00:00:00Z"),
            there("y", "web", namespace="other")]  # fmt: skip
    assert kind_of_wish(3, probe(**spread()), nodes, *pods) == {"x": -1, "y": 0, "z": -float("inf")}
    assert kind_of_wish(3, probe(**spread(matchLabelKeys=["version"])), nodes[:2], *pods) == {"x": 0, "y": 0}
    assert [len(wish) for wish in wishes(probe(**spread(whenUnsatisfiable="DoNotSchedule")), nodes, []).values()] == [
        3
    ] * 3


def test_pod_does_not_count_against_itself() -> None:
    pod = probe(**spread())
    bound = {**pod, "spec": {**pod["spec"], "nodeName": "x"}, "status": {}}
    assert kind_of_wish(3, pod, [node("x")], bound) == {"x": 0}


@pytest.mark.parametrize(
    ("preferences", "others", "expected"),
    [((0, 1), (0, 2), True), ((0, 1), (0, 1), False), ((0, 2), (0, 1), False), ((0, 1), (1, 0), False)],
)
def test_node_falls_short_only_of_a_node_that_is_better_and_nowhere_worse(
    preferences: Any, others: Any, expected: bool
) -> None:
    assert falls_short(preferences, others) is expected
