"""A changed node has a note (an annotation) that contains what restores it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.node_backup import NOTE, NotingApi, note, restoring
from schedproof.foundation.errors import UsageError

OWN = {"key": "example.com/for", "value": "others", "effect": "NoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
OURS = {"key": "schedproof.dev/reserved", "effect": "NoSchedule"}


def node(*, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    return {"metadata": {"name": "n", "labels": labels or {}, "annotations": annotations or {}}, "spec": spec}


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def changed(before: Manifest, *patches: Manifest) -> Manifest:
    """The node after these patches, each with its note."""
    now = copy.deepcopy(before)
    for patch in patches:
        noted = {"metadata": {"annotations": {NOTE: json.dumps(note(now, patch))}}}
        now = merged(merged(now, patch), noted)
    return now


@pytest.mark.parametrize(
    "before",
    [
        node(),
        node(labels={"zone": "a", "disk": "ssd"}, annotations={"kept": "yes"}, providerID="x"),
        node(taints=[OWN], unschedulable=True),
        node(labels={"zone": "a"}, taints=[OWN, OURS], podCIDR="198.51.100.0/24"),
    ],
)
def test_every_change_of_a_node_is_restored(before: Manifest) -> None:
    now = changed(
        before,
        {"metadata": {"labels": {"zone": "b", "schedproof.dev/generation": "1"}}},
        {"metadata": {"labels": {"schedproof.dev/generation": "2"}}, "spec": {"taints": [OURS]}},
        {"spec": {"unschedulable": True, "taints": None}},
        {"spec": {"unschedulable": False}},
    )
    assert now != before
    patch = restoring(now)
    assert patch is not None
    assert merged(now, patch) == before


def test_restoring_leaves_taints_of_the_node_controllers_to_them() -> None:
    """The taint of a cordoned node is removed by its controller; removing it here would be too early."""
    now = changed(
        node(taints=[OWN, CORDONED], unschedulable=True), {"spec": {"taints": [OURS], "unschedulable": False}}
    )
    now["spec"]["taints"] = [OURS]
    patch = restoring(now)
    assert patch is not None
    assert patch["spec"] == {"taints": [OWN], "unschedulable": True}
    now["spec"]["taints"] = [OURS, CORDONED]
    patch = restoring(now)
    assert patch is not None
    assert patch["spec"]["taints"] == [OWN, CORDONED]


def test_a_node_without_a_note_is_not_restored() -> None:
    assert restoring(node(labels={"schedproof.dev/generation": "1"}, taints=[OURS])) is None


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> tuple[NotingApi, list[tuple[str, Any]]]:
    """An apiserver with one node, and the requests that it received."""
    requests: list[tuple[str, Any]] = []

    def answer(_self: Api, verb: str, path: str, body: Any = None, **_options: Any) -> Manifest:
        requests.append((f"{verb} {path}", body))
        return node(labels={"zone": "a"})

    monkeypatch.setattr(Api, "_json", answer)
    return NotingApi("https://127.0.0.1:1", None, marks={"schedproof.dev/run": "r"}), requests


def test_without_permission_no_request_changes_a_node(api: tuple[NotingApi, list[tuple[str, Any]]]) -> None:
    noting, requests = api
    for change in (
        lambda: noting.merge("nodes", "n", {"metadata": {"labels": {"zone": "b"}}}),
        lambda: noting.create("nodes", node()),
        lambda: noting.delete("nodes", "n"),
        lambda: noting.delete_if_there("nodes", "n"),
        lambda: noting.create_or_keep("nodes", node()),
    ):
        with pytest.raises(UsageError, match="are not allowed") as refused:
            change()
        assert refused.value.remedy == "allow them with --allow-node-changes"
    assert requests == []
    noting.create("pods", {"metadata": {"name": "p"}}, "ns")
    assert requests == [
        ("POST /api/v1/namespaces/ns/pods", {"metadata": {"name": "p", "labels": {"schedproof.dev/run": "r"}}})
    ]


def test_with_permission_the_request_that_changes_a_node_contains_the_note(
    api: tuple[NotingApi, list[tuple[str, Any]]],
) -> None:
    noting, requests = api
    noting.nodes = True
    noting.merge("nodes", "n", {"metadata": {"labels": {"zone": "b"}}})
    request, body = requests[-1]
    assert request == "PATCH /api/v1/nodes/n"
    assert body["metadata"]["labels"] == {"zone": "b"}
    assert json.loads(body["metadata"]["annotations"][NOTE]) == {"labels": {"zone": "a"}}
