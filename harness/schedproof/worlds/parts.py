"""Draws nodes and pods of random worlds, with values at the edges of rules.

Labels that look like numbers or are empty, hostnames that differ from node names, that two nodes share or that a node
lacks, taints and tolerations that nearly match, expressions about labels that a node lacks, quantities in every
notation, requests of every kind of container, ports of both address families, pods that attract or repel other pods.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from schedproof.candidate.subjects import Subject
from schedproof.clusters.nodes import CORDONED
from schedproof.worlds.world import BESIDE, DEVICE, NODES, POOL, PREFIX, REQUIRED, Manifest

RULES_OF_PODS = frozenset({"pod-affinity", "topology-spread"})
"""Subjects of worlds that are about other pods, by the names of the features that a candidate claims."""
_KEYS = ("zone", "disk", "rank", "tier")
_LABELS = {
    "zone": ("a", "b", ""), "disk": ("ssd", "hdd"), "rank": ("0", "9", "10", "010", "x"), "tier": ("a", "", "1"),
}  # fmt: skip
_NUMBERS = ("0", "1", "8", "9", "10", "11")
_TAINTED = ("reserved", "reserved-2")
_TAINT_VALUES = ("yes", "no", "")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_AMOUNTS = {
    "cpu": ("1", "100m", "0.1", "200m", "250m", "0.3", "700m", "1.5", "1e-1", "0"),
    "memory": ("1Gi", "64Mi", "100M", "256Mi", "300000k", "0.5Gi", "1G", "1e9", "1073741824", "150500k"),
    "ephemeral-storage": ("1Gi", "500M", "2G", "1500Mi"),
    DEVICE: ("1", "2", "0", "0"),
}
_OFFERED = {
    "cpu": ("1", "2", "1500m", "0.5"),
    "memory": ("1Gi", "1G", "512Mi", "2e9"),
    "ephemeral-storage": ("1Gi", "2G"),
    DEVICE: ("1", "2"),
    "pods": ("1", "2", "3"),
}
RESOURCES = tuple(_OFFERED)
"""Resources of which some pods request some, and nodes offer little."""
_SUBJECTS = {
    "cpu": Subject.CPU, "memory": Subject.MEMORY, "ephemeral-storage": Subject.EPHEMERAL_STORAGE,
    DEVICE: Subject.EXTENDED_RESOURCES, "pods": Subject.NUMBER_OF_PODS,
}  # fmt: skip
_LIMITS = {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "3Gi"}
"""More than any request; an extended resource's limit equals its request."""
_INIT = {True: Subject.SIDECARS, False: Subject.INIT_CONTAINERS}
_PORTS = ((8080, "TCP"), (8080, "UDP"), (9090, "TCP"), (8080, "SCTP"))
# Not `::`, nor two spellings of an address: kube-scheduler compares text, and another scheduler may compare addresses.
_HOST_IPS = ("", "", "127.0.0.1", "0.0.0.0", "::1")  # noqa: S104 - of what a pod asks for
_APPS = ("web", "web", "db")
_HOSTNAME = "kubernetes.io/hostname"
_SHARED = "host-world.example.com"
"""The hostname of several nodes."""
_TOPOLOGIES = (_HOSTNAME, f"{PREFIX}zone")


def subject_of(resource: str) -> Subject:
    """The subject that a resource of worlds is."""
    return _SUBJECTS[resource]


