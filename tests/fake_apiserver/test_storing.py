"""The storing apiserver, through the harness's own client: what other tests rely on is what an apiserver does."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.api import Api, ApiError, Conflict, Manifest, NotFound
from schedproof.daemons.certificates import Authority

from .scripted import OVER
from .storing import Storing

POD = {"metadata": {"name": "a", "labels": {"app": "x"}}, "spec": {"containers": []}}


@pytest.fixture
def server() -> Iterator[Storing]:
    with contextlib.closing(Storing()) as server:
        server.store("namespaces", {"metadata": {"name": "ns"}})
        yield server


@pytest.fixture
def api(server: Storing) -> Api:
    return Api(server.url, None)


def test_a_created_object_is_read_and_listed(api: Api) -> None:
    made = api.create("pods", POD, "ns")
    assert made["metadata"].keys() > {"uid", "resourceVersion", "creationTimestamp"}
    assert made["metadata"]["namespace"] == "ns"
    assert made["status"] == {"phase": "Pending"}
    assert api.get("pods", "a", "ns") == made
    listing = api.list("pods")
    assert listing["items"] == [made]
    assert listing["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert api.list("pods", "other")["items"] == []


@pytest.mark.parametrize(
    ("query", "found"),
    [({"labelSelector": "app=x"}, 1), ({"labelSelector": "app=y"}, 0),
     ({"fieldSelector": "metadata.name=a"}, 1), ({"fieldSelector": "spec.nodeName=n"}, 0)],
)  # fmt: skip
def test_a_list_contains_the_objects_that_its_selectors_match(api: Api, query: dict[str, str], found: int) -> None:
    api.create("pods", POD, "ns")
    assert len(api.list("pods", **query)["items"]) == found


def test_missing_names_are_not_found_and_existing_names_conflict(api: Api) -> None:
    api.create("pods", POD, "ns")
    with pytest.raises(Conflict) as taken:
        api.create("pods", POD, "ns")
    assert taken.value.reason == "AlreadyExists"
    requests: list[Any] = [
        lambda: api.create("pods", POD, "nowhere"), lambda: api.get("pods", "b", "ns"),
        lambda: api.merge("pods", "b", {}, "ns"), lambda: api.delete("pods", "b", "ns"),
        lambda: api.bind("ns", "b", "n"),
    ]  # fmt: skip
    for request in requests:
        with pytest.raises(NotFound):
            request()


def test_a_generated_name_is_unique(api: Api) -> None:
    names = {api.create("events", {"metadata": {"generateName": "e-"}}, "ns")["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("e-") for name in names)


def test_a_dry_run_stores_nothing(api: Api, server: Storing) -> None:
    before = server.snapshot()
    api.try_create("pods", POD, "ns")
    assert server.snapshot() == before


def test_a_merge_patch_replaces_lists_and_removes_nulls(api: Api) -> None:
    made = api.create("nodes", {"metadata": {"name": "n", "labels": {"a": "1"}}, "spec": {"taints": [{"key": "t"}]}})
    changed = api.merge("nodes", "n", {"metadata": {"labels": {"a": None, "b": "2"}}, "spec": {"taints": []}})
    assert (changed["metadata"]["labels"], changed["spec"]) == ({"b": "2"}, {"taints": []})
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    again = api.merge("nodes", "n", {"metadata": {"labels": {"b": "2"}}})
    assert again == changed, "a patch that changes nothing is no new version"


def test_empty_annotations_are_left_out(api: Api) -> None:
    made = api.create("nodes", {"metadata": {"name": "n", "annotations": {}}})
    assert "annotations" not in made["metadata"]
    assert api.merge("nodes", "n", {"metadata": {"annotations": {}}}) == made


def test_a_status_is_changed_only_by_its_subresource(api: Api) -> None:
    api.create("pods", POD, "ns")
    patch = {"spec": {"x": 1}, "status": {"phase": "Running"}}
    assert api.merge("pods", "a", patch, "ns")["status"] == {"phase": "Pending"}
    changed = api.merge("pods", "a", {**patch, "spec": {"x": 2}}, "ns", "status")
    assert (changed["spec"]["x"], changed["status"]) == (1, {"phase": "Running"})


def test_a_patch_with_another_resource_version_or_uid_conflicts(api: Api) -> None:
    api.create("pods", POD, "ns")
    for key in ("resourceVersion", "uid"):
        with pytest.raises(Conflict):
            api.merge("pods", "a", {"metadata": {key: "7", "labels": {"app": "y"}}}, "ns")
    with pytest.raises(ApiError) as unknown:
        api._json("PATCH", api.path("pods", "ns", "a"), {}, content_type="application/json")
    assert unknown.value.status == 415


def test_apply_creates_and_then_updates(api: Api) -> None:
    path = api.object_path("v1", "configmaps", "ns", "c")
    manifest: dict[str, Any] = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    uid = api.apply(path, manifest)["metadata"]["uid"]
    changed = api.apply(path, {**manifest, "data": {"a": "2"}})
    assert (changed["metadata"]["uid"], changed["data"]) == (uid, {"a": "2"})
    api.remove(path)
    with pytest.raises(NotFound):
        api.read(path)


def test_a_pod_is_bound_once(api: Api) -> None:
    uid = api.create("pods", POD, "ns")["metadata"]["uid"]
    with pytest.raises(Conflict):
        api.bind("ns", "a", "n", uid="another")
    api.bind("ns", "a", "n", uid=uid)
    assert api.get("pods", "a", "ns")["spec"]["nodeName"] == "n"
    with pytest.raises(Conflict):
        api.bind("ns", "a", "m")


def test_deletion_respects_uids_finalizers_and_the_grace_period_of_running_pods(api: Api, server: Storing) -> None:
    api.create("pods", {**POD, "metadata": {"name": "a", "finalizers": ["f"]}}, "ns")
    with pytest.raises(Conflict):
        api.delete("pods", "a", "ns", uid="another")
    api.delete("pods", "a", "ns", grace=9)
    metadata = api.get("pods", "a", "ns")["metadata"]
    assert ("deletionTimestamp" in metadata, metadata["deletionGracePeriodSeconds"]) == (True, 0), "it does not run"
    api.merge("pods", "a", {"metadata": {"finalizers": None}}, "ns")
    assert server.names("pods") == []
    api.create("pods", POD, "ns")
    api.bind("ns", "a", "n")
    api.delete("pods", "a", "ns", grace=9)
    assert api.get("pods", "a", "ns")["metadata"]["deletionGracePeriodSeconds"] == 9
    api.delete("pods", "a", "ns")
    assert server.names("pods") == []


def test_a_watch_sends_the_events_after_its_resource_version(api: Api, server: Storing) -> None:
    begin = api.list("pods")["metadata"]["resourceVersion"]
    api.create("nodes", {"metadata": {"name": "n"}})
    api.create("pods", POD, "ns")
    events = iter(api.watch("pods", begin))
    assert (event := next(events))["type"] == "ADDED"
    assert event["object"] == api.get("pods", "a", "ns")
    api.bind("ns", "a", "n")
    assert (next(events)["type"], api.get("pods", "a", "ns")["spec"]["nodeName"]) == ("MODIFIED", "n")
    last = api.get("pods", "a", "ns")["metadata"]["resourceVersion"]
    api.delete("pods", "a", "ns")
    assert (event := next(events))["type"] == "DELETED"
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(last)
    server.end(OVER)
    assert list(events) == []


def test_a_watch_from_an_expired_resource_version_is_gone(api: Api, server: Storing) -> None:
    server.oldest = server.version + 1
    event = next(iter(api.watch("pods", str(server.version))))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_controller_reacts_to_each_write(api: Api, server: Storing) -> None:
    def run(what: str, pod: dict[str, Any]) -> None:
        if what != "DELETED" and pod["spec"].get("nodeName"):
            server.patch("pods", "a", {"status": {"phase": "Running"}}, "ns")

    server.controllers["pods"] = [run]
    api.create("pods", POD, "ns")
    assert api.get("pods", "a", "ns")["status"]["phase"] == "Pending"
    api.bind("ns", "a", "n")
    assert api.get("pods", "a", "ns")["status"]["phase"] == "Running"


def test_discovery_lists_the_served_kinds(api: Api, server: Storing) -> None:
    served = {"name": "queues", "kind": "Queue", "namespaced": True}
    server.kinds["batch.example.com/v1"] = [served]
    assert api.discovered("batch.example.com/v1") == (served,)
    for version in ("v1", "other.example.com/v1"):
        with pytest.raises(NotFound):
            api.discovered(version)


def test_a_configured_fault_answers_a_write_before_it_is_stored(api: Api, server: Storing) -> None:
    server.writes = [503]
    with pytest.raises(ApiError) as refused:
        api.create("pods", POD, "ns")
    assert refused.value.status == 503
    assert server.names("pods") == []


@contextlib.contextmanager
def webhook(folder: Path, answer: dict[str, Any]) -> Iterator[tuple[Manifest, list[Any]]]:
    """A webhook for Bindings in the namespace `ns`: its configuration, and the requests that it receives."""
    received: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"response": {"uid": received[-1]["uid"], **answer}}).encode())

        def log_message(self, *_: object) -> None:
            pass

    authority = Authority(folder / "authority")
    pair = authority.server("webhook")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        bundle = base64.b64encode(authority.certificate.read_bytes()).decode()
        yield {
            "metadata": {"name": "w"},
            "webhooks": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}},
                "rules": [{"operations": ["CREATE"], "resources": ["pods/binding", "bindings"]}],
                "clientConfig": {"url": f"https://127.0.0.1:{server.server_port}/", "caBundle": bundle},
            }],
        }, received  # fmt: skip
        server.shutdown()


def test_a_webhook_is_called_for_requests_that_match_its_rules_until_it_is_deleted(
    server: Storing, tmp_path: Path
) -> None:
    api = Api(server.url, None, token="scheduler")
    server.store("namespaces", {"metadata": {"name": "other"}})
    with webhook(tmp_path, {"allowed": True, "auditAnnotations": {"a": "1"}}) as (configuration, received):
        api.create("validatingwebhookconfigurations", configuration)
        for namespace in ("ns", "other"):
            api.create("pods", POD, namespace)
        binding = {"metadata": {"name": "a"}, "target": {"name": "n"}}
        api._json("POST", "/api/v1/namespaces/ns/bindings", binding, query={"dryRun": "All"})
        for namespace in ("ns", "other"):
            api.bind(namespace, "a", "n")
        calls = [(request["name"], request["namespace"], request["dryRun"]) for request in received]
        assert calls == [("", "ns", True), ("a", "ns", False)]
        assert received[1]["userInfo"] == {"username": "scheduler"}
        assert [request["object"]["target"]["name"] for request in received] == ["n", "n"]
        assert server.annotations == [{"a": "1"}] * 2
        api.delete("validatingwebhookconfigurations", "w")
        api.create("pods", {**POD, "metadata": {"name": "b"}}, "ns")
        api.bind("ns", "b", "n")
        assert len(received) == 2


def test_a_webhook_denies_a_binding_with_its_own_status_code(server: Storing, api: Api, tmp_path: Path) -> None:
    api.create("pods", POD, "ns")
    refusal = {"allowed": False, "status": {"code": 503, "reason": "ServiceUnavailable"}}
    with webhook(tmp_path, refusal) as (configuration, _):
        api.create("validatingwebhookconfigurations", configuration)
        with pytest.raises(ApiError) as refused:
            api.bind("ns", "a", "n")
    assert (refused.value.status, refused.value.reason) == (503, "ServiceUnavailable")
    assert "nodeName" not in server.read("pods", "a", "ns")["spec"]
    api.bind("ns", "a", "n")
    assert server.read("pods", "a", "ns")["spec"]["nodeName"] == "n", "a webhook that does not respond is ignored"


def test_a_token_is_accepted_until_its_secret_is_deleted(api: Api) -> None:
    secret = api.create("secrets", {"metadata": {"name": "s"}}, "ns")
    bound, free = api.token("ns", "account", bound_to=secret), api.token("ns", "account")
    assert bound != free
    assert [api.accepts(token) for token in (bound, free, "another")] == [True, True, False]
    api.delete("secrets", "s", "ns")
    assert [api.accepts(token) for token in (bound, free)] == [False, True]
    api.create("secrets", {"metadata": {"name": "s"}}, "ns")
    assert not api.accepts(bound)
