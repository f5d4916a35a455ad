"""The audit log is read as it grows, up to a marker request of the harness, as records of requests."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.clusters.api import NotFound
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError, HostError
from schedproof.history.observations import ApiRequest, AuditMark, RequestBegun
from schedproof.recording import audit
from schedproof.recording.audit import CALL_ANNOTATION, AuditTail

EPOCH = 1_795_185_137.0  # 2026-11-20T14:32:17Z
USER = "system:serviceaccount:schedproof-system:scheduler-least-traffic-extender"
BINDING = {
    "kind": "Binding",
    "apiVersion": "v1",
    "metadata": {"name": "probe-1", "namespace": "sp-tested", "uid": "c63f43b5"},
    "target": {"kind": "Node", "name": "node-3"},
}


def line(resource: str, name: str, *, verb: str = "create", code: int = 201, **more: Any) -> dict[str, Any]:
    """A line as kube-apiserver v1.36.3 writes it, without fields that are not read."""
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
    """Writes a line for each request, after the lines that the test puts before it."""

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

    def read_until(*names: str) -> list[dict[str, Any]]:
        """The requests, without the mark at the end."""
        api: Any = apiserver
        *records, mark = tail.read_until(api, {("sp-tested", name) for name in names})
        if isinstance(mark, ApiRequest):  # what was answered at the same time as the mark comes behind it
            records, mark = [*records[:-1], mark], records[-1]
        assert isinstance(mark, AuditMark)
        return records

    with contextlib.closing(AuditTail(apiserver.log, EPOCH, lambda: 7.0, {USER})) as tail:
        yield read_until


@pytest.fixture
def begun(apiserver: Apiserver) -> Iterator[Callable[[], tuple[list[ApiRequest], list[RequestBegun]]]]:
    def read() -> tuple[list[ApiRequest], list[RequestBegun]]:
        """The requests, and those of which only the begin is in the log."""
        api: Any = apiserver
        records = list(tail.read_until(api, set()))
        return [r for r in records if isinstance(r, ApiRequest)], [r for r in records if isinstance(r, RequestBegun)]

    with contextlib.closing(AuditTail(apiserver.log, EPOCH, lambda: 7.0, {USER})) as tail:
        yield read


def names(records: list[ApiRequest]) -> list[str]:
    return [record.name for record in records]


def test_a_line_becomes_a_record_with_the_time_since_the_start_of_the_run(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [bound()]
    (request,) = read()
    assert request.as_dict() == {
        "kind": "request",
        "at": 0.195995,
        "line": 1,
        "user": USER,
        "verb": "create",
        "group": "",
        "resource": "pods/binding",
        "namespace": "sp-tested",
        "name": "probe-1",
        "code": 201,
        "received": 0.186821,
        "completed": 0.195995,
        "body": BINDING,
    }


def test_each_line_is_read_once_and_the_harness_s_marker_never(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [line("pods", "a"), line("pods", "b")]
    assert names(read()) == ["a", "b"]
    assert read() == []
    apiserver.before = [line("pods", "c")]
    assert names(read()) == ["c"]


def test_lines_that_precede_the_run_are_not_read(tmp_path: Path) -> None:
    apiserver: Any = Apiserver(tmp_path / "audit.jsonl")
    apiserver.write(line("pods", "old"))
    with contextlib.closing(AuditTail(apiserver.log, EPOCH)) as tail:
        apiserver.before = [line("pods", "new")]
        request, mark = tail.read_until(apiserver, set())
        assert (request.name, mark.mark) == ("new", 1)


@pytest.mark.parametrize("verb", ["get", "create", "watch"])
@pytest.mark.parametrize("resource", ["leases", "secrets", "serviceaccounts/token", "nodes/status", "podgroups", ""])
def test_every_request_of_the_candidate_is_read(apiserver: Apiserver, read: Any, resource: str, verb: str) -> None:
    apiserver.before = [line(resource, "a", verb=verb)]
    assert names(read()) == ["a"]


def test_requests_of_other_users_are_read_if_they_change_pods_or_nodes(apiserver: Apiserver, read: Any) -> None:
    another = {"user": {"username": "another"}}
    kept = [line(resource, resource, **another) for resource in ("pods", "pods/binding", "bindings", "nodes/status")]
    left_out = [
        line("leases", "a", **another),
        line("events", "a", **another),
        line("pods", "a", verb="list", **another),
        line("", "a", **another),
    ]
    apiserver.before = [*left_out, *kept, *left_out]
    records = read()
    assert names(records) == ["pods", "pods/binding", "bindings", "nodes/status"]
    assert [record.line for record in records] == [5, 6, 7, 8]  # lines that are left out count


def test_a_watch_is_recorded_once_when_it_begins(apiserver: Apiserver, read: Any) -> None:
    begun = line("pods", "", verb="watch", code=200, stage="ResponseStarted", auditID="x")
    apiserver.before = [begun, line("pods", "b")]
    assert names(read()) == ["", "b"]
    apiserver.before = [{**begun, "stage": "ResponseComplete"}, line("pods", "c")]
    assert names(read()) == ["c"]


def patch(stage: str, name: str = "a", **more: Any) -> dict[str, Any]:
    return line("pods/status", name, verb="patch", code=200, stage=stage, auditID=f"id-{name}", **more)


def test_a_patch_whose_begin_and_end_are_in_the_log_is_a_request(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [patch("RequestReceived"), patch("ResponseComplete")]
    (record,) = read()
    assert isinstance(record, ApiRequest)
    assert (record.name, record.code, record.begun) == ("a", 200, "")


def test_a_patch_without_an_end_is_recorded_once_as_begun(apiserver: Apiserver, begun: Any) -> None:
    apiserver.before = [patch("RequestReceived"), patch("RequestReceived", "b"), patch("ResponseComplete", "b")]
    requests, opened = begun()
    assert (names(requests), [(r.id, r.name, r.verb, r.resource) for r in opened]) == (
        ["b"], [("id-a", "a", "patch", "pods/status")],
    )  # fmt: skip
    apiserver.before = [line("pods", "c")]
    requests, opened = begun()
    assert (names(requests), opened) == (["c"], [])


def test_the_end_of_a_patch_that_was_in_flight_names_its_begin(apiserver: Apiserver, begun: Any) -> None:
    apiserver.before = [patch("RequestReceived")]
    assert len(begun()[1]) == 1
    apiserver.before = [patch("ResponseComplete")]
    (request,), opened = begun()
    assert (request.begun, opened) == ("id-a", [])


def test_a_lost_patch_keeps_the_credential_that_it_was_the_first_to_use(apiserver: Apiserver, begun: Any) -> None:
    user = {"username": USER, "extra": {"authentication.kubernetes.io/credential-id": ["JTI=a"]}}
    apiserver.before = [patch("RequestReceived", user=user), line("pods", "c", user=user)]
    (request,), (opened,) = begun()
    assert (opened.credential, request.credential) == ("JTI=a", "")


@pytest.mark.parametrize(
    ("query", "selector"),
    [
        ("", ""),
        ("?labelSelector=app%3Dx&fieldSelector=spec.nodeName%3Dn", "labelSelector=app=x fieldSelector=spec.nodeName=n"),
    ],
)
def test_a_deletion_of_a_collection_has_its_selectors(
    apiserver: Apiserver, read: Any, query: str, selector: str
) -> None:
    uri = f"/api/v1/namespaces/sp-tested/pods{query}"
    apiserver.before = [line("pods", "", verb="deletecollection", requestURI=uri), line("pods", "", requestURI=uri)]
    assert [record.selector for record in read()] == [selector, ""]


def test_a_record_has_the_details_of_its_request(apiserver: Apiserver, read: Any) -> None:
    path = line("", "", verb="get", requestURI="/version?timeout=32s")
    del path["objectRef"]
    apiserver.before = [
        path,
        bound() | {"requestURI": "/api/v1/namespaces/sp-tested/pods/probe-1/binding?dryRun=All"},
        bound() | {"annotations": {CALL_ANNOTATION: "3", "authorization.k8s.io/decision": "allow"}},
        line("leases", "a", verb="get", impersonatedUser={"username": "another"}),
        line("pods", "", responseObject={"metadata": {"name": "x", "uid": "u"}}, requestURI="/api/v1/pods"),
    ]
    extra = {"path", "dry_run", "call", "impersonates", "uid"}
    assert [record.model_dump(include=extra, exclude_unset=True) for record in read()] == [
        {"path": "/version"}, {"dry_run": True}, {"call": "3"}, {"impersonates": "another"}, {"uid": "u"},
    ]  # fmt: skip


def test_a_credential_is_recorded_with_its_first_request(apiserver: Apiserver, read: Any) -> None:
    def by(token: str, name: str = USER) -> dict[str, Any]:
        user = {"username": name, "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={token}"]}}
        return line("pods", token, user=user)

    apiserver.before = [by("a"), by("a"), by("b"), by("c", "another"), by("a")]
    credentials = [record.model_dump(include={"credential"}, exclude_unset=True) for record in read()]
    assert credentials == [{"credential": "JTI=a"}, {}, {"credential": "JTI=b"}, {}, {}]


@pytest.mark.parametrize(("resource", "verb"), [("pods", "watch"), ("leases", "get"), ("pods/binding", "create")])
def test_an_unauthenticated_request_has_no_user(apiserver: Apiserver, read: Any, resource: str, verb: str) -> None:
    apiserver.before = [line(resource, "a", verb=verb, code=401, user={})]
    assert [(record.user, record.code) for record in read()] == [("", 401)]


def test_a_mark_has_the_times_of_both_clocks(apiserver: Apiserver) -> None:
    moments = iter([5.0, 5.5])
    api: Any = apiserver
    with contextlib.closing(AuditTail(apiserver.log, EPOCH, lambda: next(moments))) as tail:
        (mark,) = tail.read_until(api, set())
    assert mark == AuditMark(at=5.0, answered=5.5, mark=1, line=1, received=0.186821, completed=0.195995)


def test_marks_of_another_run_in_the_same_log_are_not_marks_of_this_run(apiserver: Apiserver, read: Any) -> None:
    apiserver.before = [line("pods", "schedproof-mark-0a1b2c3d-1", verb="get", code=404)]
    assert len(read()) == 1  # the candidate's own request, for all that is known


def test_requests_without_an_object_a_name_or_a_body_are_read(apiserver: Apiserver, read: Any) -> None:
    listing = line("pods", "", verb="list", code=200)
    del listing["objectRef"]["name"], listing["objectRef"]["namespace"]
    health = line("pods", "x")
    del health["objectRef"]
    created = line("pods", "", responseObject={"metadata": {"name": "generated-x7"}})
    apiserver.before = [listing, health, created]
    assert [(r.name, r.namespace, r.body) for r in read()] == [
        ("", "", None),
        ("", "", None),
        ("generated-x7", "sp-tested", None),
    ]


@pytest.mark.parametrize("resource", ["pods/binding", "bindings"])
def test_reading_waits_for_the_binding_of_a_pod_that_is_known_to_be_bound(
    apiserver: Apiserver, read: Any, resource: str
) -> None:
    """The line may follow the marker, as both are answered at the same time; either endpoint creates the Binding."""
    apiserver.after = [bound(resource)]
    assert names(read("probe-1")) == ["probe-1"]
    assert read("probe-1") == []  # it was read before


@pytest.mark.parametrize(
    "written",
    [
        bound(code=409),
        bound(name="probe-2"),
        line("pods/status", "probe-1", verb="patch"),
        bound() | {"requestURI": "/x?dryRun=All"},
    ],
)
def test_a_log_that_lacks_a_binding_is_an_error_that_names_the_pod(
    apiserver: Apiserver, read: Any, monkeypatch: pytest.MonkeyPatch, written: dict[str, Any]
) -> None:
    monkeypatch.setattr(audit, "AUDIT_CAUGHT_UP", Deadline("at once", 0, "it will not come"))
    apiserver.before = [written]
    with pytest.raises(DeadlineExceededError, match=r"marker read; no Binding yet for \['probe-1'\]"):
        read("probe-1")


def test_an_error_of_the_recording_ends_the_wait_for_the_log(apiserver: Apiserver) -> None:
    """If its disk is full, the marker is never written: the apiserver continues without its log."""

    class Recording:
        def exit_error(self) -> HostError:
            return HostError("the disk is full")

    api: Any = SimpleNamespace(get=lambda *_: None)
    with (
        contextlib.closing(AuditTail(apiserver.log, EPOCH)) as tail,
        pytest.raises(HostError, match="the disk is full"),
    ):
        list(tail.read_until(api, set(), watching=(Recording(),)))


def test_reading_continues_after_a_log_rotation(apiserver: Apiserver, read: Any) -> None:
    """kube-apiserver renames a log of 100 MB, and begins another; the lines that were not read before are read."""
    assert names(read()) == []
    apiserver.write(line("pods", "before"))
    apiserver.log.rename(apiserver.log.with_name("audit-2026-11-20T14-32-17.187.jsonl"))
    apiserver.before = [line("pods", "after")]
    assert names(read()) == ["before", "after"]


def test_reading_continues_after_a_truncation_in_place(apiserver: Apiserver, read: Any) -> None:
    """As logrotate does with copytruncate."""
    apiserver.before = [line("pods", "before"), line("pods", "before-too")]
    assert names(read()) == ["before", "before-too"]
    apiserver.log.write_text("")
    apiserver.before = [line("pods", "after")]
    assert names(read()) == ["after"]


def test_an_incomplete_line_is_read_once_it_is_complete(apiserver: Apiserver, read: Any) -> None:
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