class RandomDraws:
    """Choices by a source of random numbers: the same numbers give the same worlds."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def chance(self, part: float) -> bool:
        return self._random.random() < part

    def pick(self, values: Sequence[Any]) -> Any:
        return self._random.choice(values)

    def sample(self, values: Sequence[Any], least: int, most: int) -> list[Any]:
        """Different items, `least` to `most`."""
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))


class Parts:
    """Draws nodes and pods of one world.

    Args:
        draws: the source of choices.
        about: some of `labels`, `taints`, `room`, `ports`, `pod-affinity`, `topology-spread`. The world has nothing
            of the other subjects.
        resources: some of `RESOURCES`; the world has none of the others.
        left_out: what no pod needs and no node has.
    """

    def __init__(
        self,
        draws: RandomDraws,
        about: Collection[str],
        resources: Collection[str] = RESOURCES,
        left_out: Collection[Subject] = (),
    ) -> None:
        self._draws, self._about, self._left_out = draws, frozenset(about), left_out
        self._resources = [resource for resource in resources if subject_of(resource) not in left_out]
        self._taints: list[Manifest] = []
        """The labels of all nodes so far."""

    # -- nodes

    def node(self, name: str, *, evicting: bool = True) -> Manifest:
        """`evicting`: whether a taint may evict pods. That takes time, so no node changes into such a node."""
        draws, about = self._draws, self._about
        likely = dict.fromkeys(_KEYS, 0.5 if "labels" in about else 0.0)
        if about & RULES_OF_PODS:
            likely["zone"] = 0.8
        labels: Manifest = {f"{PREFIX}{key}": draws.pick(_LABELS[key]) for key in _KEYS if draws.chance(likely[key])}
        if draws.chance(0.4):  # a node's hostname need not be its name; None: it has no such label
            own = f"{name.replace('node', 'host')}.example.com"
            labels[_HOSTNAME] = draws.pick((own, own, _SHARED, _SHARED, None))
        node: Manifest = {"name": name, "labels": labels}
        # A constraint of topology spread may count nodes with taints, or not.
        tainted = 0.6 if "taints" in about else 0.4 if "topology-spread" in about else 0
        if Subject.TAINTS not in self._left_out and draws.chance(tainted):
            effects = _EFFECTS if evicting else _EFFECTS[:-1]
            # The apiserver takes a key once for each effect.
            several = draws.sample([(key, effect) for key in _TAINTED for effect in effects], 1, 2)
            node["taints"] = [self._taint(key, effect) for key, effect in several]
            self._taints += node["taints"]
        if "taints" in about and Subject.CORDONS not in self._left_out and draws.chance(0.2):
            node["unschedulable"] = True
        if "room" in about and self._resources and draws.chance(0.6):
            node["allocatable"] = {
                resource: draws.pick(_OFFERED[resource]) for resource in draws.sample(tuple(self._resources), 1, 3)
            }
        return node

    def relabelled(self, node: Manifest) -> Manifest:
        """The node with another value of one label, or without it: often the zone, over which rules of pods apply."""
        key = f"{PREFIX}{'zone' if self._about & RULES_OF_PODS else self._draws.pick(_KEYS)}"
        now = node.get("labels", {}).get(key)
        value = self._draws.pick([one for one in (*_LABELS[key.removeprefix(PREFIX)], None) if one != now])
        others = {name: label for name, label in node.get("labels", {}).items() if name != key}
        return {**node, "labels": others if value is None else {**others, key: value}}

    def _taint(self, key: str, effect: str) -> Manifest:
        value = self._draws.pick(_TAINT_VALUES)
        return {"key": f"{PREFIX}{key}", "effect": effect, **({"value": value} if value else {})}

    # -- pods

    def newcomer(self) -> Manifest:
        """Labels and spec of a pod for the candidate."""
        draws, about = self._draws, self._about
        spec = self.particular()
        if about & {"room", "ports"}:
            spec |= self.demanding()
        if "pod-affinity" in about and draws.chance(0.6):
            spec.setdefault("affinity", {}).update(self._about_pods())
        if "topology-spread" in about and draws.chance(0.7):
            keys = draws.sample(_TOPOLOGIES, 1, 2)  # the apiserver takes each once
            spec["topologySpreadConstraints"] = [self._constraint(key) for key in keys]
        return {"labels": self.app(), "spec": spec}

    def neighbour(self) -> Manifest:
        """Labels and spec of a pod that another scheduler has bound."""
        spec = self.demanding() if self._about & {"room", "ports"} and self._draws.chance(0.8) else {}
        if "pod-affinity" in self._about and self._draws.chance(0.4):
            spec["affinity"] = {"podAntiAffinity": {REQUIRED: [self._pod_term()]}}
        return {"labels": self.app(), "spec": spec}

    def app(self) -> dict[str, str]:
        """Labels that rules about other pods select."""
        return {"app": self._draws.pick(_APPS)} if self._draws.chance(0.8) else {}

    def _about_pods(self) -> Manifest:
        kind = self._draws.pick(("podAntiAffinity", "podAffinity"))
        return {kind: {REQUIRED: [self._pod_term() for _ in range(self._draws.pick((1, 1, 2)))]}}

    def _pod_term(self) -> Manifest:
        term = {"labelSelector": self._selector(), "topologyKey": self._draws.pick(_TOPOLOGIES)}
        if self._draws.chance(0.3):
            term |= self._draws.pick(({"namespaces": [BESIDE]}, {"namespaceSelector": {}}))
        return term

    def _selector(self) -> Manifest:
        if self._draws.chance(0.1):
            return {}  # it means every pod
        if self._draws.chance(0.4):
            return {"matchExpressions": [self._about_app() for _ in range(self._draws.pick((1, 2)))]}
        return {"matchLabels": {"app": self._draws.pick(_APPS)}}

    def _about_app(self) -> Manifest:
        operator = self._draws.pick(("In", "Exists", "NotIn", "NotIn", "DoesNotExist"))
        values = {"values": [self._draws.pick(_APPS)]} if operator in ("In", "NotIn") else {}
        return {"key": "app", "operator": operator, **values}

    def _constraint(self, key: str) -> Manifest:
        draws = self._draws
        # The defaults are Honor for affinity, Ignore for taints, and one domain.
        rare = {
            "nodeAffinityPolicy": ("Ignore", "Honor"), "nodeTaintsPolicy": ("Honor", "Honor", "Ignore"),
            "minDomains": (2, 3),
        }  # fmt: skip
        if wish := draws.chance(0.1):
            del rare["minDomains"]  # which the apiserver refuses then
        return {
            "maxSkew": draws.pick((1, 1, 2)), "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway" if wish else "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": draws.pick(_APPS)}},
            **{field: draws.pick(values) for field, values in rare.items() if draws.chance(0.4)},
        }  # fmt: skip

    # -- pods that are particular about their node

    def particular(self) -> Manifest:
        """A pod's nodeSelector, required node affinity and tolerations; it requests no resources.

        Every pod stays in the pool: by its selector, or by each term of its affinity.
        """
        draws = self._draws
        by_labels = "labels" in self._about
        by_affinity = by_labels and Subject.NODE_AFFINITY not in self._left_out
        by_terms = by_affinity and draws.chance(0.4)
        found: Manifest = {} if by_terms else {"nodeSelector": dict(POOL)}
        if by_labels and draws.chance(0.4):
            key = draws.pick(_KEYS)
            found.setdefault("nodeSelector", {})[f"{PREFIX}{key}"] = draws.pick(_LABELS[key])
        if by_terms or (by_affinity and draws.chance(0.6)):
            terms = [self._term(pool=by_terms) for _ in range(draws.pick((1, 1, 2)))]
            found["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        if "taints" in self._about and draws.chance(0.8):
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
        values = {"values": self._draws.sample((*_LABELS[key], "other"), 1, 3)} if operator in ("In", "NotIn") else {}
        return {"key": f"{PREFIX}{key}", "operator": operator, **values}

    def _toleration(self) -> Manifest:
        """A toleration, often of an existing taint, except for a part of it."""
        draws = self._draws
        if draws.chance(0.1):
            return {"operator": "Exists"}
        if draws.chance(0.15):
            return {"key": CORDONED, "operator": "Exists", "effect": "NoSchedule"}
        fitting = self._taints and draws.chance(0.7)
        taint = draws.pick(self._taints) if fitting else self._taint(draws.pick(_TAINTED), draws.pick(_EFFECTS))
        if fitting and draws.chance(0.4):
            taint = {**taint, **draws.pick(({"effect": draws.pick(_EFFECTS)}, {"value": draws.pick(_TAINT_VALUES)}))}
        toleration: Manifest = {"key": taint["key"]}
        if operator := draws.pick(("Equal", "Exists", "")):
            toleration["operator"] = operator
        if operator != "Exists" and taint.get("value"):
            toleration["value"] = taint["value"]
        if draws.chance(0.6):
            toleration["effect"] = taint["effect"]
            if taint["effect"] == "NoExecute" and draws.chance(0.5):
                toleration["tolerationSeconds"] = draws.pick((0, 3600))
        return toleration

    def later_toleration(self) -> Manifest:
        """A toleration that a pod gets while it waits, often of a taint that is there. No taint evicts it for that."""
        if self._taints and self._draws.chance(0.6):
            return {"key": self._draws.pick(self._taints)["key"], "operator": "Exists"}
        toleration = self._toleration()
        toleration.pop("tolerationSeconds", None)
        return toleration

    # -- pods that ask for resources

    def other_request(self, requests: Mapping[str, str]) -> dict[str, str]:
        """Another amount of one of these resources, more than 0."""
        resource = self._draws.pick(sorted(requests))
        amounts = [amount for amount in _AMOUNTS[resource] if amount not in ("0", requests[resource])]
        return {resource: self._draws.pick(amounts)}

    def demanding(self) -> Manifest:
        """A pod's containers, init containers and sidecars, with their requests and the ports that they open."""
        draws = self._draws
        # The apiserver takes a port of the node once in a pod.
        ports = draws.sample(_PORTS, len(_PORTS), len(_PORTS)) if "ports" in self._about else []
        several = (1, 2, 2, 3) if Subject.SEVERAL_CONTAINERS not in self._left_out else (1,)
        found: Manifest = {"containers": [self._container(ports) for _ in range(draws.pick(several))]}
        if draws.chance(0.5):
            kinds = [draws.chance(0.6) for _ in range(draws.pick((1, 2)))]
            without = {sidecar for sidecar, subject in _INIT.items() if subject in self._left_out}
            kinds = [sidecar for sidecar in kinds if sidecar not in without]
            found["initContainers"] = [self._container(ports, sidecar=sidecar) for sidecar in kinds]
        return found

    def _container(self, ports: list[tuple[int, str]], *, sidecar: bool = False) -> Manifest:
        draws = self._draws
        resources = [resource for resource in _AMOUNTS if resource in self._resources and "room" in self._about]
        asked = {resource: draws.pick(_AMOUNTS[resource]) for resource in draws.sample(resources, 0, 3)}
        # What cannot be overcommitted needs its limit; a limit alone is a request, too.
        limits = {name: asked[name] for name in asked if "/" in name}
        if draws.chance(0.3) and Subject.LIMITS not in self._left_out:
            limits = dict(asked) if draws.chance(0.5) else {name: _LIMITS.get(name, asked[name]) for name in asked}
        requests = {} if limits == asked and draws.chance(0.7) else asked
        container: Manifest = {"resources": {"requests": requests, "limits": limits}}
        if ports and draws.chance(0.4):
            port, protocol = ports.pop()
            address = {"hostIP": host_ip} if (host_ip := draws.pick(_HOST_IPS)) else {}
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": protocol, **address}]
        if sidecar:
            container["restartPolicy"] = "Always"
        return container
