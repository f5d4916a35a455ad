"""Leads webhooks and APIs of manifests to processes of a candidate, where no pods are behind their Services."""

from __future__ import annotations

import base64
import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

Service = tuple[str, str]
"""The namespace and the name of a Service."""

WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_HOST = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where a process serves what a Service is for. `port`: on loopback; `authority`: PEM that its certificate is
    verified by.
    """

    port: str
    authority: str

    @property
    def bundle(self) -> str:
        return base64.b64encode(self.authority.encode()).decode()


def service_of(config: Mapping[str, Any] | None) -> Service | None:
    """The Service that a client configuration, or the spec of an APIService, leads to."""
    named = (config or {}).get("service")
    return (str(named.get("namespace") or ""), str(named.get("name"))) if named else None


def services_of(manifest: Mapping[str, Any]) -> list[Service]:
    """The Services that the apiserver asks because of a manifest."""
    return [service for config in _configs(manifest) if (service := service_of(config))]


def _configs(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    spec = manifest.get("spec") or {}
    if manifest["kind"] in WEBHOOKS:
        yield from (hook.get("clientConfig") or {} for hook in manifest.get("webhooks") or ())
    elif manifest["kind"] == "CustomResourceDefinition":
        yield ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    elif manifest["kind"] == "APIService":
        yield spec


def led(manifest: Mapping[str, Any], endpoints: Mapping[Service, Endpoint]) -> list[dict[str, Any]]:
    """The manifests to apply instead, whose requests reach the endpoints.

    A webhook gets a URL. An APIService has a Service in any case, whose ExternalName is this machine.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(manifest))
    made = []
    for config in _configs(changed):
        service = service_of(config)
        if service is None or service not in endpoints:
            continue
        endpoint = endpoints[service]
        config["caBundle"] = endpoint.bundle
        if changed["kind"] == "APIService":
            config.pop("insecureSkipTLSVerify", None)
            config["service"]["port"] = int(endpoint.port)
            made.append(_external(service))
        else:
            path = config.pop("service").get("path") or ""
            config["url"] = f"https://{_HOST}:{endpoint.port}/{path.lstrip('/')}"
    return [*made, changed]


def _external(service: Service) -> dict[str, Any]:
    namespace, name = service
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }  # fmt: skip
