"""A world: nodes, and what happens on them and to the candidate, step by step. Plain JSON, as it is saved and recorded.

A node has `name`, and where it is not as usual (`USUAL`) `labels`, `taints`, `unschedulable`, `allocatable`. A step is
one of

- `{"comes": POD}`: a pod for the candidate; `together`, if it comes before the pod of the step before is decided on;
  `refused`: the code with which its first Binding is answered (`LOST`: after it took effect); `gated`, if it has a
  scheduling gate;
- `{"ungated": NAME}`: a pod's scheduling gate is removed;
- `{"tolerant": NAME, "toleration": TOLERATION}`: a pod that waits gets one more toleration;
- `{"resized": NAME, "requests": REQUESTS}`: the first container of a pod on a node requests these amounts from now on,
  and its kubelet has applied them; if they are larger, only where the node has room;
- `{"recreated": NAME}`: a pod of the candidate is deleted, and created again under its name, as by a StatefulSet;
- `{"there": POD, "node": NAME}`: a pod that another scheduler has bound there;
- `{"deleted": NAME}`: a pod is deleted;
- `{"ended": NAME, "phase": PHASE}`: a pod that is on a node has succeeded or failed;
- `{"labelled": NAME, "labels": LABELS}`: a pod has these labels from now on, and no others;
- `{"changed": NODE}`: a node is from now on as described here;
- `{"gone": NAME}`: the Node object is deleted; the pods on it stay;
- `{"back": NAME}`: the node registers again, as it was, with the pods that are still on it;
- `{"stopped": true}`: the candidate is stopped, and started when the next pod comes, or after the last step;
- `{"cut_off": true}`: likewise, the candidate's connections to the apiserver end, and new ones are refused.

A pod has `name`, `labels` and a `spec`, whose containers need no name and no image. What a pod that is there may be
besides, beside its `node`: in a namespace `elsewhere` (`BESIDE` or `SYSTEM`), there with the name of another pod (its
`namesake`); `late`, if it was without a node at first; `unstarted`, if its kubelet never starts it; `lingers`, if it is
still there, and terminating, after it was deleted.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.worlds.kinds import KINDS, kind_of

Manifest = dict[str, Any]

PREFIX = "schedproof.dev/"
POOL = {f"{PREFIX}pool": "worlds"}
"""The label of the nodes of a world, to which its pods keep: by their selector, or by each term of their affinity."""
BESIDE, SYSTEM = "beside", "kube-system"
"""Namespaces other than that of the candidate's pods. The first has another name in each run."""
NODES = tuple(f"node-world-{number}" for number in range(4))
DEVICE = f"{PREFIX}device"
"""An extended resource, which a node offers if its world says so."""
USUAL: Mapping[str, str | None] = {
    "cpu": "4", "memory": "4Gi", "ephemeral-storage": "10Gi", "pods": "110", DEVICE: None,
}  # fmt: skip
"""What a node offers unless its `allocatable` says otherwise."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GATE = f"{PREFIX}world"
"""The name of a gated pod's scheduling gate."""
REFUSALS = (429, 500, 503)
"""Codes with which the apiserver may answer a Binding that another attempt can post.

Not 409: a conflict comes with a change of the pod, and some schedulers wait for that.
"""
LOST = 504
"""The code with which a Binding is answered that has taken effect."""
_CONTAINERS = ("containers", "initContainers")
_MEAN_ALL = ("labelSelector", "namespaceSelector")
"""Fields that have another meaning if they are empty than if they are absent."""


