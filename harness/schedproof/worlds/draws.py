"""Worlds at random: values are drawn where rules bend.

Labels that look like numbers or are empty, hostnames that are no names, taints and tolerations that nearly match,
expressions about labels that a node lacks, quantities in every notation, requests of every kind of container, pods that
keep to others or off them.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from schedproof.clusters.nodes import CORDONED
from schedproof.oracle.resources import amount_of, needed
from schedproof.worlds.world import DEVICE, NODES, POOL, PREFIX, REQUIRED, World, pod_spec, tidy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hypothesis.strategies import SearchStrategy

    from schedproof.worlds.world import Manifest

__all__ = ["Drawing", "RandomDraws", "corners", "worlds"]

_KEYS = ("zone", "disk", "rank", "tier")
_LABELS = {
    "zone": ("a", "b", ""), "disk": ("ssd", "hdd"), "rank": ("0", "9", "10", "010", "x"), "tier": ("a", "", "1"),
}  # fmt: skip
_NUMBERS = ("0", "1", "8", "9", "10", "11")
_TAINTED = ("reserved", "reserved-2")
_TAINT_VALUES = ("yes", "no", "")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_AMOUNTS = {
    "cpu": ("1", "100m", "250m", "0.3", "500m", "1.5", "1e-1", "0"),
    "memory": ("1Gi", "64Mi", "100M", "256Mi", "300000k", "0.5Gi", "1G", "1e9", "1073741824"),
    "ephemeral-storage": ("1Gi", "500M", "2G", "1500Mi"),
    DEVICE: ("1", "1", "2", "0"),
}
_OFFERED = {
    "cpu": ("1", "2", "1500m", "0.5"),
    "memory": ("1Gi", "1G", "512Mi", "2e9"),
    "ephemeral-storage": ("1Gi", "2G"),
    DEVICE: ("1", "2"),
    "pods": ("1", "2", "3"),
}
_LIMITS = {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "3Gi"}
"""More than any request; what an extended resource's limit is, it asks for."""
_PORTS = [(port, protocol) for port in (8080, 9090) for protocol in ("TCP", "UDP")]
_HOST_IPS = ("", "", "127.0.0.1", "0.0.0.0")  # noqa: S104 - of what a pod asks for
_APPS = ("web", "web", "db")
_TOPOLOGIES = ("kubernetes.io/hostname", f"{PREFIX}zone")
_STEPS = 16
_THEMES = ((0.6, 0.6), (0.9, 0.2), (0.1, 0.95))
"""How likely rules about nodes and amounts of resources are: both, or a world is about the one or the other."""
_KINDS = ("comes", "comes", "comes", "there", "there", "changed", "deleted")


