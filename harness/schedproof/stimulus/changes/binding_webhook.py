"""An admission webhook that holds or refuses Bindings, and refuses status writes, of every client."""

from __future__ import annotations

import base64
import http.client
import http.server
import itertools
import json
import math
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from schedproof.clusters.api import ApiError
from schedproof.clusters.cluster import Cluster
from schedproof.daemons.certificates import Authority
from schedproof.foundation.deadlines import WEBHOOK_CALLED, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, until, wait_for
from schedproof.history.audit_order import BINDINGS
from schedproof.recording.audit import CALL_ANNOTATION
from schedproof.stimulus.usable_time import UsableTime

_FENCE = "schedproof-gate-fence"
_WEBHOOK, _ANNOTATION = CALL_ANNOTATION.split("/")
_NUMBERS = itertools.count(1)
"""Numbers of calls to any gate, so that the annotation is unique in a history."""
_EFFECT_SECONDS = 2.0
"""Seconds for which the effect of a Binding is visible before its response. Watches deliver within milliseconds, and
candidates that poll do so each second.
"""
_REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
"""metav1.StatusReason, by HTTP status code."""


class BindingWebhook:
    """A context in which Bindings in `namespace` pass through the webhook.

    The apiserver calls it before it acts on a Binding (pkg/registry/core/pod/storage: BindingREST.Create validates,
    then assigns). While it waits, events happen between a scheduler's decision and its effect.

    Args:
        patience: how long the candidate may take to post a Binding.
        usable_time: of the candidate.
        record: adds a record to the history.
        statuses: whether writes of pods' statuses pass through the webhook, too.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        patience: Deadline,
        usable_time: UsableTime,
        record: Callable[..., None],
        *,
        statuses: bool = False,
    ) -> None:
        self._statuses = statuses
        self._mute: set[str] = set()
        self._muted: set[str] = set()
        self._paused = ""
        """The pod whose status is written only after `release`."""
        self._pausing = False
        self._patience = patience
        self._usable_time = usable_time
        self._record = record
        self._api = cluster.api
        self._address = cluster.callback_address
        self._namespace = namespace
        self._changed = threading.Condition()
        self._calls: list[str] = []
        self._refused: dict[str, tuple[int, float]] = {}
        self._losing: set[str] = set()
        self._lost: set[str] = set()
        self._performing: dict[str, str] = {}
        self._held = ""
        self.held_node = ""
        """The node of the Binding that is held, or was held last."""
        self._port = cluster.host.ports.reserve(self._address)
        self._folder = cluster.host.sandbox.scratch / f"gate-{self._port}"
        self._name = f"schedproof-{namespace}"

    def __enter__(self) -> BindingWebhook:
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
                    "name": _WEBHOOK,
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Ignore",
                    "timeoutSeconds": 30,
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                         "resources": [*BINDINGS]},
                        *([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                            "resources": ["pods/status"]}] if self._statuses else ()),
                    ],
                    "clientConfig": {"url": f"https://{self._address}:{self._port}/", "caBundle": bundle},
                }
            ],
        }  # fmt: skip

    def _await_effect(self) -> None:
        """Post Bindings of a nonexistent pod until the apiserver, which watches configurations, calls the webhook."""

        def probe() -> None:
            try:
                self._api.bind(self._namespace, _FENCE, "nowhere")
            except ApiError as refused:
                if _FENCE not in self._calls:
                    raise NotYet(f"the apiserver did not call it: {refused.message}") from refused

        wait_for(probe, WEBHOOK_CALLED, what="the apiserver to call the webhook")

    def refuse(self, pod: str, code: int = http.client.INTERNAL_SERVER_ERROR, *, times: float = math.inf) -> None:
        """Answer the next `times` Bindings of this pod with an error.

        `code` must not mean that the request itself is wrong (400, 403, 422): many clients rightly do not retry
        after these.
        """
        with self._changed:
            self._refused[pod] = (code, times)

    def refuse_status(self, pod: str) -> None:
        """Answer the next write of this pod's status with 500."""
        with self._changed:
            self._mute.add(pod)

    def await_refused_status(self, pod: str, deadline: Deadline) -> bool:
        """Wait until a write of this pod's status is refused, and return whether that happened in time."""
        return self._await(lambda: pod in self._muted, f"a write of the status of {pod}", deadline)

    def hold_status(self, pod: str) -> None:
        """Hold the next write of this pod's status until `release`."""
        with self._changed:
            self._paused, self._pausing = pod, False

    def await_held_status(self) -> bool:
        """Wait until a write of a status is held, and return whether there was one in time."""
        return self._await(lambda: self._pausing, f"a write of the status of {self._paused}", self._patience)

    def _await(self, arrived: Callable[[], bool], what: str, deadline: Deadline) -> bool:
        """Wait for an event, and return whether it came in time."""

        def probe() -> None:
            if not arrived():
                raise NotYet("there was none")

        try:
            self._usable_time.begin().wait_for(probe, deadline, what=what, wake=self._changed)
        except DeadlineExceededError:
            return False
        return True

    def lose_answer(self, pod: str) -> None:
        """Let the next Binding of this pod take effect, and answer it with 504 after the effect was visible for a
        while.

        Webhooks are called before the effect. So the harness posts the same Binding with its own identity; to the
        client it looks as if the apiserver had been too slow.
        """
        with self._changed:
            self._losing.add(pod)

    def await_lost(self, pod: str) -> None:
        """Wait until the response to a Binding of this pod is lost, or until that took too long."""
        self._await(lambda: pod in self._lost, f"the answer to a Binding of {pod}", self._patience)

    def accept(self, *pods: str) -> None:
        """Stop refusing Bindings of these pods, or of all pods if none is given."""
        with self._changed:
            for pod in pods or list(self._refused):
                self._refused.pop(pod, None)

    def hold(self, pod: str) -> None:
        """Hold the next Binding of a pod with this name until `release`."""
        with self._changed:
            self._held = pod

    def await_held(self) -> bool:
        """Wait until a Binding is held, and return whether one was posted in time."""
        return self.await_call(self._held)

    def await_call(self, pod: str) -> bool:
        """Wait until a Binding of a pod with this name is posted, and return whether it was in time."""
        return self._await(lambda: pod in self._calls, f"a Binding of {pod}", self._patience)

    def await_calls(self, pod: str, times: int, deadline: Deadline) -> bool:
        """Wait until `times` Bindings of this pod were posted, each by `deadline`. Return whether all were in time."""

        def posted(count: int) -> bool:
            return self._await(lambda: self._calls.count(pod) >= count, f"a Binding of {pod}", deadline)

        return all(posted(count) for count in range(1, times + 1))

    def release(self) -> None:
        """Let what is held, and all that comes later, pass."""
        with self._changed:
            self._held = self._paused = ""
            self._changed.notify_all()

    def review(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the AdmissionResponse to an AdmissionRequest; called by the server."""
        if request.get("subResource") == "status":
            return self._review_status(request)
        binding = request["object"]
        # Bindings can be posted to the pod's subresource, or to the namespace.
        pod, user = request.get("name") or binding["metadata"]["name"], request["userInfo"]["username"]
        number = next(_NUMBERS)
        code, held, effective = 0, False, False
        with self._changed:
            counts = not request.get("dryRun") and self._performing.get(pod, user) == user
            first = pod not in self._calls
            if counts:  # neither a dry run nor the harness's own Binding
                self._calls.append(pod)
                self._changed.notify_all()
            if counts and pod in self._performing:
                # Another worker's Binding: it is answered after the effect, that the pod is bound.
                self._changed.wait_for(lambda: pod not in self._performing)
            if counts and first and pod == self._held:
                held, self.held_node = True, binding["target"]["name"]
                self._changed.wait_for(lambda: self._held != pod)
            loses = counts and pod in self._losing
            if loses:
                self._losing.discard(pod)
                self._performing[pod] = user
            elif counts:
                code = self._refusal(pod)
        if loses:
            effective = self._perform(pod, binding)
            code = http.client.GATEWAY_TIMEOUT if effective else 0
        if counts and pod != _FENCE:
            self._record(
                "admission", pod=f"{self._namespace}/{pod}", uid=binding["metadata"].get("uid", ""),
                node=binding["target"]["name"], user=user, call=str(number), code=code, held=held, effective=effective,
            )  # fmt: skip
        if loses:
            with self._changed:
                self._lost.add(pod)
                self._changed.notify_all()
        return {**_answer(request, code), "auditAnnotations": {_ANNOTATION: str(number)}}

    def _review_status(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._changed:
            refused = request["name"] in self._mute and not request.get("dryRun")
            if refused:
                self._mute.discard(request["name"])
                self._muted.add(request["name"])
                self._changed.notify_all()
            elif request["name"] == self._paused and not request.get("dryRun"):
                self._pausing = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._paused != request["name"])
        if refused:
            # The audit log may lack the request: see `RequestBegun`.
            pod, user = f"{self._namespace}/{request['name']}", request["userInfo"]["username"]
            self._record("status-refused", pod=pod, user=user)
        return _answer(request, http.client.INTERNAL_SERVER_ERROR if refused else 0)

    def _refusal(self, pod: str) -> int:
        """Return the error code for the next Binding of a pod; 0 if it may pass."""
        code, left = self._refused.get(pod, (0, 0))
        if left <= 0:
            return 0
        self._refused[pod] = (code, left - 1)
        return code

    def _perform(self, pod: str, binding: Mapping[str, Any]) -> bool:
        """Post a Binding, wait until its effect was visible for a while, and return whether it took effect."""
        try:
            self._api.bind(self._namespace, pod, binding["target"]["name"], uid=binding["metadata"].get("uid", ""))
        except ApiError:
            return False
        finally:
            with self._changed:
                self._performing.pop(pod, None)
                self._changed.notify_all()
        until(time.monotonic() + _EFFECT_SECONDS)
        return True

    def __exit__(self, *_: object) -> None:
        self.release()
        try:
            self._api.delete_if_there("validatingwebhookconfigurations", self._name)
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def _answer(request: Mapping[str, Any], code: int) -> dict[str, Any]:
    """Return an AdmissionResponse; `code` is 0 if the request may pass."""
    answer: dict[str, Any] = {"uid": request["uid"], "allowed": not code}
    if code:
        message = "refused by schedproof, to test the client"
        answer["status"] = {"code": code, "reason": _REASONS.get(code, ""), "message": message}
    return answer


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: the apiserver has stopped waiting."""


def _handler(gate: BindingWebhook) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
            response = gate.review(request)
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            body = json.dumps(review).encode()
            self.send_response_only(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing: the requests are in the audit log."""

    return Handler
