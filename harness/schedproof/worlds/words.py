"""Describes a world in a sentence, and writes it as files that kubectl accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from schedproof.foundation.counted import counted
from schedproof.worlds.world import BESIDE, CUT_OFF, POOL, PREFIX, REQUIRED, STOPPED, USUAL, Manifest, World, pod_spec

_IMAGE = "registry.k8s.io/pause:3.10"
_SHORT = {REQUIRED: "required", "matchExpressions": "expressions", "nodeSelectorTerms": "terms"}

_BESIDES = {
    "late": "bound after it was created", "unstarted": "never started", "lingers": "terminating once it is deleted",
}  # fmt: skip
_ABOUT_NAMES = {
    "deleted": "{} is deleted", "recreated": "{} is deleted, and created again under its name",
    "gone": "{} is deleted, without its pods", "back": "{} registers again",
    "away": "the scheduler is {} until the next pod comes",
}  # fmt: skip
"""Kinds of steps whose only value is a name."""


_EVENTS = {
    "gone": "a node was deleted", "back": "a node registered again", "recreated": "a pod was created again",
    "together": "pods came at the same time",
}  # fmt: skip
_ABSENCES = {STOPPED: "a restart", CUT_OFF: "connections to the apiserver ended"}


def events_in(world: World) -> list[str]:
    """What happens in a world beside pods that come one after the other, and changes of nodes and pods, in words."""
    kinds = {kind for step in world.steps for kind in step}
    away = {step["away"] for step in world.steps if "away" in step}
    events = [text for kind, text in _EVENTS.items() if kind in kinds]
    return events + [text for kind, text in _ABSENCES.items() if kind in away]


def in_words(world: World) -> str:
    """`1 node, 1 pod: NODE; POD comes`, each with its special properties."""
    counts = f"{counted(len(world.nodes), 'node')}, {counted(len(world.pods), 'pod')}"
    return f"{counts}: {'; '.join([*map(_node, world.nodes), *map(_step, world.steps)])}"


def _node(node: Manifest) -> str:
    return _described(node["name"], {key: value for key, value in node.items() if key != "name"})


def _step(step: Manifest) -> str:
    for kind, text in _ABOUT_NAMES.items():
        if kind in step:
            return text.format(step[kind])
    if "changed" in step:
        return f"{step['changed']['name']} is now {_flow({k: v for k, v in step['changed'].items() if k != 'name'})}"
    if "ended" in step:
        return f"{step['ended']} has {step['phase'].lower()}"
    if "labelled" in step:
        return f"{step['labelled']} now has labels {_flow(step.get('labels', {}))}"
    if "there" in step:
        return _described(
            f"{step['there']['name']} is on {', '.join([step['node'], *_besides(step)])}", _own(step["there"])
        )
    together = " at the same time" if step.get("together") else ""
    return _described(f"{step['comes']['name']} comes{together}", _own(step["comes"]))


def _besides(step: Manifest) -> Iterator[str]:
    """The special properties of a pod that exists before."""
    if elsewhere := step.get("elsewhere"):
        name = f" with the name of {step['namesake']}" if "namesake" in step else ""
        yield f"in namespace {elsewhere}{name}"
    yield from (text for field, text in _BESIDES.items() if step.get(field))


def _own(pod: Manifest) -> Manifest:
    spec = {**pod.get("spec", {})}
    selector = {key: value for key, value in spec.pop("nodeSelector", {}).items() if key not in POOL}
    return {
        **({"labels": pod["labels"]} if pod.get("labels") else {}),
        **({"nodeSelector": selector} if selector else {}),
        **spec,
    }


def _described(name: str, what: Manifest) -> str:
    return f"{name} with {_flow(what)}" if what else name


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_short(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return "absent" if value is None else _short(value) if value != "" else '""'


def _short(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return _SHORT.get(text, text.removeprefix(PREFIX))


_COMMANDS = {"deleted": "kubectl delete pod {}", "gone": "kubectl delete node {}"}
_IN_WORDS = frozenset({"ended", "labelled", "recreated", "back", "away"})
"""Kinds of steps that no manifest shows."""


def yaml_text(world: World, text: str, scheduler_name: str) -> str:
    """YAML for `kubectl apply -f`: nodes and pods in their order; the steps between are in comments."""
    lines = [f"# {line}" for line in (text, in_words(world))]
    lines.append("# What a node offers is its status: `kubectl apply --server-side --subresource=status` sets that.")
    for comment, manifest in _documents(world, scheduler_name):
        lines += ["---", *(f"# {comment}" for comment in [comment] if comment)]
        if manifest is not None:
            lines.append(yaml.safe_dump(manifest, sort_keys=False, width=120).rstrip())
    return "\n".join(lines) + "\n"


def manifests(world: World, scheduler_name: str) -> list[Manifest]:
    """The manifests of its nodes and pods, in order."""
    return [manifest for _, manifest in _documents(world, scheduler_name) if manifest is not None]


def _documents(world: World, scheduler_name: str) -> Iterator[tuple[str, Manifest | None]]:
    if f'"{BESIDE}"' in world.key:
        yield "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": BESIDE}}
    for node in world.nodes:
        yield "", node_manifest(node)
    for step in world.steps:
        if command := next((text.format(step[kind]) for kind, text in _COMMANDS.items() if kind in step), ""):
            yield f"then: {command}", None
        elif _IN_WORDS.intersection(step):
            yield f"then: {_step(step)}", None
        elif "changed" in step:
            yield "then this node changes; apply what follows only now", node_manifest(step["changed"])
        elif "there" in step:
            pod = _pod(step["there"], "another-scheduler", nodeName=step["node"])
            if elsewhere := step.get("elsewhere"):
                name = step.get("namesake", pod["metadata"]["name"])
                pod["metadata"] |= {"name": name, "namespace": elsewhere}
            yield ", ".join(_besides(step)), pod
        else:
            yield "", _pod(step["comes"], scheduler_name)


def node_manifest(node: Manifest) -> Manifest:
    """A Node as it is in its world."""
    spec = {key: node[key] for key in ("taints", "unschedulable") if key in node}
    offered = {**USUAL, **node.get("allocatable", {})}
    labels = {"kubernetes.io/hostname": node["name"], **POOL, **node.get("labels", {})}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": node["name"], "labels": {key: value for key, value in labels.items() if value is not None}
        },
        **({"spec": spec} if spec else {}),
        "status": {"allocatable": {name: amount for name, amount in offered.items() if amount is not None}},
    }  # fmt: skip


def _pod(pod: Manifest, scheduler_name: str, **fields: str) -> Manifest:
    spec = {"schedulerName": scheduler_name, **fields, **pod_spec(pod, _IMAGE)}
    spec.setdefault("containers", [{"name": "c-0", "image": _IMAGE}])
    metadata = {"name": pod["name"], **({"labels": pod["labels"]} if pod.get("labels") else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