@dataclasses.dataclass(frozen=True)
class World:
    """See the module. Its JSON must not be changed."""

    nodes: Sequence[Manifest]
    steps: Sequence[Manifest]

    def as_json(self) -> dict[str, Any]:
        return {"nodes": list(self.nodes), "steps": list(self.steps)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        return cls(list(data["nodes"]), list(data["steps"]))

    @property
    def key(self) -> str:
        """A key that is equal for equal worlds."""
        return json.dumps(self.as_json(), sort_keys=True)

    @property
    def pods(self) -> list[Manifest]:
        """New pods and existing pods, in order."""
        return [pod for step in self.steps for kind in ("comes", "there") if (pod := step.get(kind))]

    def up_to(self, step: int) -> World:
        """The world without the steps after a step."""
        return World(self.nodes, self.steps[: step + 1])


def required(pod: Manifest, kind: str) -> list[Manifest]:
    """The required terms of a pod: `kind` is podAffinity or podAntiAffinity."""
    terms: list[Manifest] = pod.get("spec", {}).get("affinity", {}).get(kind, {}).get(REQUIRED, [])
    return terms


def pod_spec(pod: Manifest, image: str) -> Manifest:
    """A pod's spec, with names and images of its containers."""
    spec = copy.deepcopy(pod.get("spec") or {})
    for field, prefix in (("containers", "c"), ("initContainers", "i")):
        for number, container in enumerate(spec.get(field) or ()):
            container |= {"name": f"{prefix}-{number}", "image": image}
    return spec


def gates(step: Manifest) -> Manifest:
    """The field of a pod's spec that holds its scheduling gate; nothing if the step brings a pod without one."""
    return {"schedulingGates": [{"name": GATE}]} if step.get("gated") else {}


def tidy(world: World) -> World:
    """The world without empty fields, and without steps about nodes and pods that do not exist."""
    nodes = [_without_empty(node) for node in world.nodes]
    names = {node["name"] for node in nodes}
    steps: list[Manifest] = []
    pods: set[str | None] = set()
    for step in map(_without_empty, world.steps):
        kind = kind_of(step)
        node = step[kind.name] if kind.about == "node" else step.get("node", step.get("changed", {}).get("name"))
        if (node and node not in names) or (kind.about == "pod" and step[kind.name] not in pods):
            continue
        pods |= {step[kind]["name"] for kind in ("comes", "there") if kind in step}
        pods -= {step.get("deleted")}
        alone = not steps or "comes" not in steps[-1]
        steps.append({key: part for key, part in step.items() if key != "together" or not alone})
    return World(nodes, steps)


def _without_empty(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(part, key) for key, part in value.items()}
        return {
            key: part for key, part in kept.items() if (part not in ({}, []) or key in _MEAN_ALL) and part is not False
        }
    if isinstance(value, list):
        # A container that asks for nothing is one all the same.
        return [item for item in map(_without_empty, value) if item != {} or field in ("containers", "initContainers")]
    return value


def acceptable(world: World) -> bool:
    """Whether the apiserver accepts it, something is tried in it, and its pods stay on its nodes."""
    nodes = [*world.nodes, *(step["changed"] for step in world.steps if "changed" in step)]
    return (
        bool(world.nodes)
        and all(KINDS.keys() & step.keys() for step in world.steps)
        and any("comes" in step for step in world.steps)
        and all(_are_taints(node.get("taints", ())) for node in nodes)
        and all(_takes(pod.get("spec", {})) for pod in world.pods)
        and all(_is_toleration(step.get("toleration", {})) for step in world.steps if "tolerant" in step)
        and all(_keeps_to_pool(step["comes"].get("spec", {})) for step in world.steps if "comes" in step)
        and _are_names(world.steps)
        and _are_resizes(world)
    )


def resizable(pod: Manifest) -> Mapping[str, str]:
    """What the first container of a pod requests and can request more or less of: CPU and memory without limits.

    A resize must not change the pod's quality of service, nor exceed a limit.
    """
    spec = pod.get("spec", {})
    resources = [one.get("resources", {}) for kind in _CONTAINERS for one in spec.get(kind, ())]
    if not spec.get("containers") or any(one.get("limits") for one in resources):
        return {}
    requests = spec["containers"][0].get("resources", {}).get("requests", {})
    return {name: amount for name, amount in requests.items() if name in ("cpu", "memory") and amount != "0"}


def _are_resizes(world: World) -> bool:
    pods = {pod["name"]: pod for pod in world.pods}
    resized = [(step.get("requests", {}), pods[step["resized"]]) for step in world.steps if "resized" in step]
    return all(requests and requests.keys() <= resizable(pod).keys() for requests, pod in resized)


def _are_names(steps: Sequence[Manifest]) -> bool:
    """Whether each namesake is in another namespace, once in each."""
    namesakes = [(step.get("elsewhere"), step["namesake"]) for step in steps if "namesake" in step]
    places = {step["elsewhere"] for step in steps if "elsewhere" in step}
    return (
        len(set(namesakes)) == len(namesakes)
        and all(elsewhere for elsewhere, _ in namesakes)
        and places <= {BESIDE, SYSTEM}
    )


def _are_taints(taints: Sequence[Manifest]) -> bool:
    """Whether each key stands once for each effect, as the apiserver requires."""
    whole = all({"key", "effect"} <= taint.keys() for taint in taints)
    return whole and len({(taint["key"], taint["effect"]) for taint in taints}) == len(taints)


def _keeps_to_pool(spec: Manifest) -> bool:
    if (spec.get("nodeSelector") or {}).items() >= POOL.items():
        return True
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in POOL.items()]
    terms = _node_terms(spec)
    return bool(terms) and all(
        requirement in term.get("matchExpressions", ()) for term in terms for requirement in wanted
    )


