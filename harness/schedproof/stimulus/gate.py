"""Holds Bindings at the apiserver's door: an admission webhook on pods/binding, for whoever posts them."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from typing import TYPE_CHECKING, Any

from schedproof.clusters.api import ApiError
from schedproof.daemons.certificates import Authority
from schedproof.foundation.deadlines import BINDING_HELD, WEBHOOK_CALLED
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from schedproof.clusters.cluster import Cluster

__all__ = ["BindingGate"]

_FENCE = "schedproof-gate-fence"


class BindingGate:
    """While it is open as a context, Bindings in `namespace` pass through it.

    The apiserver calls us before it acts on a Binding (pkg/registry/core/pod/storage: BindingREST.Create validates,
    then assigns), so what happens while it waits for us happens between a scheduler's decision and its effect.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._api = cluster.api
        self._address = cluster.callback_address
        self._namespace = namespace
        self._changed = threading.Condition()
        self._calls: list[str] = []
        self._refused: set[str] = set()
        self._held = ""
        self._port = cluster.host.ports.reserve(self._address)
        self._folder = cluster.host.sandbox.scratch / f"gate-{self._port}"
        self._name = f"schedproof-{namespace}"

    def __enter__(self) -> BindingGate:
        authority = Authority(self._folder)
        pair = authority.server("webhook", self._address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        bundle = base64.b64encode(authority.certificate.read_bytes()).decode()
        self._server = _Server((self._address, self._port), _handler(self))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="gate", daemon=True)
        self._thread.start()
        try:
            self._api.create("validatingwebhookconfigurations", self._document(bundle))
            self._await_effect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _document(self, bundle: str) -> dict[str, Any]:
        return {
            "metadata": {"name": self._name},
            "webhooks": [
                {
                    "name": "gate.schedproof.dev",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Ignore",
                    "timeoutSeconds": 30,
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                         "resources": ["pods/binding", "bindings"]},
                    ],
                    "clientConfig": {"url": f"https://{self._address}:{self._port}/", "caBundle": bundle},
                }
            ],
        }  # fmt: skip

    def _await_effect(self) -> None:
        """The apiserver learns of a webhook by a watch: Bindings of a pod that does not exist tell when it has."""

        def probe() -> None:
            try:
                self._api.bind(self._namespace, _FENCE, "nowhere")
            except ApiError as refused:
                if _FENCE not in self._calls:
                    raise NotYet(f"the apiserver answers without asking us: {refused.message}") from refused

        wait_for(probe, WEBHOOK_CALLED, what="the apiserver to call the webhook")

    def refuse(self, pod: str) -> None:
        """Answer every Binding of this pod with an error."""
        with self._changed:
            self._refused.add(pod)

    def accept(self) -> None:
        """Refuse nobody any more."""
        with self._changed:
            self._refused.clear()

    def hold(self, pod: str) -> None:
        """Let the next Binding of a pod of this name wait until `release`."""
        with self._changed:
            self._held = pod

    def await_held(self) -> bool:
        """Return when a Binding waits, or when nobody has tried to bind that pod; which of the two."""
        return self.await_call(self._held)

    def await_call(self, pod: str) -> bool:
        """Return when somebody has tried to bind a pod of this name, or when that took too long; which of the two."""

        def probe() -> None:
            if pod not in self._calls:
                raise NotYet(f"no Binding of {pod}")

        try:
            wait_for(probe, BINDING_HELD, what=f"a Binding of {pod}", wake=self._changed)
        except DeadlineExceededError:
            return False
        return True

    def release(self) -> None:
        """Let what waits go on, and all that follows."""
        with self._changed:
            self._held = ""
            self._changed.notify_all()

    def review(self, pod: str) -> bool:
        """Whether a Binding may pass; for the server."""
        with self._changed:
            first = pod not in self._calls
            self._calls.append(pod)
            self._changed.notify_all()
            if first and pod == self._held:
                self._changed.wait_for(lambda: self._held != pod)
            return pod not in self._refused

    def __exit__(self, *_: object) -> None:
        self.release()
        try:
            self._api.delete_if_there("validatingwebhookconfigurations", self._name)
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The apiserver gave up waiting."""


def _handler(gate: BindingGate) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
            # Bindings can be posted to the pod's subresource, or, as of old, to the namespace.
            allowed = gate.review(request.get("name") or request["object"]["metadata"]["name"])
            response: dict[str, Any] = {"uid": request["uid"], "allowed": allowed}
            if not allowed:
                response["status"] = {"code": 422, "message": "refused by the harness, to see what follows"}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            body = json.dumps(review).encode()
            self.send_response_only(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """The audit log has it."""

    return Handler
