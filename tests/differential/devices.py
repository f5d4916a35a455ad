"""Random devices: ResourceSlices, DeviceClasses, and ResourceClaims, some of which a pod uses.

Some pods request devices as an extended resource, with claims or without. Some devices consume counters of their pool,
and some can be allocated several times.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Manifest = dict[str, Any]

_DRIVERS = ("example.com", "gpu.example.com")
_COLORS = ("red", "blue")


def _cel(expression: str) -> Manifest:
    return {"cel": {"expression": expression}}


_RED, _LARGE = (f'device.attributes["example.com"].{rest}' for rest in ('color == "red"', "size == 2"))
_SELECTORS = (
    [], [], [_cel(_RED)], [_cel(_LARGE)], [_cel(f"{_RED} && {_LARGE}")], [_cel(_RED), _cel(_LARGE)],
    [_cel('device.driver == "gpu.example.com"')], [_cel(f'device.driver == "example.com" && {_RED}')],
    [_cel('device.attributes["example.com"].ready == true')],
)  # fmt: skip
_CLASSES = [
    {"metadata": {"name": "any"}, "spec": {}},
    {"metadata": {"name": "red"}, "spec": {"selectors": [_cel(_RED)]}},
    {"metadata": {"name": "gpu"}, "spec": {"selectors": [_cel('device.driver == "gpu.example.com"')]}},
]
_MEMORY = "example.com/memory"
_POLICIES: Sequence[Manifest] = (
    {}, {}, {"default": "1"}, {"default": "2", "validValues": ["1", "2", "4"]},
    {"default": "2", "validRange": {"min": "1"}}, {"default": "1", "validRange": {"min": "1", "max": "4", "step": "2"}},
    {"default": "500m", "validRange": {"min": "500m", "max": "3"}},
)  # fmt: skip
_AMOUNTS = ("0", "1", "1", "2", "3", "1500m", "5")
_CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
_EXTENDED = "example.com/gpu"
"""Some nodes offer it themselves."""
_BY_CLASS = (_EXTENDED, *(f"deviceclass.resource.kubernetes.io/{name}" for name in ("any", "red", "none")))
_OWNER = {"apiVersion": "v1", "kind": "Pod"}


class DeviceWorlds:
    """A series of random devices, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"{seed}: devices")

    def wanted(self) -> bool:
        """Whether the next world has devices."""
        return self._chance(0.25)

    def draw(self, pod: Manifest, nodes: Sequence[Manifest]) -> Manifest:
        """Draw `resourceClaims`, `resourceSlices` and `deviceClasses`, and add entries for the claims to the pod."""
        names = [node["metadata"]["name"] for node in nodes]
        slices = [
            slice_ for number in range(self._random.randint(1, 5)) for slice_ in self._pool(f"pool-{number}", names)
        ]
        claims = [self._claim(f"device-{number}", pod, slices, names) for number in range(self._random.randint(1, 4))]
        classes = _CLASSES if self._chance(0.97) else _CLASSES[1:]
        if self._chance(0.4):
            self._request_extended(pod)
        if not pod["spec"]["containers"][0].get("resources") or self._chance(0.5):
            self._use(pod, claims)
        if self._chance(0.6):
            named, *others = self._random.sample(classes, len(classes))
            classes = [{**named, "spec": {**named["spec"], "extendedResourceName": _EXTENDED}}, *others]
        rules = [self._rule(f"rule-{number}") for number in range(self._random.choice((0, 0, 0, 1, 2)))]
        return {
            "resourceClaims": claims, "resourceSlices": slices, "deviceClasses": classes, "deviceTaintRules": rules,
        }  # fmt: skip

    def _rule(self, name: str) -> Manifest:
        """A DeviceTaintRule, which a Kubernetes before 1.37 does not know."""
        selects = {
            "driver": self._random.choice(_DRIVERS), "pool": f"pool-{self._random.randint(0, 3)}",
            "device": f"d{self._random.randint(0, 1)}{self._random.randint(0, 2)}",
        }  # fmt: skip
        selector = {field: value for field, value in selects.items() if self._chance(0.5)}
        spec = {"taint": self._taint(), **({"deviceSelector": selector} if self._chance(0.95) else {})}
        return {"metadata": {"name": name}, "spec": spec}

    def _request_extended(self, pod: Manifest) -> None:
        resources = pod["spec"]["containers"][0].setdefault("resources", {})
        amount = {self._random.choice(_BY_CLASS): str(self._random.choice((0, 1, 1, 2)))}
        for kind in ("requests", "limits"):
            resources[kind] = {**resources.get(kind, {}), **amount}

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    def _pool(self, name: str, nodes: Sequence[str]) -> list[Manifest]:
        """The slices of a pool, of which one may be missing."""
        count = self._random.choice((1, 1, 1, 2))
        driver = self._random.choice(_DRIVERS)
        pool = {"name": name, "generation": 1, "resourceSliceCount": count}
        where = self._where(nodes)
        counters = self._counters() if self._chance(0.5) else []
        pool["resourceSliceCount"] = count + bool(counters)
        slices = [
            {
                "metadata": {"name": f"{name}-{number}"},
                "spec": {
                    "driver": driver, "pool": pool, **(where if self._chance(0.8) else self._where(nodes)),
                    "devices": [
                        self._device(f"d{number}{at}", counters) for at in range(self._random.randint(0, 3))
                    ],
                },
            }
            for number in range(count)
        ]  # fmt: skip
        for slice_ in slices:
            if self._chance(0.1):
                self._select_by_device(slice_["spec"], nodes)
        if counters:
            spec = {"driver": driver, "pool": pool, **self._where(nodes), "sharedCounters": counters}
            slices.insert(self._random.randint(0, count), {"metadata": {"name": f"{name}-counters"}, "spec": spec})
        return slices if self._chance(0.95) else slices[1:]

    def _select_by_device(self, spec: Manifest, nodes: Sequence[str]) -> None:
        for field in ("nodeName", "allNodes", "nodeSelector"):
            spec.pop(field, None)
        spec["perDeviceNodeSelection"] = True
        spec["devices"] = [{**device, **self._where(nodes)} for device in spec["devices"]]

    def _counters(self) -> list[Manifest]:
        return [
            {
                "name": f"set-{number}",
                "counters": {name: {"value": self._random.choice("1123")} for name in ("slots", "memory")},
            }
            for number in range(self._random.choice((1, 1, 2)))
        ]

    def _consumption(self, counters: Sequence[Manifest]) -> list[Manifest]:
        """What a device consumes of some of the counters; rarely of one that does not exist."""
        if self._chance(0.2):
            return []
        names = ["slots", *(["memory"] if self._chance(0.5) else [])]
        return [
            {
                "counterSet": each["name"] if self._chance(0.99) else "none",
                "counters": {name: {"value": self._random.choice(("1", "1", "2", "500m"))} for name in names},
            }
            for each in counters[: self._random.choice((1, 2))]
        ]

    def _where(self, nodes: Sequence[str]) -> Manifest:
        if self._chance(0.7):
            return {"nodeName": self._random.choice((*nodes, "gone"))}
        if self._chance(0.3):
            return {"allNodes": True}
        values = self._random.sample(nodes, self._random.randint(1, len(nodes)))
        operator = self._random.choice(("In", "NotIn"))
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": operator, "values": values}]}
        return {"nodeSelector": {"nodeSelectorTerms": [term]}}

    def _device(self, name: str, counters: Sequence[Manifest]) -> Manifest:
        """A device; rarely without an attribute, on which a selector fails."""
        attributes = {
            "example.com/color": {"string": self._random.choice(_COLORS)},
            "example.com/size": {"int": self._random.choice((1, 2))},
            "example.com/ready": {"bool": self._chance(0.8)},
        }
        if self._chance(0.01):
            attributes.popitem()
        taints = [self._taint() for _ in range(self._random.choice((0, 0, 0, 1, 2)))]
        device = {"name": name, "attributes": attributes, **({"taints": taints} if taints else {})}
        if used := self._consumption(counters):
            device["consumesCounters"] = used
        if self._chance(0.4):
            policy = self._random.choice(_POLICIES)
            device["capacity"] = {_MEMORY: {"value": "4", **({"requestPolicy": policy} if policy else {})}}
            device["allowMultipleAllocations"] = self._chance(0.7)
        if self._chance(0.15):
            device |= _CONDITIONS
        return device

    def _taint(self) -> Manifest:
        effect = self._random.choice(("NoSchedule", "NoSchedule", "NoExecute", "None"))
        value = {"value": self._random.choice(("a", "b"))} if self._chance(0.7) else {}
        return {"key": f"example.com/{self._random.choice('kl')}", "effect": effect, **value}

    def _toleration(self) -> Manifest:
        """Tolerates a taint, or almost: by all keys, all effects, or a value."""
        if self._chance(0.2):
            return {"operator": "Exists"}
        toleration = {"key": f"example.com/{self._random.choice('kl')}", "operator": "Exists"}
        if self._chance(0.5):
            toleration |= {"operator": "Equal", "value": self._random.choice(("a", "b", ""))}
        if self._chance(0.5):
            toleration["effect"] = self._random.choice(("NoSchedule", "NoExecute"))
        return toleration

    def _claim(self, name: str, pod: Manifest, slices: Sequence[Manifest], nodes: Sequence[str]) -> Manifest:
        owner = pod["metadata"]
        metadata: Manifest = {"name": name, "namespace": owner["namespace"], "uid": f"uid-of-{name}"}
        if self._chance(0.2):
            uid = owner["uid"] if self._chance(0.9) else "another"
            metadata["ownerReferences"] = [{**_OWNER, "name": owner["name"], "uid": uid, "controller": True}]
        if self._chance(0.02):
            metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        requests = [self._request(f"r{number}") for number in range(self._random.choice((1, 1, 2)))]
        claim: Manifest = {"metadata": metadata, "spec": {"devices": {"requests": requests}}}
        if self._chance(0.35):
            claim["status"] = self._status(slices, nodes, owner["uid"])
        return claim

    def _request(self, name: str) -> Manifest:
        if self._chance(0.3):
            return {
                "name": name,
                "firstAvailable": [self._wanted() | {"name": f"s{at}"} for at in range(self._random.randint(1, 3))],
            }
        return {"name": name, "exactly": self._wanted()}

    def _wanted(self) -> Manifest:
        wanted: Manifest = {"deviceClassName": self._random.choice(("any", "any", "any", "red", "gpu"))}
        if self._chance(0.5):
            wanted |= {"allocationMode": "ExactCount", "count": self._random.choice((1, 2, 2, 3))}
        if selectors := self._random.choice(_SELECTORS):
            wanted["selectors"] = selectors
        if tolerations := [self._toleration() for _ in range(self._random.choice((0, 0, 1, 2)))]:
            wanted["tolerations"] = tolerations
        if self._chance(0.2):
            name = _MEMORY if self._chance(0.95) else "example.com/none"
            wanted["capacity"] = {"requests": {name: self._random.choice(_AMOUNTS)}}
        return wanted

    def _status(self, slices: Sequence[Manifest], nodes: Sequence[str], uid: str) -> Manifest:
        """A claim's status: allocated, whatever it requests, and on any node: no rule checks that again."""
        there = [
            {
                "request": "r0",
                "driver": slice_["spec"]["driver"],
                "pool": slice_["spec"]["pool"]["name"],
                "device": device["name"],
                **self._part(device),
            }
            for slice_ in slices
            for device in slice_["spec"].get("devices") or ()
        ]
        status: Manifest = {"allocation": {"devices": {"results": self._random.sample(there, min(len(there), 2))}}}
        if self._chance(0.8):
            here = {"key": "metadata.name", "operator": "In", "values": [self._random.choice(nodes)]}
            status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [here]}]}
        consumers = [{"resource": "pods", "name": "other", "uid": f"other-{number}"} for number in range(256)]
        count = self._random.choice((0, 1, 255, 256))
        mine = [{"resource": "pods", "name": "probe", "uid": uid}] if self._chance(0.3) else []
        status["reservedFor"] = [*mine, *consumers[: count - len(mine)]] if count else []
        if self._chance(0.3):
            self._prepare(status)
        return status

    def _prepare(self, status: Manifest) -> None:
        """Let devices have conditions, some of which their drivers have reported."""
        for result in status["allocation"]["devices"]["results"]:
            if self._chance(0.8):
                result |= _CONDITIONS
            if self._chance(0.8):
                conditions = [
                    {"type": kind, "status": self._random.choice(("True", "True", "False"))}
                    for kind in ("ready", "failed", "other")
                    if self._chance(0.6)
                ]
                device = {key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result}
                status.setdefault("devices", []).append({**device, "conditions": conditions})

    def _part(self, device: Manifest) -> Manifest:
        """What an allocation says about the part of a device that can be allocated several times."""
        if not device.get("allowMultipleAllocations") or self._chance(0.03):
            return {}
        share = f"00000000-0000-4000-8000-{self._random.randrange(10**12):012}"
        return {"shareID": share, "consumedCapacity": {_MEMORY: self._random.choice(("1", "2", "1500m"))}}

    def _use(self, pod: Manifest, claims: Sequence[Manifest]) -> None:
        used = self._random.sample(claims, min(len(claims), self._random.choice((1, 1, 2))))
        entries, statuses = [], []
        for number, claim in enumerate(used):
            entry = {"name": f"e{number}", "resourceClaimName": claim["metadata"]["name"]}
            if claim["metadata"].get("ownerReferences"):
                entry = {"name": entry["name"], "resourceClaimTemplateName": "template"}
                made = {"resourceClaimName": claim["metadata"]["name"]} if self._chance(0.95) else {}
                statuses += [{"name": entry["name"], **made}] if self._chance(0.95) else []
            elif self._chance(0.03):
                entry["resourceClaimName"] = "none"
            entries.append(entry)
        pod["spec"]["resourceClaims"] = entries
        pod["status"]["resourceClaimStatuses"] = statuses
