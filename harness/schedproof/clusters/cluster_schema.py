"""The JSON Schema of cluster definitions: clusters/embedded.yaml, clusters/kind.yaml, or the user's."""

from __future__ import annotations

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.clusters.spec import EFFECTS, MOST_NODES
from schedproof.documents.json_schema import Schema, choice, document, either, integer, listed, mapping, named, text

_SCALAR: Schema = {"title": "text or number", "type": ["string", "number", "boolean", "null"]}
"""A value that is read as text, with or without quotes."""


def cluster_schema() -> Schema:
    """Return the schema of both kinds; `device` and `nodes` are only for the embedded cluster."""
    node = _node()
    spec = mapping(
        {
            "kubernetes": _read_as_text("the minor version of Kubernetes", DEFAULT_KUBERNETES),
            "scrapeInterval": text(
                "how often Prometheus scrapes: 250ms, or on kind 500ms, if absent", title="duration"
            ),
            "device": _read_as_text("embedded: the traffic interface inside each node", "eth0"),
            "count": integer(1, MOST_NODES, "the number of nodes like `node`: 4, or on kind 3, if absent"),
            "node": {**node, "description": "the properties of nodes; on kind only `labels`"},
            "nodes": listed(node, "embedded: the nodes, each with its differences from `node`; excludes `count`"),
        }
    )
    return document(
        "Cluster", spec, description="The cluster in which candidates are tested.",
        name=_read_as_text("the definition's name"),
    )  # fmt: skip


def _read_as_text(description: str, default: str | None = None) -> Schema:
    return {**either(_SCALAR, description=description, default=default), "title": _SCALAR["title"]}


def _node() -> Schema:
    taint = mapping(
        {"key": _read_as_text("its key"), "value": _read_as_text("its value"), "effect": choice(EFFECTS, "its effect")},
        required=("key", "effect"),
    )
    return mapping(
        {
            "name": _read_as_text("`{n}` stands for the node's number", "node-{n}"),
            "capacity": named(_SCALAR, "quantities of resources, such as `cpu` and `memory`, in the API's notation"),
            "labels": named(_SCALAR, "labels of the node"),
            "taints": listed(taint, "taints of the node", default=[], empty=True),
            "device": _read_as_text("its traffic interface"),
        }
    )
