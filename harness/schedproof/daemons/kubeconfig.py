"""Kubeconfig files, each with one identity."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from schedproof.daemons.certificates import KeyPair

IN_CLUSTER = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where `rest.InClusterConfig` of client-go, and clients in other languages, read a pod's credentials."""


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
    """Write a self-contained kubeconfig for one user, in JSON, which is YAML, and return its path.

    `line`: other fields of the cluster, such as `tls-server-name`.
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


def cluster_of(server: str, authority: bytes) -> dict[str, str]:
    """Return a kubeconfig's cluster: the apiserver's URL, and its certificate authority in PEM."""
    return {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()}


def server_of(path: Path) -> str:
    """Return the apiserver's URL of a kubeconfig that `write_kubeconfig` wrote."""
    return str(json.loads(path.read_text())["clusters"][0]["cluster"]["server"])


def in_cluster(kubeconfig: Path, folder: Path, namespace: str, token: Callable[[], str]) -> dict[str, str]:
    """Write the credentials of a `write_kubeconfig` file as a pod finds them in `IN_CLUSTER`.

    Returns the environment variables to go with them. If a pod cannot express the kubeconfig, returns none and
    writes nothing: a server behind a proxy or below a path, a certificate that is not verified, or no token.

    Args:
        kubeconfig: of one identity.
        folder: is created.
        namespace: of the ServiceAccount.
        token: creates a token of the same identity for the file.
    """
    config = json.loads(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    server = urlsplit(cluster["server"])
    expected = {"server", "certificate-authority-data"}
    if set(cluster) != expected or "token" not in user or server.path.strip("/") or server.scheme != "https":
        return {}
    folder.mkdir(mode=0o700, exist_ok=True)
    authority = base64.b64decode(cluster["certificate-authority-data"])
    write_account(folder, {"token": token().encode(), "ca.crt": authority, "namespace": namespace.encode()})
    return {"KUBERNETES_SERVICE_HOST": server.hostname or "", "KUBERNETES_SERVICE_PORT": str(server.port or 443)}


def write_account(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write or replace some files of a pod's credentials atomically; keep the other files.

    Works as a kubelet's atomic writer: each file is a link into `..data`, a link to a folder, which is swapped.
    """
    data = folder / "..data"
    before = data.resolve() if data.is_symlink() else None
    kept = {} if before is None else {file.name: file.read_bytes() for file in before.iterdir()}
    after = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for name, content in {**kept, **files}.items():
        file = after / name
        file.touch(mode=0o600)
        file.write_bytes(content)
    exchanged = folder / "..data_tmp"
    exchanged.symlink_to(after.name)
    exchanged.rename(data)
    for name in files.keys() - kept.keys():
        (folder / name).symlink_to(Path(data.name) / name)
    if before is not None:
        shutil.rmtree(before)


def redirected(path: Path, server: str) -> Path:
    """Write a kubeconfig beside one of `write_kubeconfig`, for the same user, with another URL of the apiserver.

    The server's certificate must be valid for the hosts of both URLs.
    """
    config = json.loads(path.read_text())
    config["clusters"][0]["cluster"]["server"] = server
    other = path.with_suffix(".redirected.kubeconfig")
    other.touch(mode=0o600)
    other.write_text(json.dumps(config, indent=1))
    return other


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