class RandomDraws:
    """Choices by a source of random numbers: the same ones give the same worlds."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def chance(self, part: float) -> bool:
        return self._random.random() < part

    def pick(self, values: Sequence[Any]) -> Any:
        return self._random.choice(values)

    def some(self, values: Sequence[Any], least: int, most: int) -> list[Any]:
        """Different ones, `least` to `most`."""
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))


def worlds(features: Collection[str] = (), *, ports: bool = True) -> SearchStrategy[World]:
    """Worlds of up to 4 nodes and 16 steps, by numbers that hypothesis draws; see `Drawing`.

    Drawn choice by choice they would resemble each other: hypothesis repeats parts of what it drew before, and reaches
    fewer of the combinations by which wrong schedulers differ. (It does not make them smaller: see `smaller`.)
    """
    # Not above: it takes as long to load as all the rest, in every process of every run.
    from hypothesis import strategies

    def drawn(number: int) -> World:
        return Drawing(RandomDraws(random.Random(number)), features, ports=ports).world()  # noqa: S311 - reproducible

    return strategies.integers(0, 2**63).map(drawn)


def corners(source: random.Random, *, ports: bool = True) -> list[World]:
    """Two large worlds: 36 pods that are particular about four nodes, and 24 of several containers that fill up one.

    Of the 24 every fourth is of another scheduler, in another namespace.
    """
    drawing = Drawing(RandomDraws(source), ports=ports)
    nodes = [drawing.node(name) for name in NODES]
    # The first has no taint, and the last has one that repels no pod.
    nodes[0].pop("taints", None)
    nodes[-1]["taints"] = [{"key": f"{PREFIX}{_TAINTED[0]}", "value": "yes", "effect": "PreferNoSchedule"}]
    for node in nodes:
        node.pop("allocatable", None)
        node.pop("unschedulable", None)
    particular = [{"comes": {"name": f"particular-{number}", "spec": drawing.particular()}} for number in range(1, 37)]
    offered = {"cpu": "5", "memory": "5Gi", "ephemeral-storage": "10Gi", DEVICE: "10"}
    demanding: list[Manifest] = []
    for number in range(1, 25):
        pod: Manifest = {"name": f"demanding-{number}", "spec": drawing.demanding()}
        if number % 4 == 0:
            demanding.append({"there": pod, "node": NODES[0], "elsewhere": True})
        else:
            pod["spec"]["nodeSelector"] = dict(POOL)
            demanding.append({"comes": pod})
    return [tidy(World(nodes, particular)), tidy(World([{"name": NODES[0], "allocatable": offered}], demanding))]


class Drawing:
    """Draws worlds and their parts.

    Args:
        draws: where choices come from.
        features: what the candidate claims: rules about other pods are drawn for `pod-affinity`, `topology-spread`.
        ports: whether some pods open ports of their node.
    """

    def __init__(self, draws: RandomDraws, features: Collection[str] = (), *, ports: bool = True) -> None:
        self._draws, self._features, self._ports = draws, features, ports
        self._rules, self._room = _THEMES[0]

    def world(self) -> World:
        self._rules, self._room = self._draws.pick(_THEMES)
        count = self._draws.pick((1, 1, 2, 2, 3, 4))
        nodes = [self.node(name) for name in NODES[:count]]
        steps: list[Manifest] = []
        pods: list[str] = []
        for number in range(1, self._draws.pick(range(1, _STEPS + 1)) + 1):
            kind = self._draws.pick(_KINDS) if number > 1 else "comes"
            name = f"pod-{number}"
            if kind == "deleted" and pods:
                steps.append({"deleted": pods.pop(pods.index(self._draws.pick(pods)))})
            elif kind == "changed":
                steps.append({"changed": self.node(self._draws.pick(NODES[:count]), evicting=False)})
            elif kind == "there":
                step = {"there": {"name": name, **self._neighbour()}, "node": self._draws.pick(NODES[:count])}
                steps.append({**step, **({"elsewhere": True} if self._draws.chance(0.5) else {})})
                pods.append(name)
            else:
                steps.append({"comes": {"name": name, **self._newcomer()}})
                pods.append(name)
        world = World(nodes, steps)
        self._fit(nodes, world.pods)
        return tidy(world)

    # -- nodes

    def node(self, name: str, *, evicting: bool = True) -> Manifest:
        """`evicting`: whether a taint may evict pods. That takes its time, so no node changes into such a one."""
        draws = self._draws
        labels = {f"{PREFIX}{key}": draws.pick(_LABELS[key]) for key in _KEYS if draws.chance(0.5)}
        if draws.chance(0.3):  # a node's hostname need not be its name
            labels["kubernetes.io/hostname"] = f"{name.replace('node', 'host')}.example.com"
        node: Manifest = {"name": name, "labels": labels}
        if draws.chance(0.6 * self._rules):
            effects = _EFFECTS if evicting else _EFFECTS[:-1]
            # The apiserver takes a key once for each effect.
            several = draws.some([(key, effect) for key in _TAINTED for effect in effects], 1, 2)
            node["taints"] = [self._taint(key, effect) for key, effect in several]
        if draws.chance(0.3 * self._rules):
            node["unschedulable"] = True
        if draws.chance(self._room):
            node["allocatable"] = {one: draws.pick(_OFFERED[one]) for one in draws.some(tuple(_OFFERED), 1, 3)}
        return node

    def _fit(self, nodes: Sequence[Manifest], pods: Sequence[Manifest]) -> None:
        """Have some nodes offer what a few pods ask for together, or a unit less: there a wrong sum shows."""
        draws = self._draws
        for node in nodes:
            if not draws.chance(self._room):
                continue
            asked: Counter[str] = Counter()
            first = pods[: draws.pick(range(1, len(pods) + 1))]
            for pod in first if draws.chance(0.5) else draws.some(pods, 1, 3):
                asked.update(needed(_defaulted(pod)))
            if asked:
                resource = draws.pick(sorted(asked))
                amount = max(0, asked[resource] - draws.pick((0, 1)))
                node["allocatable"] = {**node.get("allocatable", {}), resource: amount_of(resource, amount)}

    def _taint(self, key: str, effect: str) -> Manifest:
        value = self._draws.pick(_TAINT_VALUES)
        return {"key": f"{PREFIX}{key}", "effect": effect, **({"value": value} if value else {})}

    # -- pods

    def _newcomer(self) -> Manifest:
        draws = self._draws
        spec: Manifest = self.particular() if draws.chance(self._rules) else {"nodeSelector": dict(POOL)}
        if draws.chance(self._room):
            spec |= self.demanding()
        if "pod-affinity" in self._features and draws.chance(0.3):
            spec.setdefault("affinity", {}).update(self._about_pods())
        if "topology-spread" in self._features and draws.chance(0.4):
            keys = draws.some(_TOPOLOGIES, 1, 2)  # the apiserver takes each once
            spec["topologySpreadConstraints"] = [self._constraint(key) for key in keys]
        return {"labels": self._app(), "spec": spec}

    def _neighbour(self) -> Manifest:
        spec = self.demanding() if self._draws.chance(0.6) else {}
        if "pod-affinity" in self._features and self._draws.chance(0.3):
            spec["affinity"] = {"podAntiAffinity": {REQUIRED: [self._pod_term()]}}
        return {"labels": self._app(), "spec": spec}

    def _app(self) -> dict[str, str]:
        return {"app": self._draws.pick(_APPS)} if self._draws.chance(0.8) else {}

    def _about_pods(self) -> Manifest:
        kinds = self._draws.some(("podAntiAffinity", "podAffinity"), 1, 1)
        return {kind: {REQUIRED: [self._pod_term() for _ in range(self._draws.pick((1, 1, 2)))]} for kind in kinds}

    def _pod_term(self) -> Manifest:
        return {"labelSelector": self._selector(), "topologyKey": self._draws.pick(_TOPOLOGIES)}

    def _selector(self) -> Manifest:
        if self._draws.chance(0.3):
            return {"matchExpressions": [self._about_app() for _ in range(self._draws.pick((1, 2)))]}
        return {"matchLabels": {"app": self._draws.pick(_APPS)}}

    def _about_app(self) -> Manifest:
        operator = self._draws.pick(("In", "Exists", "NotIn"))
        values = {} if operator == "Exists" else {"values": [self._draws.pick(_APPS)]}
        return {"key": "app", "operator": operator, **values}

    def _constraint(self, key: str) -> Manifest:
        draws = self._draws
        policies = {
            field: draws.pick(("Honor", "Ignore"))
            for field in ("nodeAffinityPolicy", "nodeTaintsPolicy")
            if draws.chance(0.5)
        }
        return {
            "maxSkew": draws.pick((1, 1, 2)), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": draws.pick(_APPS)}}, **policies,
        }  # fmt: skip

    # -- pods that are particular about their node

    def particular(self) -> Manifest:
        """A pod's nodeSelector, required node affinity and tolerations; it asks for no resources.

        Every pod keeps to the pool: by its selector, or by each term of its affinity.
        """
        draws = self._draws
        by_terms = draws.chance(0.4)
        found: Manifest = {} if by_terms else {"nodeSelector": dict(POOL)}
        if draws.chance(0.4):
            key = draws.pick(_KEYS)
            found.setdefault("nodeSelector", {})[f"{PREFIX}{key}"] = draws.pick(_LABELS[key])
        if by_terms or draws.chance(0.6):
            terms = [self._term(pool=by_terms) for _ in range(draws.pick((1, 1, 2)))]
            found["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        if draws.chance(0.7):
            found["tolerations"] = [self._toleration() for _ in range(draws.pick((1, 2)))]
        return found

    def _term(self, *, pool: bool) -> Manifest:
        expressions = [self._expression() for _ in range(self._draws.pick((1, 1, 2)))]
        if pool:
            expressions += [{"key": key, "operator": "In", "values": [value]} for key, value in POOL.items()]
        term: Manifest = {"matchExpressions": expressions}
        if self._draws.chance(0.2):
            operator, node = self._draws.pick(("In", "NotIn")), self._draws.pick(NODES)
            term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [node]}]
        return term

    def _expression(self) -> Manifest:
        operator = self._draws.pick(("In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        if operator in ("Gt", "Lt"):
            return {"key": f"{PREFIX}rank", "operator": operator, "values": [self._draws.pick(_NUMBERS)]}
        key = self._draws.pick(_KEYS)
        values = {"values": self._draws.some((*_LABELS[key], "other"), 1, 3)} if operator in ("In", "NotIn") else {}
        return {"key": f"{PREFIX}{key}", "operator": operator, **values}

    def _toleration(self) -> Manifest:
        draws = self._draws
        if draws.chance(0.1):
            return {"operator": "Exists"}
        if draws.chance(0.15):
            return {"key": CORDONED, "operator": "Exists", "effect": "NoSchedule"}
        toleration: Manifest = {"key": f"{PREFIX}{draws.pick(_TAINTED)}"}
        if operator := draws.pick(("Equal", "Exists", "")):
            toleration["operator"] = operator
        if operator != "Exists" and (value := draws.pick(_TAINT_VALUES)):
            toleration["value"] = value
        if effect := draws.pick(("NoSchedule", "NoExecute", "PreferNoSchedule", "", "")):
            toleration["effect"] = effect
        if effect == "NoExecute" and draws.chance(0.3):
            toleration["tolerationSeconds"] = 3600
        return toleration

    # -- pods that ask for resources

    def demanding(self) -> Manifest:
        """A pod's containers, init containers and sidecars, with what they ask for and the ports that they open."""
        draws = self._draws
        # The apiserver takes a port of the node once in a pod.
        ports = draws.some(_PORTS, len(_PORTS), len(_PORTS))
        found: Manifest = {"containers": [self._container(ports) for _ in range(draws.pick((1, 2, 2, 3)))]}
        if draws.chance(0.5):
            kinds = [draws.chance(0.6) for _ in range(draws.pick((1, 2)))]
            found["initContainers"] = [self._container(ports, sidecar=sidecar) for sidecar in kinds]
        return found

    def _container(self, ports: list[tuple[int, str]], *, sidecar: bool = False) -> Manifest:
        draws = self._draws
        asked = {resource: draws.pick(_AMOUNTS[resource]) for resource in draws.some(tuple(_AMOUNTS), 0, 3)}
        # What cannot be overcommitted needs its limit; a limit alone is a request, too.
        limits = {name: asked[name] for name in asked if "/" in name}
        if draws.chance(0.3):
            limits = dict(asked) if draws.chance(0.5) else {name: _LIMITS.get(name, asked[name]) for name in asked}
        requests = {} if limits == asked and draws.chance(0.7) else asked
        container: Manifest = {"resources": {"requests": requests, "limits": limits}}
        if self._ports and ports and draws.chance(0.25):
            port, protocol = ports.pop()
            address = {"hostIP": one} if (one := draws.pick(_HOST_IPS)) else {}
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": protocol, **address}]
        if sidecar:
            container["restartPolicy"] = "Always"
        return container


def _defaulted(pod: Manifest) -> Manifest:
    """A pod as the apiserver completes it: a limit without a request is one."""
    spec = pod_spec(pod, "")
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        resources = container["resources"]
        container["resources"] = {"requests": {**resources["limits"], **resources["requests"]}}
    return {"spec": spec}
