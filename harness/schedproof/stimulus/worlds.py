"""Nodes and pods at random, for `core/random-worlds`: values are drawn where rules bend.

Labels that look like numbers or are empty, names that differ from hostnames, taints and tolerations that nearly match,
expressions about labels that a node lacks, quantities in every notation, requests of every kind of container. The
same random numbers give the same worlds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["POOL", "Worlds"]

Manifest = dict[str, Any]

POOL = {"schedproof.dev/pool": "worlds"}
"""The label of nodes that the pods of these worlds may go to."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFIX = "schedproof.dev/"
_KEYS = ("zone", "disk", "rank", "tier")
_LABELS = {
    "zone": ("a", "b", ""), "disk": ("ssd", "hdd"), "rank": ("0", "9", "10", "010", "x"), "tier": ("a", "", "1"),
}  # fmt: skip
_NUMBERS = ("0", "1", "8", "9", "10", "11")
_TAINTED = ("reserved", "reserved-2")
_TAINT_VALUES = ("yes", "no", "")
_AMOUNTS = {
    "cpu": ("100m", "250m", "0.3", "500m", "1", "1.5", "1e-1"),
    "memory": ("64Mi", "100M", "256Mi", "300000k", "0.5Gi", "1G", "1Gi", "1e9", "1073741824"),
    "ephemeral-storage": ("500M", "1Gi", "2G", "1500Mi"),
    f"{_PREFIX}device": ("1", "1", "2"),
}
_PORTS = (8080, 9090, 9091)


class Worlds:
    """What is drawn by one source of random numbers. `ports`: whether some pods open ports of their node."""

    def __init__(self, source: random.Random, *, ports: bool = True) -> None:
        self._random, self._ports = source, ports

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    def _pick(self, values: Sequence[Any]) -> Any:
        return self._random.choice(values)

    def _some(self, values: Sequence[Any], least: int, most: int) -> list[Any]:
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))

    # -- nodes

    def nodes(self, count: int) -> Iterator[Manifest]:
        """`labels` and `taints` of so many nodes, all in the pool.

        The first has no taint, and the last has one that repels no pod: PreferNoSchedule.
        """
        for number in range(count):
            labels = {f"{_PREFIX}{key}": self._pick(_LABELS[key]) for key in _KEYS if self._chance(0.6)}
            if number == count - 1:
                taints = [{"key": f"{_PREFIX}{_TAINTED[0]}", "value": "yes", "effect": "PreferNoSchedule"}]
            else:
                taints = [self._taint(key) for key in self._some(_TAINTED, 1, 2)] if number else []
            # A node's hostname need not be its name.
            host = {"kubernetes.io/hostname": f"host-{number}.example.com"} if number % 2 else {}
            yield {"labels": {**POOL, **labels, **host}, "taints": taints}

    def _taint(self, key: str) -> Manifest:
        effect = self._pick(("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"))
        value = self._pick(_TAINT_VALUES)
        return {"key": f"{_PREFIX}{key}", "effect": effect, **({"value": value} if value else {})}

    # -- pods that are particular about their node

    def particular(self, nodes: Sequence[str]) -> Manifest:
        """A pod's nodeSelector, required node affinity and tolerations; it asks for no resources.

        Every pod keeps to the pool: by its selector, or by each term of its affinity.
        """
        by_selector = self._chance(0.6)
        found: Manifest = {"nodeSelector": dict(POOL)} if by_selector else {}
        if self._chance(0.4):
            key = self._pick(_KEYS)
            found.setdefault("nodeSelector", {})[f"{_PREFIX}{key}"] = self._pick(_LABELS[key])
        if not by_selector or self._chance(0.6):
            terms = [self._term(nodes, pool=not by_selector) for _ in range(self._random.choice((1, 1, 2)))]
            found["affinity"] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
        if self._chance(0.7):
            found["tolerations"] = [self._toleration() for _ in range(self._random.choice((1, 2)))]
        return found

    def _term(self, nodes: Sequence[str], *, pool: bool) -> Manifest:
        expressions = [self._expression() for _ in range(self._random.choice((1, 1, 2)))]
        if pool:
            expressions += [{"key": key, "operator": "In", "values": [value]} for key, value in POOL.items()]
        term: Manifest = {"matchExpressions": expressions}
        if self._chance(0.2):
            operator = self._pick(("In", "NotIn"))
            term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [self._pick(nodes)]}]
        return term

    def _expression(self) -> Manifest:
        operator = self._pick(("In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        if operator in ("Gt", "Lt"):
            return {"key": f"{_PREFIX}rank", "operator": operator, "values": [self._pick(_NUMBERS)]}
        key = self._pick(_KEYS)
        values = {"values": self._some((*_LABELS[key], "other"), 1, 3)} if operator in ("In", "NotIn") else {}
        return {"key": f"{_PREFIX}{key}", "operator": operator, **values}

    def _toleration(self) -> Manifest:
        if self._chance(0.1):
            return {"operator": "Exists"}
        toleration: Manifest = {"key": f"{_PREFIX}{self._pick(_TAINTED)}"}
        operator = self._pick(("Equal", "Exists", ""))
        if operator:
            toleration["operator"] = operator
        if operator != "Exists" and (value := self._pick(_TAINT_VALUES)):
            toleration["value"] = value
        if effect := self._pick(("NoSchedule", "NoExecute", "PreferNoSchedule", "", "")):
            toleration["effect"] = effect
        if effect == "NoExecute" and self._chance(0.3):
            toleration["tolerationSeconds"] = 3600
        return toleration

    # -- pods that ask for resources

    def demanding(self, image: str) -> Manifest:
        """A pod's containers, init containers and sidecars, with what they ask for and the ports that they open."""
        # The apiserver takes a port of the node once in a pod.
        ports = [(port, protocol) for port in _PORTS for protocol in ("TCP", "UDP")]
        self._random.shuffle(ports)
        number = self._random.choice((1, 2, 2, 3))
        found: Manifest = {"containers": [self._container(f"c-{n}", image, ports) for n in range(number)]}
        if self._chance(0.6):
            kinds = [self._chance(0.6) for _ in range(self._random.choice((1, 2)))]
            found["initContainers"] = [
                self._container(f"i-{n}", image, ports, sidecar=sidecar) for n, sidecar in enumerate(kinds)
            ]
        return found

    def _container(self, name: str, image: str, ports: list[tuple[int, str]], *, sidecar: bool = False) -> Manifest:
        asked = {resource: self._pick(_AMOUNTS[resource]) for resource in self._some(tuple(_AMOUNTS), 0, 2)}
        # What cannot be overcommitted needs its limit; a limit alone is a request, too.
        limits = dict(asked) if self._chance(0.15) else {name: asked[name] for name in asked if "/" in name}
        requests: Mapping[str, str] = {} if limits == asked and self._chance(0.7) else asked
        container: Manifest = {
            "name": name, "image": image, "resources": {"requests": dict(requests), "limits": limits}
        }  # fmt: skip
        if self._chance(0.2) and self._ports:
            port, protocol = ports.pop()
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": protocol}]
        if sidecar:
            container["restartPolicy"] = "Always"
        return container
