"""Placeholders in braces, such as `{prometheus}`, which are replaced when a candidate is attached.

Only `{identifier}` is a placeholder: JSON, PromQL selectors and Go templates stay unchanged.
`{{identifier}}` stands for the literal text `{identifier}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import UsageError

T = TypeVar("T")

PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "prometheus": "URL of the Prometheus server, without a trailing slash",
        "kubeconfig": "path of a kubeconfig with the candidate's own identity",
        "device": "the nodes' traffic interface, as the exporter's label `device` has it",
        "address": "the address to listen on: 127.0.0.1, or 0.0.0.0 in a pod",
        "port": "the TCP port to listen on",
        "files": "the folder that holds the `files` of the program",
        "certFile": "a certificate that the harness made for the extender's address, and for its client: PEM",
        "keyFile": "the key of that certificate: PEM",
        "caFile": "the authority that signed it: PEM",
        "window": "the claimed window, such as 30s",
        "schedulerName": "spec.schedulerName",
        "namespace": "the candidate's namespace, which has its ServiceAccounts, and its pods where it has pods",
        "python": "the Python interpreter that runs the harness, or python3 in a pod",
        "here": "the folder of candidate.yaml",
    }
)

CERTIFICATES: Mapping[str, str] = MappingProxyType(
    {"caFile": "tls/ca.crt", "certFile": "tls/tls.crt", "keyFile": "tls/tls.key"}
)
"""The placeholders of the certificates for an extender that serves HTTPS, and the path of each below `{files}`."""

_PATTERN = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(value: T, values: Mapping[str, str]) -> T:
    """Replace every placeholder in the texts of `value`, in lists and in the values of mappings too.

    Raises:
        UsageError: a placeholder has no value.
    """

    def replacement(found: re.Match[str]) -> str:
        literal, name = found.groups()
        if literal is not None:
            return f"{{{literal}}}"
        if name not in values:
            raise UsageError(
                f"the placeholder {{{name}}} has no value on this cluster; available placeholders: {_braced(values)}",
                remedy=f"write the value itself, or {{{{{name}}}}} for the literal text {{{name}}}",
            )
        return values[name]

    def filled(part: Any) -> Any:
        if isinstance(part, str):
            return _PATTERN.sub(replacement, part)
        if isinstance(part, (list, tuple)):
            return type(part)(filled(item) for item in part)
        if isinstance(part, dict):
            return {key: filled(item) for key, item in part.items()}
        return part

    return cast("T", filled(value))


def fill_known(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of `values` in `text`; other placeholders and doubled braces stay for a later `fill`."""
    return _PATTERN.sub(lambda found: values.get(found[2], found[0]), text)


_IN_MANIFESTS = ("namespace",)
"""The placeholders of manifests, which are documents of others: what else is in braces there is their own."""


def fill_manifest(manifest: T, values: Mapping[str, str]) -> T:
    """Replace `{namespace}` in the texts of a manifest; whatever else is in braces, doubled ones too, stays."""
    known = {name: values[name] for name in _IN_MANIFESTS}

    def filled(part: Any) -> Any:
        if isinstance(part, str):
            return fill_known(part, known)
        if isinstance(part, list):
            return [filled(item) for item in part]
        return {key: filled(item) for key, item in part.items()} if isinstance(part, dict) else part

    return cast("T", filled(manifest))


def placeholders_in(value: object) -> frozenset[str]:
    """The names of the placeholders that `fill` would replace."""
    if isinstance(value, str):
        return frozenset(name for _, name in _PATTERN.findall(value) if name)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return frozenset().union(*(placeholders_in(item) for item in value))
    return frozenset()


def complaints(text: str, *, unavailable: Mapping[str, str], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield a message and a fix for each wrong placeholder in `text`.

    Placeholders in `known` are allowed; `unavailable` maps placeholders that have no value here to the fix.
    """
    for name in sorted(placeholders_in(text)):
        if name in unavailable:
            yield f"{{{name}}} has no value here", unavailable[name]
        elif name not in known:
            guess = did_you_mean(name, known, shown=lambda option: f"{{{option}}}")
            yield f"unknown placeholder {{{name}}}", f"{guess}; for the literal text write {{{{{name}}}}}"


def _braced(names: Collection[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names) or "none"