def _node_terms(spec: Manifest) -> list[Manifest]:
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    return list(required.get("nodeSelectorTerms", ()))


def _takes(spec: Manifest) -> bool:
    affinity = spec.get("affinity", {})
    expressions = [
        expression
        for term in _node_terms(spec)
        for kind in ("matchExpressions", "matchFields")
        for expression in term.get(kind, ())
    ]
    about_pods = [
        term for kind in ("podAffinity", "podAntiAffinity") for term in affinity.get(kind, {}).get(REQUIRED, ())
    ]
    selectors = [
        expression for term in about_pods for expression in term.get("labelSelector", {}).get("matchExpressions", ())
    ]
    constraints = spec.get("topologySpreadConstraints", ())
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    return (
        all(map(_is_expression, [*expressions, *selectors]))
        and all(map(_is_toleration, spec.get("tolerations", ())))
        and all({"labelSelector", "topologyKey"} <= term.keys() for term in about_pods)
        and all({"topologyKey", "maxSkew", "whenUnsatisfiable"} <= constraint.keys() for constraint in constraints)
        # The oracle does not say what one with an empty selector means, see `oracle.coverage`.
        and all(constraint.get("labelSelector") for constraint in constraints)
        and len({(constraint["topologyKey"], constraint["whenUnsatisfiable"]) for constraint in constraints})
        == len(constraints)
        and all(map(_is_container, containers))
        and (bool(spec.get("containers")) or not spec.get("initContainers"))
    )


def _is_expression(expression: Manifest) -> bool:
    takes_values = expression.get("operator") in ("In", "NotIn", "Gt", "Lt")
    return {"key", "operator"} <= expression.keys() and bool(expression.get("values")) == takes_values


def _is_toleration(toleration: Manifest) -> bool:
    exists = toleration.get("operator") == "Exists"
    return (
        ("key" in toleration or exists)
        and not (exists and toleration.get("value"))
        and ("tolerationSeconds" not in toleration or toleration.get("effect") == "NoExecute")
    )


def _is_container(container: Manifest) -> bool:
    resources = container.get("resources", {})
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    # What cannot be overcommitted needs its limit; and a host's port is the container's.
    whole = {name for name in requests if "/" in name}
    return whole <= limits.keys() and all(
        {"containerPort", "hostPort"} <= port.keys() for port in container.get("ports", ())
    )
