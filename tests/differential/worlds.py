"""Random worlds: one pod to schedule, some nodes, existing pods, and their namespaces.

Values are drawn at the limits of rules: quantities in every notation of the API, resources that the scheduler treats
specially, label values that look like numbers, taints and tolerations that nearly match. Most worlds leave most
aspects out, so that decisions depend on different rules.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from .devices import DeviceWorlds

Manifest = dict[str, Any]

_CPU = [
    "0", "1m", "100m", "500m", "0.5", "1", "1500m", "2", "1e-1", "0.0001", "100u", "1n", "1E-1", "0.1k", ".5", "2.",
    "+1", "3e0", "0.0015", "999999n", "1.0005", "200m", "50m", "4", "8",
]  # fmt: skip
_MEMORY = [
    "0", "1", "64Mi", "512Mi", "1Gi", "100M", "1e9", "1500m", "0.5Gi", "1.5Gi", "1073741823.5", "1E3", "200M",
    "300Mi", "1e-3", "100k", "2G", "0.1Mi", "8Gi", "4Gi",
]  # fmt: skip
_COUNTS = ["0", "1", "2", "3", "1k"]
_AMOUNTS = {
    "cpu": _CPU,
    "memory": _MEMORY,
    "ephemeral-storage": ["0", "1Gi", "2Gi", "1G", "500M", "1.1Gi", "1e10"],
    "hugepages-2Mi": ["2Mi", "4Mi", "1Gi"],
    "hugepages-1Gi": ["0", "1Gi", "2Gi"],
    "example.com/gpu": _COUNTS,
    "vendor.io/nic": _COUNTS,
    # Names that only look like extended resources, or that are native in disguise.
    "kubernetes.io/native": _COUNTS,
    "x.kubernetes.io/native": _COUNTS,
    "attachable-volumes-csi-x": _COUNTS,
    "requests.example.com/quota": _COUNTS,
    "storage": ["1Gi"],
    "pods": ["1"],
}
_COMMON = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "example.com/gpu")
_COMPUTE = ("cpu", "memory", "hugepages-2Mi")
# Memory stays below what sums to 8 Ei: there kube-scheduler's int64 overflows, and the oracle's integers do not.
_OFFERED = {
    "cpu": ["4", "8", "2", "1500m", "3.9995", "16", "1e1", "0", "4001m"],
    "memory": ["8Gi", "4Gi", "16G", "1500m", "33554432k", "8589934592.7", "1Ei"],
    "pods": ["110", "110", "110", "3", "2", "1", "0", "4k"],
}

_KEYS = ("zone", "disk", "size", "kubernetes.io/hostname", "example.com/tier")
_FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
_VALUES = ("a", "b", "10", "9", "x1", "", "010", "9223372036854775807", "1_0", "0x10")
_NUMBERS = ("9", "10", "x", "010", "-6", "0", "9223372036854775806", "+3", "1_0")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_TAINTED = ("zone", "disk", "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable")

_NAMESPACES = {"default": {}, "red": {"team": "red", "env": "test"}, "blue": {"team": "blue"}}
_POD_LABELS = {"app": ("web", "db"), "tier": ("a", "b", ""), "version": ("1", "2")}
_TOPOLOGIES = ("zone", "zone", "rack", "kubernetes.io/hostname")
_COMPANY = frozenset({"together", "apart", "spread"})
"""Aspects by which it matters what is on other nodes."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_ASPECTS = (
    "selector", "affinity", "tolerations", "taints", "cordon", "requests", "ports", "gates", "host",
)  # fmt: skip

