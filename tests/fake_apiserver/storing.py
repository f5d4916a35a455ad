"""An apiserver that stores objects, as far as the harness's client needs it: see `Storing`."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import ssl
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from schedproof.foundation.http import connect, exchange

from .scripted import GONE, Apiserver, Manifest

Controller = Callable[[str, Manifest], None]
"""Called with what happened (ADDED, MODIFIED, DELETED, or READ by its name) and a copy of the object; may write."""

_CLUSTER_WIDE = {
    "namespaces", "nodes", "persistentvolumes", "storageclasses", "csidrivers", "runtimeclasses", "priorityclasses",
    "deviceclasses", "resourceslices", "validatingwebhookconfigurations",
}  # fmt: skip
_OWN_STATUS = ("pods", "nodes", "persistentvolumes", "persistentvolumeclaims", "poddisruptionbudgets", "resourceclaims")
"""Resources whose status only the subresource changes."""
_OPERATIONS = {"POST": "CREATE", "PATCH": "UPDATE"}
_CALL_SECONDS = 30.0
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class RefusalError(Exception):
    """An error response: a status code, and the reason and the message of its Status object."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.document = code, {"kind": "Status", "code": code, "reason": reason, "message": message}


@dataclasses.dataclass(frozen=True)
class _Target:
    """What a path names; `name` is empty for a whole resource."""

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, path: str) -> _Target:
        _, root, *parts = path.split("/")
        parts = parts[1 if root == "api" else 2 :]  # behind the version, or behind the group and the version
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            _, namespace, *parts = parts
        return cls(parts[0], namespace, *parts[1:])

    @property
    def key(self) -> tuple[str, str, str]:
        return self.resource, self.namespace, self.name


