"""A small client of the Kubernetes API: manifests are plain dictionaries, in and out."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import urlencode

from schedproof.foundation.errors import HostError, SchedproofError

if TYPE_CHECKING:
    from kubernetes.client.rest import RESTResponse


Manifest = dict[str, Any]
_Object = TypeVar("_Object")
_Result = TypeVar("_Result")

_GROUPS = {
    "pods": "api/v1", "nodes": "api/v1", "namespaces": "api/v1", "serviceaccounts": "api/v1",
    "events": "api/v1", "configmaps": "api/v1", "secrets": "api/v1", "services": "api/v1",
    "persistentvolumes": "api/v1", "persistentvolumeclaims": "api/v1", "storageclasses": "apis/storage.k8s.io/v1",
    "csinodes": "apis/storage.k8s.io/v1", "csidrivers": "apis/storage.k8s.io/v1",
    "csistoragecapacities": "apis/storage.k8s.io/v1",
    "daemonsets": "apis/apps/v1", "deployments": "apis/apps/v1", "statefulsets": "apis/apps/v1",
    "jobs": "apis/batch/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "roles": "apis/rbac.authorization.k8s.io/v1", "rolebindings": "apis/rbac.authorization.k8s.io/v1",
    "clusterroles": "apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "apis/rbac.authorization.k8s.io/v1",
    "poddisruptionbudgets": "apis/policy/v1",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
    "runtimeclasses": "apis/node.k8s.io/v1",
    "deviceclasses": "apis/resource.k8s.io/v1", "resourceslices": "apis/resource.k8s.io/v1",
    "resourceclaims": "apis/resource.k8s.io/v1", "resourceclaimtemplates": "apis/resource.k8s.io/v1",
    "devicetaintrules": "apis/resource.k8s.io/v1",
    "flowschemas": "apis/flowcontrol.apiserver.k8s.io/v1",
    "validatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
    "mutatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
}  # fmt: skip
_CALL_SECONDS = 30.0
_SIDE_BY_SIDE = 8

# Shutting down a watch interrupts a chunk, which urllib3 would log.
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


def side_by_side(request: Callable[[_Object], _Result], objects: Iterable[_Object]) -> list[_Result]:
    """Call `request` for each object, a few in parallel, and return the results in their order.

    Raises the first exception in that order, once all calls have ended.
    """
    with concurrent.futures.ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(request, objects))


class ApiError(SchedproofError):
    """An error response of the apiserver. `status` is the HTTP status code, `reason` the Status object's reason."""

    def __init__(self, verb: str, path: str, status: int, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        self.status = status
        self.reason = str(answer.get("reason", ""))
        super().__init__(f"{verb} {path}: {status} {answer.get('message') or body[:300].decode(errors='replace')}")


class UnreachableError(HostError):
    """No response from the apiserver."""


class NotFound(ApiError):  # noqa: N818 - named as the API's own reason
    """404 NotFound."""


class Conflict(ApiError):  # noqa: N818
    """409 Conflict or AlreadyExists."""


class Api:
    """A connection to an apiserver with one identity. Thread-safe.

    Args:
        url: for example `https://127.0.0.1:6443`.
        ca: the file of the server's certificate authority; None: the default authorities.
        token: a bearer token, or a function that returns the current Authorization header.
        certificate: a client certificate, instead of a token; with its `key`, as files.
        line: other fields of a kubeconfig's cluster: `insecure-skip-tls-verify`, `tls-server-name`, `proxy-url`.
        marks: labels that it adds to all objects that it creates or applies.
    """

    def __init__(
        self,
        url: str,
        ca: Path | None,
        *,
        token: str | Callable[[], str] = "",
        certificate: Path | None = None,
        key: Path | None = None,
        line: Mapping[str, Any] | None = None,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        from kubernetes.client import ApiClient, Configuration

        line = line or {}
        configuration = Configuration(
            host=url, ssl_ca_cert=None if ca is None else str(ca), retries=False, connection_pool_maxsize=32
        )
        if certificate is not None:
            configuration.cert_file, configuration.key_file = str(certificate), str(key)
        configuration.proxy = line.get("proxy-url")  # not the environment's, which would also apply to loopback
        configuration.verify_ssl = not line.get("insecure-skip-tls-verify", False)
        configuration.tls_server_name = line.get("tls-server-name")
        self.url = url
        self._client = ApiClient(configuration)
        self._headers = {"Accept": "application/json", "User-Agent": "schedproof"}
        self._authorization = token if callable(token) else lambda: f"Bearer {token}" if token else ""
        self._marks = dict(marks or {})

    def path(self, resource: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
        parts = [
            _GROUPS[resource],
            *(("namespaces", namespace) if namespace else ()),
            resource,
            name,
            subresource,
        ]
        return "/" + "/".join(part for part in parts if part)

    def create(self, resource: str, body: Manifest, namespace: str = "") -> Manifest:
        return self._json("POST", self.path(resource, namespace), self._marked(body))

    def _marked(self, body: Manifest) -> Manifest:
        if not self._marks:
            return body
        metadata = body["metadata"]
        labels = {**(metadata.get("labels") or {}), **self._marks}
        return {**body, "metadata": {**metadata, "labels": labels}}

    def try_create(self, resource: str, body: Manifest, namespace: str = "") -> None:
        """Check in a dry run whether an object can be created."""
        self._json("POST", self.path(resource, namespace), body, query={"dryRun": "All"})

    def create_or_keep(self, resource: str, body: Manifest, namespace: str = "") -> None:
        """Create an object, unless one of that name exists."""
        with contextlib.suppress(Conflict):
            self.create(resource, body, namespace)

    def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        """Bind a pod through the binding subresource, as a scheduler does; with `uid`, only the pod of that UID."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, **({"uid": uid} if uid else {})},
            "target": {"kind": "Node", "name": node},
        }
        self._json("POST", self.path("pods", namespace, pod, "binding"), body)

    def get(self, resource: str, name: str, namespace: str = "") -> Manifest:
        return self._json("GET", self.path(resource, namespace, name))

    def list(self, resource: str, namespace: str = "", **query: str) -> Manifest:
        """Return the whole list object; its items lack apiVersion and kind, as in the response."""
        return self._json("GET", self.path(resource, namespace), query=query)

    def merge(self, resource: str, name: str, patch: Manifest, namespace: str = "", subresource: str = "") -> Manifest:
        """Apply a JSON merge patch (RFC 7386): null removes a key, lists are replaced."""
        path = self.path(resource, namespace, name, subresource)
        return self._json("PATCH", path, patch, content_type="application/merge-patch+json")

    def delete(self, resource: str, name: str, namespace: str = "", *, uid: str = "", grace: int = 0) -> None:
        """Delete an object with a grace period of `grace` seconds; with `uid`, only the object of that UID."""
        options: Manifest = {"gracePeriodSeconds": grace}
        if uid:
            options["preconditions"] = {"uid": uid}
        self._json("DELETE", self.path(resource, namespace, name), options)

    def delete_if_there(self, resource: str, name: str, namespace: str = "") -> None:
        with contextlib.suppress(NotFound):
            self.delete(resource, name, namespace)

    def discovered(self, version: str) -> Sequence[Manifest]:
        """Return discovery's entries for an apiVersion: each resource's `name`, `kind`, `namespaced` and more."""
        return tuple(self._json("GET", _root(version))["resources"])

    def object_path(self, version: str, resource: str, namespace: str, name: str) -> str:
        """Return the path of an object of any kind, for `read`, `apply` and `remove`."""
        return "/".join((_root(version), *(("namespaces", namespace) if namespace else ()), resource, name))

    def read(self, path: str) -> Manifest:
        return self._json("GET", path)

    def apply(self, path: str, manifest: Manifest) -> Manifest:
        """Server-side apply: create the object or set these fields, taking them over from other field managers."""
        query = {"fieldManager": "schedproof", "force": "true"}
        body = json.dumps(self._marked(manifest))  # JSON is YAML; the client does not encode this content type
        return self._json("PATCH", path, body, query=query, content_type="application/apply-patch+yaml")

    def remove(self, path: str) -> None:
        self._json("DELETE", path, {"propagationPolicy": "Background"})

    def token(
        self, namespace: str, service_account: str, seconds: int = 86_400, *, bound_to: Manifest | None = None
    ) -> str:
        """Create a token for a ServiceAccount, through the TokenRequest API.

        `bound_to` is a Secret of the namespace, whose deletion invalidates the token.
        """
        spec: Manifest = {"expirationSeconds": seconds, "audiences": []}
        if bound_to is not None:
            named = {field: bound_to["metadata"][field] for field in ("name", "uid")}
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Secret", **named}
        path = self.path("serviceaccounts", namespace, service_account, "token")
        return str(self._json("POST", path, {"spec": spec})["status"]["token"])

    def accepts(self, token: str) -> bool:
        """Whether the apiserver authenticates a token, by the same cache as for requests."""
        review = self._json("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
        return bool(review["status"].get("authenticated"))

    def may(self, verb: str, resource: str, name: str = "") -> bool:
        """Whether this client may do this with a cluster-scoped resource of the RBAC API, or an object of it."""
        attributes = {"verb": verb, "group": "rbac.authorization.k8s.io", "resource": resource, "name": name}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return bool(self._json("POST", path, {"spec": {"resourceAttributes": attributes}})["status"]["allowed"])

    def user(self) -> str:
        """Return the name by which the apiserver knows this client."""
        review = self._json("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        return str(review["status"]["userInfo"]["username"])

    def version(self) -> str:
        """Return the apiserver's version, for example `v1.36.3`."""
        return str(self._json("GET", "/version")["gitVersion"])

    def audit_errors(self) -> int | None:
        """Return how many audit events the apiserver could not write since its start, by its own metric.

        None if this client may not read the metrics.
        """
        try:
            text = self._call("GET", "/metrics").response.data.decode()
        except ApiError:
            return None
        counts = (line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(_AUDIT_ERRORS))
        return round(sum(map(float, counts)))

    def watch(self, resource: str, resource_version: str, namespace: str = "", **query: str) -> Watch:
        """Watch a resource from a list's resourceVersion."""
        query |= {"watch": "1", "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        return Watch(self._call("GET", self.path(resource, namespace), query=query, seconds=86_400))

    def log(self, namespace: str, pod: str, silent: float = 86_400, /, **query: str) -> Stream:
        """Stream the log of a pod's container; with `follow="true"`, until the container ends.

        `silent`: the seconds without output after which the stream breaks, as it does if the connection is lost.
        """
        return Stream(self._call("GET", self.path("pods", namespace, pod, "log"), query=query, seconds=silent))

    def forward(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, str, bytes]:
        """Send a request as it is, and return the response's status, content type and body.

        Raises:
            UnreachableError: there is no response.
        """
        from urllib3.exceptions import HTTPError

        headers = {"Authorization": authorization} if (authorization := self._authorization()) else {}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            answer = self._client.rest_client.pool_manager.request(
                method, f"{self.url}{path}", body=body or None, headers=headers, timeout=_CALL_SECONDS, retries=False
            )
        except HTTPError as error:
            raise UnreachableError(f"no answer from the apiserver at {self.url} ({method} {path}): {error}") from error
        return answer.status, answer.headers.get("Content-Type", ""), answer.data

    def attach(self, namespace: str, pod: str) -> Attached:
        """Connect to the standard input and output of a pod's container."""
        return self._connected(self.path("pods", namespace, pod, "attach"), [("stdin", "true"), ("stdout", "true")])

    def execute(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> Attached:
        """Start a command in a pod's container, and connect to its output and its errors."""
        query = [("container", container), ("stdout", "true"), ("stderr", "true")]
        query += [("command", argument) for argument in command]
        return self._connected(self.path("pods", namespace, pod, "exec"), query)

    def _connected(self, path: str, query: Sequence[tuple[str, str]]) -> Attached:
        from kubernetes.stream.ws_client import create_websocket
        from websocket import WebSocketBadStatusException, WebSocketException

        headers = {"authorization": self._authorization(), "sec-websocket-protocol": _CHANNELS}
        url = f"ws{self.url.removeprefix('http')}{path}?{urlencode(query)}"
        try:
            return Attached(create_websocket(self._client.configuration, url, headers))  # type: ignore[no-untyped-call]
        except WebSocketBadStatusException as error:
            raise ApiError("GET", path, error.status_code, error.resp_body or b"") from error
        except (WebSocketException, OSError) as error:
            raise UnreachableError(
                f"no connection to a pod through the apiserver at {self.url} (GET {path}): {error}",
                remedy="check that `kubectl attach` and `kubectl exec` work: a proxy in between must permit WebSockets",
            ) from error

    def _json(self, verb: str, path: str, body: Any = None, **options: Any) -> Manifest:
        answer = json.loads(self._call(verb, path, body, **options).response.data)
        assert isinstance(answer, dict)
        return answer

    def _call(
        self,
        verb: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
        seconds: float = _CALL_SECONDS,
    ) -> RESTResponse:
        from urllib3.exceptions import HTTPError

        headers = {**self._headers, "Content-Type": content_type} if body is not None else dict(self._headers)
        if authorization := self._authorization():
            headers["Authorization"] = authorization
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._client.call_api(verb, url, header_params=headers, body=body, _request_timeout=(10, seconds))
        except HTTPError as error:
            raise UnreachableError(
                f"no answer from the apiserver at {self.url} ({verb} {path}): {error}",
                remedy="check that it runs, and that this machine can reach it",
            ) from error
        if answer.status >= 400:
            kind = {404: NotFound, 409: Conflict}.get(answer.status, ApiError)
            raise kind(verb, path, answer.status, answer.response.data)
        return answer


_CHANNELS = "v4.channel.k8s.io"
_INPUT, _OUTPUT, _ERRORS, _STATUS = b"\x00", b"\x01", b"\x02", b"\x03"
"""The first byte of a frame of an attached container (apimachinery: pkg/util/remotecommand)."""

_AUDIT_ERRORS = "apiserver_audit_error_total{"
"""The beginning of a metric's lines; the audit backend is their label (apiserver: pkg/audit/metrics.go)."""


def _root(version: str) -> str:
    """Return the path of an apiVersion's resources, for example of `v1` or `apps/v1`."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


class Stream:
    """A streamed response, until it ends or `close` is called from another thread."""

    def __init__(self, answer: RESTResponse) -> None:
        self._response = answer.response
        self.closed = False

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self._response.stream(65_536, decode_content=True)
        except Exception:
            # urllib3 raises various exceptions if the connection breaks; after `close` they are expected.
            if not self.closed:
                raise

    def close(self) -> None:
        self.closed = True
        with contextlib.suppress(Exception):  # urllib3 raises if the response has ended
            self._response.shutdown()


class Attached:
    """A connection to the standard input and output of a container or of a command in it; the kubelet closes the input
    with it.

    With `stdinOnce`, that is the end of the container's input.
    """

    def __init__(self, socket: Any) -> None:
        from websocket import WebSocketException

        self._socket = socket
        self._ended = (WebSocketException, OSError)
        """What a connection raises that has ended, or that nothing comes from."""
        socket.settimeout(_CALL_SECONDS)
        self._pending = b""

    def send(self, data: bytes) -> None:
        """Write to its input; nothing happens if the container has ended."""
        with contextlib.suppress(*self._ended):  # `readline` shows the end
            self._socket.send_binary(_INPUT + data)

    def readline(self) -> bytes:
        """Return a line of its output, with its end; empty if there is none any more, or none within 30 s."""
        while b"\n" not in self._pending:
            try:
                frame = self._socket.recv()
            except self._ended:
                return b""
            data = frame if isinstance(frame, bytes) else frame.encode()
            if not data or data[:1] == _STATUS:
                return b""
            if data[:1] == _OUTPUT:
                self._pending += data[1:]
        line, _, self._pending = self._pending.partition(b"\n")
        return line + b"\n"

    def copy(self, file: BinaryIO) -> None:
        """Write its output to a file until it ends.

        Raises:
            UnreachableError: the connection is lost before, or nothing comes for 30 s.
            HostError: it fails; quotes its errors.
        """
        errors = b""
        while True:
            try:
                frame = self._socket.recv()
            except self._ended as error:
                raise UnreachableError(f"the connection to a container is lost: {error}") from error
            data = frame if isinstance(frame, bytes) else frame.encode()
            if not data:
                raise UnreachableError("the connection to a container is closed")
            if data[:1] == _OUTPUT:
                file.write(data[1:])
            elif data[:1] == _ERRORS:
                errors += data[1:]
            elif data[:1] == _STATUS:
                status = json.loads(data[1:])
                if status.get("status") != "Success":
                    raise HostError(f"{status.get('message')}: {errors.decode(errors='replace').strip()}")
                return

    def close(self) -> None:
        with contextlib.suppress(*self._ended):
            self._socket.close(timeout=1)


class Watch(Stream):
    """The events of one watch."""

    def __iter__(self) -> Iterator[Manifest]:
        pending = b""
        for chunk in self.chunks():
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)
