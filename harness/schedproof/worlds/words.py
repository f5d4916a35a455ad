"""Describes a world in a sentence, and writes it as files that kubectl accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from schedproof.foundation.counted import counted
from schedproof.worlds.kinds import HAPPENINGS, SPECIAL, happenings, kind_of
from schedproof.worlds.world import BESIDE, POOL, PREFIX, REQUIRED, USUAL, Manifest, World, gates, pod_spec

_IMAGE = "registry.k8s.io/pause:3.10"
_SHORT = {REQUIRED: "required", "matchExpressions": "expressions", "nodeSelectorTerms": "terms"}


def events_in(world: World) -> list[str]:
    """What happens in a world beside pods that come one after the other, and changes of nodes and pods, in words."""
    there = {happening.name for step in world.steps for happening in happenings(step)}
    return [one.event for one in HAPPENINGS.values() if one.event and one.name in there]


def in_words(world: World) -> str:
    """`1 node, 1 pod: NODE; POD comes`, each with its special properties."""
    counts = f"{counted(len(world.nodes), 'node')}, {counted(len(world.pods), 'pod')}"
    return f"{counts}: {'; '.join([*map(_node, world.nodes), *map(_step, world.steps)])}"


def _node(node: Manifest) -> str:
    return _described(node["name"], {key: value for key, value in node.items() if key != "name"})


def _step(step: Manifest) -> str:
    if words := kind_of(step).words:
        return _filled(words, step)
    if "changed" in step:
        return f"{step['changed']['name']} is now {_flow({k: v for k, v in step['changed'].items() if k != 'name'})}"
    if "there" in step:
        return _described(
            f"{step['there']['name']} is on {', '.join([step['node'], *_besides(step)])}", _own(step["there"])
        )
    return _described(", ".join([f"{step['comes']['name']} comes", *_besides(step)]), _own(step["comes"]))


def _filled(text: str, step: Manifest) -> str:
    return text.format_map({"labels": "{}"} | {field: _flow(value) for field, value in step.items()})


def _besides(step: Manifest) -> Iterator[str]:
    """What is special about a pod that comes, or that is there."""
    if elsewhere := step.get("elsewhere"):
        name = f" with the name of {step['namesake']}" if "namesake" in step else ""
        yield f"in namespace {elsewhere}{name}"
    yield from (_filled(special.words, step) for field, special in SPECIAL.items() if step.get(field))


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
        kind = kind_of(step)
        if kind.words:
            yield f"then: {_filled(kind.command or kind.words, step)}", None
        elif "changed" in step:
            yield "then this node changes; apply what follows only now", node_manifest(step["changed"])
        elif "there" in step:
            pod = _pod(step["there"], "another-scheduler", nodeName=step["node"])
            if elsewhere := step.get("elsewhere"):
                name = step.get("namesake", pod["metadata"]["name"])
                pod["metadata"] |= {"name": name, "namespace": elsewhere}
            yield ", ".join(_besides(step)), pod
        else:
            yield ", ".join(_besides(step)), _pod(step["comes"], scheduler_name, **gates(step))


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


def _pod(pod: Manifest, scheduler_name: str, **fields: Any) -> Manifest:
    spec = {"schedulerName": scheduler_name, **fields, **pod_spec(pod, _IMAGE)}
    spec.setdefault("containers", [{"name": "c-0", "image": _IMAGE}])
    metadata = {"name": pod["name"], **({"labels": pod["labels"]} if pod.get("labels") else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