class Storing(Apiserver):
    """Objects of any resource, with a uid and a resourceVersion of their own; each write is an event of its watches.

    It validates nothing but what is named here: namespaces and names that are missing or taken (404, 409), the uid and
    resourceVersion that a write names (409), the content type of a patch (415), a bound pod that is bound again (409).
    No answer has apiVersion and kind, which a real apiserver omits only in lists.
    Validating webhooks are called for Bindings and for the statuses of pods; a bearer token is taken for a user's name.
    Tokens of ServiceAccounts are accepted as long as the Secret exists that they are bound to, if any.
    There are no controllers but those in `controllers`: a test plays what a cluster would do, or does it by `patch`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.controllers: dict[str, list[Controller]] = {}
        """By resource."""
        self.kinds: dict[str, list[Manifest]] = {}
        """By apiVersion, what discovery tells: `name`, `kind` and `namespaced` of each resource."""
        self.refusals: dict[tuple[str, str], list[RefusalError]] = {}
        """By method and resource, what the next such requests are answered."""
        self.oldest = 0
        """Watches that begin at an earlier resourceVersion receive GONE."""
        self.annotations: list[Manifest] = []
        """What webhooks had written into the audit log, in order."""
        self._tokens: dict[str, Manifest] = {}
        """To what they are bound; empty: to nothing."""
        self._stored: dict[tuple[str, str, str], Manifest] = {}
        self._log: list[tuple[str, int, dict[str, Any]]] = []

    # -- for tests

    def read(self, resource: str, name: str, namespace: str = "") -> Manifest:
        """Return the object as stored; raise `KeyError` if there is none."""
        with self.changed:
            return copy.deepcopy(self._stored[resource, namespace, name])

    def names(self, resource: str) -> list[str]:
        """Return the names of all objects of a resource, in every namespace."""
        with self.changed:
            return [name for kind, _, name in self._stored if kind == resource]

    def snapshot(self) -> dict[tuple[str, str, str], Manifest]:
        """Return all objects by resource, namespace and name, without their resourceVersions."""
        with self.changed:
            objects = copy.deepcopy(self._stored)
        for manifest in objects.values():
            del manifest["metadata"]["resourceVersion"]
        return objects

    def store(self, resource: str, manifest: Manifest, namespace: str = "") -> Manifest:
        """Store an object, with its status, as if another client had created it."""
        with self.changed:
            return self._add(_Target(resource, namespace), manifest)

    def patch(self, resource: str, name: str, patch: Manifest, namespace: str = "") -> None:
        """Change an object and its status, as a controller of the cluster would."""
        with self.changed:
            target = _Target(resource, namespace, name)
            self._write(target, merged(self._found(target), patch))

    def delete(self, resource: str, name: str, namespace: str = "") -> None:
        """Remove an object, whatever finalizers it has."""
        with self.changed:
            self._remove(_Target(resource, namespace, name))

    def bind(self, namespace: str, pod: str, node: str) -> None:
        """Bind a pod to a node, as a scheduler would."""
        with self.changed:
            self._bind(_Target("pods", namespace, pod, "binding"), {"metadata": {}, "target": {"name": node}})

    # -- answers

    def admit(self, method: str, url: str, authorization: str, body: Any) -> tuple[int, Any] | None:
        parts = urlsplit(url)
        if method not in _OPERATIONS:
            return None
        target = _Target.of(parts.path)
        request = {
            "uid": str(uuid.uuid4()), "operation": _OPERATIONS[method], "name": target.name, "object": body,
            "namespace": target.namespace, "subResource": target.subresource, "dryRun": "dryRun=All" in parts.query,
            "userInfo": {"username": authorization.removeprefix("Bearer ") or "anonymous"},
        }  # fmt: skip
        for webhook in self._webhooks(target, request["operation"]):
            answer = _review(webhook, request)
            self.annotations.append(answer.get("auditAnnotations", {}))
            if not answer["allowed"]:
                return answer["status"]["code"], {"kind": "Status", **answer["status"]}
        return None

    def _webhooks(self, target: _Target, operation: str) -> list[Manifest]:
        """The webhooks to call. Namespaces are selected only by names."""
        resource = f"{target.resource}/{target.subresource}".rstrip("/")
        here = {"kubernetes.io/metadata.name": target.namespace}
        with self.changed:
            return [
                webhook
                for (kind, _, _), configuration in self._stored.items()
                if kind == "validatingwebhookconfigurations"
                for webhook in configuration["webhooks"]
                if webhook["namespaceSelector"]["matchLabels"] == here
                and any(resource in rule["resources"] and operation in rule["operations"] for rule in webhook["rules"])
            ]

    def answer(self, method: str, url: str, content_type: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        try:
            if (discovered := self._discovery(parts.path)) is not None:
                return 200, discovered
            target = _Target.of(parts.path)
            if refusals := self.refusals.get((method, target.resource)):
                raise refusals.pop(0)
            return self._stored_answer(method, target, query, content_type, body)
        except RefusalError as refusal:
            return refusal.code, refusal.document

    def _stored_answer(
        self, method: str, target: _Target, query: dict[str, str], content_type: str, body: Any
    ) -> tuple[int, Any]:
        if method == "GET":
            return 200, self._read(target) if target.name else self._listing(target, query)
        if method == "DELETE":
            return 200, self._delete(target, body or {})
        if method == "PATCH":
            return self._patch(target, content_type, body)
        dry = query.get("dryRun") == "All"
        if target.subresource == "binding":
            return 201, self._bind(target, body, dry=dry)
        if target.resource == "bindings":
            return 201, self._bind(_Target("pods", target.namespace, body["metadata"]["name"]), body, dry=dry)
        if target.subresource == "token":
            return 201, self._token(target, body["spec"])
        if target.resource == "tokenreviews":
            return 201, {"status": {"authenticated": self._accepts(body["spec"]["token"])}}
        return 201, self._create(target, body, dry=dry)

    def _token(self, target: _Target, spec: Manifest) -> Manifest:
        """A JSON Web Token with no claim but its id, and no signature."""
        claims = json.dumps({"jti": f"{target.name}-{len(self._tokens) + 1}"}).encode()
        token = f".{base64.urlsafe_b64encode(claims).decode().rstrip('=')}."
        self._tokens[token] = {"namespace": target.namespace, **spec.get("boundObjectRef", {})}
        return {"status": {"token": token}}

    def _accepts(self, token: str) -> bool:
        bound = self._tokens.get(token)
        if bound is None or "uid" not in bound:
            return bound is not None
        secret = self._stored.get(("secrets", bound["namespace"], bound["name"]))
        return secret is not None and secret["metadata"]["uid"] == bound["uid"]

    def _discovery(self, path: str) -> Manifest | None:
        if path == "/version":
            return {"gitVersion": "v1.36.0"}
        _, root, version = path.split("/", 2)
        if version.count("/") != (root == "apis"):
            return None
        if version not in self.kinds:
            raise RefusalError(404, "NotFound", f"the server serves no {version}")
        return {"resources": self.kinds[version]}

    def _read(self, target: _Target) -> Manifest:
        found = self._found(target)
        self._tell("READ", target.resource, found)
        return found

    def _tell(self, what: str, resource: str, manifest: Manifest) -> None:
        for controller in self.controllers.get(resource, ()):
            controller(what, copy.deepcopy(manifest))

    def _found(self, target: _Target) -> Manifest:
        if target.key not in self._stored:
            raise RefusalError(404, "NotFound", f'{target.resource} "{target.name}" not found')
        return self._stored[target.key]

    def _listing(self, target: _Target, query: dict[str, str]) -> Manifest:
        items = [item for item in self._matching(target, query) if target.namespace in ("", _namespace(item))]
        return {"items": items, "metadata": {"resourceVersion": str(self.version)}}

    def _matching(self, target: _Target, query: dict[str, str]) -> Iterator[Manifest]:
        """The objects that match selectors, which are lists of `path=value`."""
        for (resource, _, _), item in self._stored.items():
            wanted = dict(pair.split("=", 1) for pair in query.get("labelSelector", "").split(",") if pair)
            fields = dict(pair.split("=", 1) for pair in query.get("fieldSelector", "").split(",") if pair)
            if (
                resource == target.resource
                and wanted.items() <= (item["metadata"].get("labels") or {}).items()
                and all(str(_at(item, path) or "") == value for path, value in fields.items())
            ):
                yield item

    def _create(self, target: _Target, body: Manifest, *, dry: bool) -> Manifest:
        if target.resource not in _CLUSTER_WIDE and ("namespaces", "", target.namespace) not in self._stored:
            raise RefusalError(404, "NotFound", f'namespaces "{target.namespace}" not found')
        if target.resource == "pods":  # nodes report their status when they join
            body = {**body, "status": {"phase": "Pending"}}
        return body if dry else self._add(target, body)

    def _add(self, target: _Target, body: Manifest) -> Manifest:
        metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", **body["metadata"], "uid": str(uuid.uuid4())}
        metadata = {key: value for key, value in metadata.items() if value is not None}
        if "name" not in metadata:
            metadata["name"] = f"{metadata['generateName']}{metadata['uid'][:5]}"
        if target.namespace:
            metadata["namespace"] = target.namespace
        target = dataclasses.replace(target, name=metadata["name"])
        if target.key in self._stored:
            raise RefusalError(409, "AlreadyExists", f'{target.resource} "{target.name}" already exists')
        return self._write(target, {**body, "metadata": metadata})

    def _patch(self, target: _Target, content_type: str, patch: Manifest) -> tuple[int, Manifest]:
        if content_type not in (_MERGE, _APPLY):
            raise RefusalError(415, "UnsupportedMediaType", f"{content_type} is not supported")
        if content_type == _APPLY and target.key not in self._stored:
            return 201, self._create(target, patch, dry=False)
        before = self._found(target)
        self._check(before, patch.get("metadata") or {})
        if target.subresource == "status":
            patch = {key: value for key, value in patch.items() if key == "status"}
        elif target.resource in _OWN_STATUS:
            patch = {key: value for key, value in patch.items() if key != "status"}
        return 200, self._write(target, merged(before, patch))

    def _bind(self, target: _Target, body: Manifest, *, dry: bool = False) -> Manifest:
        pod = self._found(target)
        self._check(pod, body["metadata"])
        if node := pod["spec"].get("nodeName"):
            raise RefusalError(409, "Conflict", f"pod {target.name} is already assigned to node {node!r}")
        scheduled = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
        if not dry:
            self._write(target, merged(pod, {"spec": {"nodeName": body["target"]["name"]}, "status": scheduled}))
        return {"kind": "Status", "status": "Success"}

    def _delete(self, target: _Target, options: Manifest) -> Manifest:
        found = self._found(target)
        self._check(found, options.get("preconditions") or {})
        runs = target.resource == "pods" and found["spec"].get("nodeName")
        grace = options.get("gracePeriodSeconds", 0) if runs else 0
        if not (grace or found["metadata"].get("finalizers")):
            return self._remove(target)
        ending = {"deletionTimestamp": "2026-01-01T00:00:01Z", "deletionGracePeriodSeconds": grace}
        return self._write(target, merged(found, {"metadata": ending}))

    def _check(self, found: Manifest, named: Manifest) -> None:
        for key in ("uid", "resourceVersion"):
            if named.get(key, found["metadata"][key]) != found["metadata"][key]:
                raise RefusalError(409, "Conflict", f"the {key} in the request is not that of the object")

    # -- writes

    def _write(self, target: _Target, manifest: Manifest) -> Manifest:
        """Store the newest version. A write that changes nothing makes no version; a deleted object without finalizers
        is removed.
        """
        before = self._stored.get(target.key)
        manifest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
        metadata = manifest["metadata"] = {**manifest["metadata"]}
        if not metadata.get("annotations", True):
            del metadata["annotations"]
        if manifest == before:
            return manifest
        if "deletionTimestamp" in metadata and not (
            metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        ):
            return self._remove(target)
        return self._show("ADDED" if before is None else "MODIFIED", target, manifest)

    def _remove(self, target: _Target) -> Manifest:
        return self._show("DELETED", target, self._found(target))

    def _show(self, what: str, target: _Target, manifest: Manifest) -> Manifest:
        version = self.version + 1
        manifest = copy.deepcopy(manifest)
        manifest["metadata"]["resourceVersion"] = str(version)
        self.send(target.resource, what, manifest)
        assert self.version == version
        self._log.append((target.resource, version, {"type": what, "object": manifest}))
        if what == "DELETED":
            del self._stored[target.key]
        else:
            self._stored[target.key] = manifest
        self._tell(what, target.resource, manifest)
        return manifest

    def missed(self, kind: str, since: int) -> Iterable[object]:
        if since < self.oldest:
            return (GONE,)
        return [event for resource, version, event in self._log if resource == kind and version > since]


def _review(webhook: Manifest, request: Manifest) -> Manifest:
    """The AdmissionResponse of a webhook, whose certificate is verified; no response counts as allowed."""
    client = webhook["clientConfig"]
    trust = ssl.create_default_context(cadata=base64.b64decode(client["caBundle"]).decode())
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    connection = connect(client["url"], _CALL_SECONDS, trust)
    status, text = exchange(connection, "POST", urlsplit(client["url"]).path, json.dumps(review).encode())
    if not status:
        return {"allowed": True}
    answer: Manifest = json.loads(text)["response"]
    assert answer["uid"] == request["uid"]
    return answer


def merged(document: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    base = document if isinstance(document, dict) else {}
    kept = {key: value for key, value in base.items() if key not in patch}
    return kept | {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}


def _namespace(item: Manifest) -> str:
    return str(item["metadata"].get("namespace", ""))


def _at(item: Any, path: str) -> Any:
    for key in path.split("."):
        item = item.get(key, {})
    return item
