"""The audit log is read as it grows, up to a request of our own, in records that say who asked for what."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.clusters.api import NotFound
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.stimulus import audit
from schedproof.stimulus.audit import AuditTail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EPOCH = 1_795_185_137.0  # 2026-11-20T14:32:17Z
USER = "system:serviceaccount:schedproof-system:scheduler-least-traffic-extender"
BINDING = {
    "kind": "Binding",
    "apiVersion": "v1",
    "metadata": {"name": "probe-1", "namespace": "sp-tested", "uid": "c63f43b5"},
    "target": {"kind": "Node", "name": "node-3"},
}


def line(resource: str, name: str, *, verb: str = "create", code: int = 201, **more: Any) -> dict[str, Any]:
    """A line as kube-apiserver v1.36.3 writes it, less what nobody reads."""
    resource, _, subresource = resource.partition("/")
    reference = {"resource": resource, "namespace": "sp-tested", "name": name, "apiVersion": "v1"}
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": USER, "groups": ["system:authenticated"]},
        "objectRef": reference | ({"subresource": subresource} if subresource else {}),
        "responseStatus": {"metadata": {}, "code": code},
        "requestReceivedTimestamp": "2026-11-20T14:32:17.186821Z",
        "stageTimestamp": "2026-11-20T14:32:17.195995Z",
        **more,
    }


def bound(resource: str = "pods/binding", name: str = "probe-1", code: int = 201) -> dict[str, Any]:
    return line(resource, name, code=code, requestObject=BINDING)


class Apiserver:
    """Writes a line for each request, after those that were in its way."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.before: list[dict[str, Any]] = []
        self.after: list[dict[str, Any]] = []
        log.touch()

    def write(self, *events: dict[str, Any], end: str = "\n") -> None:
        with self.log.open("a") as file:
            file.write("".join(json.dumps(event) + end for event in events))

    def get(self, _resource: str, name: str, _namespace: str) -> dict[str, Any]:
        self.write(*self.before, line("pods", name, verb="get", code=404), *self.after)
        self.before, self.after = [], []
        raise NotFound("GET", f"pods/{name}", 404, b"")


@pytest.fixture
def apiserver(tmp_path: Path) -> Apiserver:
    return Apiserver(tmp_path / "audit.jsonl")


@pytest.fixture
def read(apiserver: Apiserver) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    markers = iter(range(100))

    def read_until(*names: str) -> list[dict[str, Any]]:
        api: Any = apiserver
        return list(tail.read_until(api, f"marker-{next(markers)}", {("sp-tested", name) for name in names}))

    with contextlib.closing(AuditTail(apiserver.log, EPOCH)) as tail:
        yield read_until


def names(records: list[dict[str, Any]]) -> list[str]:
    return [record["name"] for record in records]


def test_a_line_becomes_a_record_in_the_time_of_the_run(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [bound()]
    assert read() == [
        {
            "at": 0.195995,
            "user": USER,
            "verb": "create",
            "resource": "pods/binding",
            "namespace": "sp-tested",
            "name": "probe-1",
            "code": 201,
            "received": 0.186821,
            "completed": 0.195995,
            "body": BINDING,
        }
    ]


def test_each_line_is_read_once_and_our_own_marker_never(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [line("pods", "a"), line("pods", "b")]
    assert names(read()) == ["a", "b"]
    assert read() == []
    apiserver.before = [line("pods", "c")]
    assert names(read()) == ["c"]


def test_what_was_in_the_log_before_belongs_to_another_run(tmp_path: Path) -> None:
    apiserver: Any = Apiserver(tmp_path / "audit.jsonl")
    apiserver.write(line("pods", "old"))
    with contextlib.closing(AuditTail(apiserver.log, EPOCH)) as tail:
        apiserver.before = [line("pods", "new")]
        assert names(list(tail.read_until(apiserver, "marker", set()))) == ["new"]


@pytest.mark.parametrize("resource", ["leases", "namespaces", "serviceaccounts/token", "nodes/status", ""])
def test_what_says_nothing_of_scheduling_is_left_out(apiserver: Apiserver, read: Any, resource: str) -> None:
    apiserver.before = [line(resource, "a"), line("pods", "b")]
    assert names(read()) == ["b"]


def test_requests_without_an_object_a_name_or_a_body_are_read(apiserver: Apiserver, read: Any) -> None:
    listing = line("pods", "", verb="list", code=200)
    del listing["objectRef"]["name"], listing["objectRef"]["namespace"]
    health = line("pods", "x")
    del health["objectRef"]
    created = line("pods", "", responseObject={"metadata": {"name": "generated-x7"}})
    apiserver.before = [listing, health, created]
    assert [(r["name"], r["namespace"], r["body"]) for r in read()] == [
        ("", "", None),
        ("generated-x7", "sp-tested", None),
    ]


@pytest.mark.parametrize("resource", ["pods/binding", "bindings"])
def test_the_binding_of_a_pod_that_is_known_to_be_bound_is_waited_for(
    apiserver: Apiserver, read: Any, resource: str
) -> None:
    """It may be written after the marker, for it was answered at the same time; by either way of binding."""
    apiserver.after = [bound(resource)]
    assert names(read("probe-1")) == ["probe-1"]
    assert read("probe-1") == []  # it was read before


@pytest.mark.parametrize(
    "other", [bound(code=409), bound(name="probe-2"), line("pods/status", "probe-1", verb="patch")]
)
def test_a_log_that_lacks_a_binding_is_an_error_that_names_the_pod(
    apiserver: Apiserver, read: Any, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    monkeypatch.setattr(audit, "AUDIT_CAUGHT_UP", Deadline("at once", 0, "it will not come"))
    apiserver.before = [other]
    with pytest.raises(DeadlineExceededError, match=r"marker read; no Binding yet for \['probe-1'\]"):
        read("probe-1")


def test_a_line_is_read_once_it_is_whole(apiserver: Apiserver, read: Any) -> None:
    text = json.dumps(line("pods", "halved"))
    with apiserver.log.open("a") as file:
        file.write(text[:100])
    real = apiserver.get

    def get(*arguments: Any) -> Any:
        with apiserver.log.open("a") as file:
            file.write(text[100:] + "\n")
        return real(*arguments)

    apiserver.get = get  # type: ignore[method-assign]
    assert names(read()) == ["halved"]
