"""Kubeconfig files, one identity each."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from schedproof.daemons.certificates import KeyPair

__all__ = ["redirected", "server_of", "write_kubeconfig"]


def write_kubeconfig(
    path: Path,
    *,
    server: str,
    ca: Path | None,
    user: str,
    token: str = "",
    pair: KeyPair | None = None,
    line: Mapping[str, Any] | None = None,
) -> Path:
    """Write a self-contained kubeconfig for one user and return its path. JSON, which is YAML.

    `line`: what else it says of the cluster, such as `tls-server-name`.
    """
    credentials = {"token": token} if token else {}
    if pair is not None:
        credentials = {
            "client-certificate-data": _encoded(pair.certificate),
            "client-key-data": _encoded(pair.key),
        }
    authority = {} if ca is None else {"certificate-authority-data": _encoded(ca)}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "schedproof",
        "clusters": [{"name": "schedproof", "cluster": {"server": server, **authority, **(line or {})}}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "schedproof", "context": {"cluster": "schedproof", "user": user}}],
    }  # fmt: skip
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1))
    return path


def server_of(path: Path) -> str:
    """The apiserver's URL in a kubeconfig that `write_kubeconfig` wrote."""
    return str(json.loads(path.read_text())["clusters"][0]["cluster"]["server"])


def redirected(path: Path, server: str) -> Path:
    """A kubeconfig beside one that `write_kubeconfig` wrote, for the same user, by another URL of its apiserver.

    The server's certificate must be good for the host in either.
    """
    config = json.loads(path.read_text())
    config["clusters"][0]["cluster"]["server"] = server
    other = path.with_suffix(".redirected.kubeconfig")
    other.touch(mode=0o600)
    other.write_text(json.dumps(config, indent=1))
    return other


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
