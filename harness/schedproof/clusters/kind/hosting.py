"""Runs candidates as pods of a kind cluster, and as static pods of its control plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from schedproof.clusters.cluster import NAMESPACE
from schedproof.clusters.kind.cli import KindCli, first_process
from schedproof.clusters.kind.docker import docker
from schedproof.foundation.processes.process_tree import in_pod, named_below

_SERVERS = ("etcd", "kube-apiserver", "kube-scheduler")
_MANIFESTS = PurePosixPath("/etc/kubernetes/manifests")


class KindHosting:
    """See `schedproof.clusters.cluster.Hosting`.

    Args:
        kind: the command line for the cluster.
        control_plane: the name of its node.
        workers: the names of the other nodes.
        service_address: a node's address.
        apiserver: how pods reach it; see `Hosting`.
        prometheus_url: as pods reach it.
        python_image: the base image for candidates' images.
    """

    namespace = NAMESPACE
    labels = MappingProxyType({"schedproof.dev/owned": "true"})
    pulls = False
    builds = True
    scheduler_image = ""

    def __init__(
        self,
        kind: KindCli,
        control_plane: str,
        workers: Sequence[str],
        *,
        service_address: str,
        apiserver: Mapping[str, Any],
        prometheus_url: str,
        python_image: str,
    ) -> None:
        self._kind = kind
        self._control_plane, *self._workers = (first_process(node) for node in (control_plane, *workers))
        self._loaded: set[str] = set()
        self.service_address = service_address
        self.apiserver = apiserver
        self.prometheus_url = prometheus_url
        self.python_image = python_image
        self.static_pods = KindStaticPods(control_plane)

    def load_image(self, ref: str) -> str:
        if ref not in self._loaded:
            self._kind.load([ref])
            self._loaded.add(ref)
        return ref

    def servers(self) -> dict[str, int]:
        """See `schedproof.clusters.cluster.Cluster`; includes the control plane's own scheduler."""
        return named_below([self._control_plane], _SERVERS)

    def pids_of(self, uid: str) -> Sequence[int]:
        return [pid for node in (self._control_plane, *self._workers) for pid in in_pod(node, uid)]


class KindStaticPods:
    """See `schedproof.clusters.cluster.StaticPods`. Accesses the files of a node's container by docker exec."""

    def __init__(self, node: str) -> None:
        self._node = node

    def read(self, name: str) -> str:
        return docker("exec", self._node, "sh", "-ec", '[ ! -e "$1" ] || cat "$1"', "sh", str(_manifest(name)))

    def write(self, name: str, manifest: str) -> None:
        # Kubelets ignore names with a leading dot; the rename shows them the whole file at once.
        hidden = _MANIFESTS / f".{name}.yaml"
        self.put(str(hidden), manifest)
        docker("exec", self._node, "mv", str(hidden), str(_manifest(name)))

    def remove(self, name: str) -> None:
        docker("exec", self._node, "rm", "-f", str(_manifest(name)))

    def put(self, path: str, text: str) -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1"'
        docker("exec", "-i", self._node, "sh", "-ec", script, "sh", path, stdin=text.encode())

    def delete(self, path: str) -> None:
        docker("exec", self._node, "rm", "-f", path)


def _manifest(name: str) -> PurePosixPath:
    return _MANIFESTS / f"{name}.yaml"
