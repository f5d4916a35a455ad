"""Random worlds of pods in groups: a few nodes, pods on them, and groups that have to share what is left.

Values are drawn where the outcomes of groups differ: about as much room as a group needs, members more or fewer than
its minCount, some of them running already, and pods of lower priority that are in the way.
"""

from __future__ import annotations

import random
from typing import Any

Manifest = dict[str, Any]

_PRIORITIES = (0, 0, 0, 5, 10)
_ZONES = ("a", "b")


class GroupWorlds:
    """A series of worlds, the same for the same seed. Each has `nodes`, `pods` and `podGroups`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self) -> Manifest:
        """One world. Pods without a node wait, in the order in which they came."""
        self._number = 0
        self._levels = _PRIORITIES if self._chance(0.75) else (0,)
        nodes = [self._node(f"n{number}") for number in range(self._random.randint(1, 4))]
        self._names = [node["metadata"]["name"] for node in nodes]
        pods, groups = [], []
        for number in range(self._pick((0, 0, 1, 1, 2))):
            running = self._group(f"running-{number}")
            groups.append(running)
            pods += [self._pod(running, node=self._pick(self._names)) for _ in range(self._random.randint(1, 3))]
        pods += [self._pod(node=self._pick(self._names)) for _ in range(self._random.randint(0, 2))]
        waiting: list[Manifest] = []
        for number in range(self._random.randint(1, 3)):
            group = self._group(f"group-{number}")
            if not self._chance(0.04):
                groups.append(group)
            waiting += self._members(group)
        waiting += [self._pod(single=True) for _ in range(self._random.randint(0, 2))]
        if self._chance(0.5):
            self._random.shuffle(waiting)
        pods += self._started(waiting)
        return {"nodes": nodes, "pods": pods, "podGroups": groups}

    def _chance(self, likely: float) -> bool:
        return self._random.random() < likely

    def _pick(self, among: Any) -> Any:
        return self._random.choice(among)

    def _node(self, name: str) -> Manifest:
        offered = {"cpu": str(self._random.randint(2, 6)), "memory": "8Gi", "pods": self._pick(("110", "110", "3"))}
        node: Manifest = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": self._pick(_ZONES)}},
            "spec": {}, "status": {"capacity": offered, "allocatable": offered},
        }  # fmt: skip
        if self._chance(0.1):
            node["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]
        return node

    def _group(self, name: str) -> Manifest:
        policy = {"gang": {"minCount": self._random.randint(1, 5)}} if self._chance(0.9) else {"basic": {}}
        spec: Manifest = {"schedulingPolicy": policy, "priority": self._pick(self._levels)}
        if self._chance(0.5):
            spec["disruptionMode"] = {self._pick(("all", "single")): {}}
        return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": spec}

    def _members(self, group: Manifest) -> list[Manifest]:
        """As many as the group needs, or fewer, or more; mostly alike."""
        least = group["spec"]["schedulingPolicy"].get("gang", {}).get("minCount", 2)
        count = max(1, least + self._pick((-1, 0, 0, 0, 1, 2)))
        look: Manifest = {"cpu": self._pick(("500m", "1", "1", "1500m"))}
        if self._chance(0.15):
            look["port"] = 9000
        if self._chance(0.15):
            look["apart"] = group["metadata"]["name"]
        if self._chance(0.15):
            look["zone"] = self._pick(_ZONES)
        if self._chance(0.1):
            look["spread"] = group["metadata"]["name"]
        if self._chance(0.1):
            look["never"] = True
        members = [self._pod(group, **look) for _ in range(count)]
        if self._chance(0.25):
            members[self._random.randrange(count)] = self._pod(group, cpu=self._pick(("500m", "2", "3")))
        if self._chance(0.04):
            self._pick(members)["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        if self._chance(0.04):
            self._pick(members)["spec"]["priority"] = 7
        return members

    def _started(self, waiting: list[Manifest]) -> list[Manifest]:
        """Some of a group's members are on nodes already; of these, some are about to be gone."""
        if self._chance(0.3):
            for pod in waiting:
                # No node has two pods with the same host port: kube-scheduler would forget it with the first of them.
                kept = "schedulingGates" in pod["spec"] or "ports" in pod["spec"]["containers"][0]
                if "schedulingGroup" in pod["spec"] and not kept and self._chance(0.3):
                    pod["spec"]["nodeName"] = self._pick(self._names)
                    if self._chance(0.2):
                        pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
        return waiting

    def _pod(
        self, group: Manifest | None = None, *, cpu: str = "", node: str = "", single: bool = False, **look: Any
    ) -> Manifest:
        self._number += 1
        name = f"p{self._number:02}"
        requests = {"cpu": cpu or self._pick(("500m", "1", "2"))}
        container: Manifest = {"name": "main", "image": "example.com/main", "resources": {"requests": requests}}
        if port := look.get("port"):
            container["ports"] = [{"containerPort": port, "hostPort": port}]
        spec: Manifest = {"schedulerName": "default-scheduler", "containers": [container]}
        labels = {"app": "web"}
        if group is None:
            spec["priority"] = self._pick(self._levels)
        else:
            labels["group"] = group["metadata"]["name"]
            spec |= {"priority": group["spec"]["priority"], "schedulingGroup": {"podGroupName": labels["group"]}}
        if single or look.get("never"):
            spec["preemptionPolicy"] = "Never"  # what is evicted for a pod by itself is not about groups
        if node:
            spec["nodeName"] = node
        if zone := look.get("zone"):
            spec["nodeSelector"] = {"zone": zone}
        if apart := look.get("apart"):
            term = {"labelSelector": {"matchLabels": {"group": apart}}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if spread := look.get("spread"):
            spec["topologySpreadConstraints"] = [{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"group": spread}},
            }]  # fmt: skip
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels}
        return {"metadata": metadata, "spec": spec, "status": {}}