_ZONE, _OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
_CLASSES = [
    {"metadata": {"name": "now"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"},
    {
        "metadata": {"name": "later"}, "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "metadata": {"name": "made"}, "provisioner": "disks.example.com", "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "metadata": {"name": "placed"}, "provisioner": "files.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}, {"key": "disk", "values": ["a"]}]},
            {"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]},
        ],
    },
]  # fmt: skip
_CLASS_NAMES = ("now", "later", "later", "later", "later", "made", "made", "made", "placed", "gone", "")
_SIZES = ("1Gi", "1073741824", "2Gi", "500M", "1.5Gi")
_MODES, _ONCE = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"), "ReadWriteOncePod"
_DRIVERS = ("disks.example.com", "files.example.com")


@dataclasses.dataclass
class Worlds:
    """A series of worlds, the same for the same seed."""

    seed: int

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._pods = 0
        self._on: frozenset[str] = frozenset()
        self._devices = DeviceWorlds(self.seed)

    def draw(self) -> Manifest:
        """One world: `pod`, `nodes`, `pods`, `namespaces` (their labels, by name)."""
        company, otherwise = (0.5, 0.08) if self._chance(0.5) else (0, 0.3)
        likely = {**dict.fromkeys(_ASPECTS, otherwise), **dict.fromkeys(sorted(_COMPANY), company)}
        # What decides would be something else, if company were tried together with all that can keep a pod off.
        self._on = frozenset(aspect for aspect, chance in likely.items() if self._chance(chance))
        if self._chance(0.3):
            self._on |= {"volumes"}
        nodes = [self._node(f"n{number}") for number in range(self._random.randint(1, 6))]
        names = [node["metadata"]["name"] for node in nodes] + ["gone"]
        most = 10 if self._on & _COMPANY else 4
        pods = [self._pod(f"held-{number}", self._pick(names)) for number in range(self._random.randint(0, most))]
        world = {"pod": self._pod("probe"), "nodes": nodes, "pods": pods, "namespaces": _NAMESPACES}
        if "volumes" in self._on:
            world |= self._storage(world["pod"], pods, names)
        if self._devices.wanted():
            world |= self._devices.draw(world["pod"], nodes)
        return world

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    def _pick(self, values: Any) -> Any:
        return self._random.choice(list(values))

    def _some(self, values: Any, most: int, least: int = 0) -> list[Any]:
        values = list(values)
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))

    # -- pods

    def _pod(self, name: str, node: str | None = None) -> Manifest:
        self._pods += 1
        spec: Manifest = {
            "containers": [self._container(f"c{number}") for number in range(self._random.randint(1, 3))],
            "terminationGracePeriodSeconds": 0,
        }
        if self._chance(0.4):
            spec["initContainers"] = [
                self._container(f"i{number}", sidecar=self._chance(0.5)) for number in range(self._random.randint(1, 3))
            ]
        if "requests" in self._on:
            self._pod_level(spec)
        if "host" in self._on and self._chance(0.5):
            spec["hostNetwork"] = True
            for container in (*spec["containers"], *spec.get("initContainers", ())):
                for port in container.get("ports", ()):
                    port["hostPort"] = port["containerPort"]
        if self._on & {"tolerations", "taints"} and self._chance(0.7):
            spec["tolerations"] = [self._toleration() for _ in range(self._random.randint(1, 3))]
        metadata = {"name": name, "namespace": self._namespace(), "uid": f"u{self._pods}", "labels": self._labels()}
        self._accompany(spec, metadata["labels"])
        if node is None:
            self._constrain(spec)
            return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        if self._chance(0.1):
            metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
        spec["nodeName"] = node
        phase = self._pick(("Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"))
        return {"metadata": metadata, "spec": spec, "status": self._status(spec, phase)}

    def _pod_level(self, spec: Manifest) -> None:
        if self._chance(0.2):
            spec["overhead"] = self._requests(_COMMON)
            if any(name.startswith("hugepages") for name in spec["overhead"]):
                spec["overhead"].setdefault("cpu", "100m")
        if self._chance(0.25):
            # Large enough to be above what the containers ask for, as validation wants it.
            large = {"cpu": ("20", "40"), "memory": ("20Gi", "100Gi"), "hugepages-2Mi": ("1Gi",)}
            requests = {name: self._pick(large[name]) for name in self._some(_COMPUTE, 3)}
            limits = {name: amount for name, amount in requests.items() if name.startswith("hugepages")}
            spec["resources"] = {"requests": requests, "limits": limits}

    def _constrain(self, spec: Manifest) -> None:
        if "selector" in self._on:
            spec["nodeSelector"] = {self._pick(_KEYS): self._pick(_VALUES) for _ in range(self._random.randint(1, 2))}
        if "affinity" in self._on:
            terms = [self._term() for _ in range(self._random.randint(1, 3))]
            spec.setdefault("affinity", {})["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": terms}}
        if "gates" in self._on and self._chance(0.2):
            spec["schedulingGates"] = [{"name": "example.com/gate"}]

    # -- storage

    def _storage(self, pod: Manifest, pods: list[Manifest], nodes: list[str]) -> Manifest:
        """Volumes and claims, some of which the pod uses, and other pods too; and limits of nodes."""
        names = [f"claim-{number}" for number in range(self._random.randint(1, 3))]
        volumes = [self._volume(f"volume-{number}") for number in range(self._random.randint(1, 5))]
        claims = [self._claim(name, pod["metadata"]["namespace"], volumes) for name in names]
        used = self._some([*names, "gone"] if self._chance(0.05) else names, self._pick((1, 1, 2)), 1)
        pod["spec"]["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in used]
        for other in pods:
            if self._chance(0.7):
                volume = {"name": "v", "persistentVolumeClaim": {"claimName": self._pick(names)}}
                other["spec"]["volumes"] = [volume]
        limits = [
            {
                "metadata": {"name": node},
                "spec": {"drivers": [self._driver(name, node) for name in _DRIVERS if self._chance(0.9)]},
            }
            for node in nodes
            if self._chance(0.5)
        ]
        if self._chance(0.2):
            pod["spec"]["volumes"].append({"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            }}}})  # fmt: skip
            if self._chance(0.9):
                claims.append(self._owned(pod, volumes))
        return {
            "claims": claims, "volumes": volumes, "classes": _CLASSES, "csiNodes": limits,
            "drivers": [
                {"metadata": {"name": name}, "spec": {
                    "storageCapacity": self._chance(0.7), "preventPodSchedulingIfMissing": self._chance(0.3),
                }}
                for name in _DRIVERS
                if self._chance(0.9)
            ],
            "capacities": [self._capacity(f"capacity-{number}") for number in range(self._random.randint(0, 4))],
        }  # fmt: skip

    def _owned(self, pod: Manifest, volumes: list[Manifest]) -> Manifest:
        """A claim of the pod's ephemeral volume, or of another pod's of the same name."""
        claim = self._claim(f"{pod['metadata']['name']}-own", pod["metadata"]["namespace"], volumes)
        claim["spec"]["accessModes"] = ["ReadWriteOnce"]
        uid = pod["metadata"]["uid"] if self._chance(0.9) else "another"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid, "controller": True}
        claim["metadata"]["ownerReferences"] = [owner]
        return claim

    def _capacity(self, name: str) -> Manifest:
        places = ({}, {"matchLabels": {"zone": "a"}}, {"matchExpressions": [self._place()]})
        return {
            "metadata": {"name": name, "namespace": "default"},
            "storageClassName": self._pick(("made", "made", "placed", "later")),
            **({"nodeTopology": self._pick(places)} if self._chance(0.9) else {}),
            **({"capacity": self._pick(_SIZES)} if self._chance(0.9) else {}),
            **({"maximumVolumeSize": self._pick(_SIZES)} if self._chance(0.3) else {}),
        }

    def _driver(self, name: str, node: str) -> Manifest:
        limit = {"allocatable": {"count": self._pick((0, 0, 1, 2))}} if self._chance(0.8) else {}
        return {"name": name, "nodeID": node, **limit}

    def _volume(self, name: str) -> Manifest:
        spec: Manifest = {
            "capacity": {"storage": self._pick(_SIZES)}, "accessModes": self._some(_MODES, 3, 1),
            "storageClassName": self._pick(_CLASS_NAMES),
        }  # fmt: skip
        if self._chance(0.7):
            spec["csi"] = {"driver": self._pick(_DRIVERS), "volumeHandle": self._pick((name, name, "shared"))}
        else:
            spec["hostPath"] = {"path": "/tmp"}
        if self._chance(0.15):
            spec["volumeMode"] = "Block"
        if self._chance(0.6):
            terms = [{"matchExpressions": [self._place() for _ in range(self._random.choice((1, 1, 2)))]}]
            terms += [{"matchExpressions": [self._place()]}] if self._chance(0.3) else []
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        labels = {"tier": self._pick("ab")}
        if self._chance(0.4):
            labels[self._pick((_ZONE, _ZONE, _OLD_ZONE))] = self._pick(("a", "b", "a__b", "c__ a", "a__", ""))
        metadata: Manifest = {"name": name, "labels": labels}
        if self._chance(0.05):
            metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        return {"metadata": metadata, "spec": spec, "status": {"phase": self._pick(("Available",) * 6 + ("Released",))}}

    def _place(self) -> Manifest:
        key = self._pick(("zone", "disk", "kubernetes.io/hostname", _ZONE))
        operator = self._pick(("In", "NotIn", "Exists"))
        values = {} if operator == "Exists" else {"values": self._some(("a", "b", "10", "n0", "n1", "n2"), 3, 1)}
        return {"key": key, "operator": operator, **values}

    def _claim(self, name: str, namespace: str, volumes: list[Manifest]) -> Manifest:
        spec: Manifest = {
            "accessModes": [_ONCE] if self._chance(0.4) else self._some(_MODES, 2, 1),
            "storageClassName": self._pick(_CLASS_NAMES),
            "resources": {"requests": {"storage": self._pick(_SIZES)}},
        }  # fmt: skip
        metadata: Manifest = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
        if self._chance(0.15):
            spec["volumeMode"] = "Block"
        if self._chance(0.2):
            spec["selector"] = {"matchLabels": {"tier": self._pick("ab")}}
        free = [volume for volume in volumes if "claimRef" not in volume["spec"]]
        if free and self._chance(0.8):
            volume = self._pick(free)
            uid = self._pick((metadata["uid"], ""))
            volume["spec"]["claimRef"] = {"name": name, "namespace": namespace, "uid": uid}
            if self._chance(0.85):
                spec["volumeName"] = volume["metadata"]["name"] if self._chance(0.95) else "gone"
            if self._chance(0.9):
                metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        elif self._chance(0.1):
            node = self._pick(("n0", "n1"))
            metadata["annotations"] = {"volume.kubernetes.io/selected-node": node}
        if self._chance(0.02):
            metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        phase = "Lost" if self._chance(0.02) else self._pick(("Pending", "Bound"))
        return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}

    # -- which pods are together

    def _namespace(self) -> str:
        return self._pick(_NAMESPACES) if self._on & _COMPANY and self._chance(0.3) else "default"

    def _labels(self) -> Manifest:
        if not self._on & _COMPANY:
            return {}
        return {key: self._pick(values) for key, values in _POD_LABELS.items() if self._chance(0.8)}

    def _accompany(self, spec: Manifest, labels: Manifest) -> None:
        for aspect, kind in (("together", "podAffinity"), ("apart", "podAntiAffinity")):
            if aspect in self._on and self._chance(0.4):
                terms = [self._affinity_term(labels) for _ in range(self._random.choice((1, 1, 2)))]
                spec.setdefault("affinity", {})[kind] = {_REQUIRED: terms}
        if "spread" in self._on and self._chance(0.7):
            constraints = [self._constraint(labels) for _ in range(self._random.choice((1, 1, 2)))]
            # The apiserver takes each key and action once.
            once = {(one["topologyKey"], one["whenUnsatisfiable"]): one for one in constraints}
            spec["topologySpreadConstraints"] = list(once.values())

    def _affinity_term(self, labels: Manifest) -> Manifest:
        term: Manifest = {"topologyKey": self._pick(_TOPOLOGIES), **self._label_selector(labels)}
        if self._chance(0.25):
            term["namespaces"] = self._some((*_NAMESPACES, "gone"), 2)
        if self._chance(0.25):
            teams = {"key": "team", "operator": self._pick(("Exists", "DoesNotExist"))}
            selectors = ({}, {"matchLabels": {"team": self._pick(("red", "blue"))}}, {"matchExpressions": [teams]})
            term["namespaceSelector"] = self._pick(selectors)
        for keys in ("matchLabelKeys", "mismatchLabelKeys"):
            if self._chance(0.15):
                term[keys] = ["version"]
        return term

    def _constraint(self, labels: Manifest) -> Manifest:
        constraint: Manifest = {
            "topologyKey": self._pick(_TOPOLOGIES), "maxSkew": self._pick((1, 1, 2, 3)),
            "whenUnsatisfiable": "DoNotSchedule" if self._chance(0.85) else "ScheduleAnyway",
            **self._label_selector(labels),
        }  # fmt: skip
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self._chance(0.3):
            constraint["minDomains"] = self._pick((1, 2, 3, 4))
        if self._chance(0.25):
            constraint["matchLabelKeys"] = self._some(("version", "absent"), 2)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self._chance(0.35):
                constraint[policy] = self._pick(("Honor", "Ignore"))
        return constraint

    def _label_selector(self, labels: Manifest) -> Manifest:
        """A label selector; mostly one that matches the pod itself, as in a group."""
        if self._chance(0.05):
            return {}
        selector: Manifest = {}
        if self._chance(0.7):
            selector["matchLabels"] = {"app": labels.get("app", "web") if self._chance(0.7) else "db"}
        if self._chance(0.3):
            operator = self._pick(("In", "NotIn", "Exists", "DoesNotExist"))
            values = {"values": self._some(_POD_LABELS["tier"], 2, 1)} if operator in ("In", "NotIn") else {}
            selector["matchExpressions"] = [{"key": "tier", "operator": operator, **values}]
        return {"labelSelector": selector}

    # -- containers

    def _container(self, name: str, *, sidecar: bool = False) -> Manifest:
        container: Manifest = {"name": name, "image": "i"}
        if "requests" in self._on:
            container["resources"] = self._resources()
        if "ports" in self._on:
            container["ports"] = [self._port() for _ in range(self._random.randint(0, 2))]
        if sidecar:
            container["restartPolicy"] = "Always"
        elif name.startswith("i") and self._chance(0.2):
            container["restartPolicy"] = self._pick(("Never", "OnFailure"))
        if not sidecar and self._chance(0.04):
            rule = {
                "action": self._pick(("Restart", "RestartAllContainers")),
                "exitCodes": {"operator": "In", "values": [1]},
            }
            container |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
        return container

    def _requests(self, names: Any = None) -> Manifest:
        names = names or (_COMMON if self._chance(0.9) else _AMOUNTS)
        return {name: self._pick(_AMOUNTS[name]) for name in self._some(names, 3)}

    def _resources(self) -> Manifest:
        requests = self._requests()
        # What cannot be overcommitted must have its limit.
        limits = {name: amount for name, amount in requests.items() if "/" in name or name.startswith("hugepages")}
        if any(name.startswith("hugepages") for name in requests):
            requests.setdefault("cpu", "100m")
        if self._chance(0.15):
            limits = self._requests() | limits  # a limit alone is a request too
        return {"requests": requests, "limits": limits}

    def _port(self) -> Manifest:
        port: Manifest = {"containerPort": self._pick((80, 443, 8080))}
        if self._chance(0.7):
            port["hostPort"] = self._pick((80, 443, 8080))
        if self._chance(0.5):
            port["protocol"] = self._pick(("TCP", "UDP", "SCTP"))
        if self._chance(0.5):
            port["hostIP"] = self._pick(("0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1", ""))
        return port

    def _term(self) -> Manifest:
        term: Manifest = {}
        if self._chance(0.8):
            term["matchExpressions"] = [self._expression() for _ in range(self._random.randint(0, 3))]
        if self._chance(0.3):
            names = [self._pick(("n0", "n1", "n2", "gone"))]
            term["matchFields"] = [{"key": "metadata.name", "operator": self._pick(("In", "NotIn")), "values": names}]
        return term

    def _expression(self) -> Manifest:
        operator = self._pick(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        expression: Manifest = {"key": self._pick(_KEYS), "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = self._some((*_VALUES, "inv@lid", "1.5"), 3, 1)
        elif operator in ("Gt", "Lt"):
            expression["values"] = [self._pick(_NUMBERS)]
        return expression

    def _toleration(self) -> Manifest:
        toleration: Manifest = {"operator": self._pick(("Equal", "Exists", "Equal", "Exists", ""))}
        if self._chance(0.85):
            toleration["key"] = self._pick(_TAINTED)
        else:
            toleration["operator"] = "Exists"
        if toleration["operator"] != "Exists" and self._chance(0.7):
            toleration["value"] = self._pick(("a", "b", "10", ""))
        if self._chance(0.6):
            toleration["effect"] = self._pick((*_EFFECTS, ""))
        if toleration.get("effect") == "NoExecute" and self._chance(0.3):
            toleration["tolerationSeconds"] = self._pick((0, 10, -1))
        return toleration

    def _status(self, spec: Manifest, phase: str) -> Manifest:
        """A pod's status as a kubelet reports it, also during a resize."""
        status: Manifest = {"phase": phase}
        if not self._chance(0.5):
            return status
        for kind, statuses in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            for container in spec.get(kind, ()):
                reported: Manifest = {"name": container["name"], "image": "i", "imageID": "", "ready": True}
                reported["restartCount"] = 0
                if self._chance(0.6):
                    reported["resources"] = {"requests": self._requests(_COMMON)} if self._chance(0.85) else {}
                if self._chance(0.5):
                    reported["allocatedResources"] = self._requests(("cpu", "memory"))
                status.setdefault(statuses, []).append(reported)
        if self._chance(0.3):
            reason = self._pick(("Infeasible", "Deferred"))
            status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
        if "resources" in spec and self._chance(0.7):
            status["resources"] = {"requests": self._requests(_COMPUTE)}
            status["allocatedResources"] = self._requests(("cpu", "memory"))
        return status

    # -- nodes

    def _node(self, name: str) -> Manifest:
        labels = {"kubernetes.io/hostname": name, **{key: self._pick(_VALUES) for key in self._some(_KEYS, 4)}}
        if self._chance(0.1):
            del labels["kubernetes.io/hostname"]
        if self._on & _COMPANY:
            # Few places, at which several nodes are; some nodes are at none.
            labels |= {key: self._pick(("a", "b", "c")) for key in ("zone", "rack") if self._chance(0.85)}
        if "volumes" in self._on and self._chance(0.8):
            labels |= {self._pick((_ZONE, _ZONE, _OLD_ZONE)): self._pick("abc")}
        spec: Manifest = {}
        if "taints" in self._on and self._chance(0.8):
            taints = [self._taint() for _ in range(self._random.randint(1, 2))]
            # The apiserver takes each key and effect once.
            spec["taints"] = list({(taint["key"], taint["effect"]): taint for taint in taints}.values())
        if "cordon" in self._on and self._chance(0.5):
            spec["unschedulable"] = True
        allocatable = {resource: self._pick(amounts) for resource, amounts in _OFFERED.items()}
        for resource, amounts in _AMOUNTS.items():
            if resource not in allocatable and self._chance(0.5 if resource in _COMMON else 0.2):
                allocatable[resource] = self._pick(
                    ("1Gi", "3Gi", "10Gi") if "Gi" in "".join(amounts) else ("1", "3", "4")
                )
        if self._on & _COMPANY and self._chance(0.9):
            allocatable["pods"] = "110"
        if self._chance(0.05):
            allocatable.pop(self._pick(allocatable))
        declared = [feature for feature in _FEATURES if self._chance(0.5)]
        offered = {"allocatable": allocatable, "capacity": {**allocatable, "cpu": "64"}} if self._chance(0.98) else {}
        status = {**offered, "declaredFeatures": declared}
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def _taint(self) -> Manifest:
        taint = {"key": self._pick(_TAINTED), "effect": self._pick(_EFFECTS)}
        return {**taint, "value": self._pick(("a", "b", "10", ""))} if self._chance(0.7) else taint
