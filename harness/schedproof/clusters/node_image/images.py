"""The images of a kind cluster: their names, and the path of the archive of schedproof's own images."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.binaries.cache import cache_dir
from schedproof.binaries.machine import machine
from schedproof.foundation.content import content

IMAGE_BINARIES = (
    "containerd", "containerd-shim-runc-v2", "coredns", "crictl", "ctr", "etcd", "host-local", "kube-apiserver",
    "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubeadm", "kubectl", "kubelet", "loopback",
    "node_exporter", "portmap", "prometheus", "ptp",
)  # fmt: skip
"""The binaries in schedproof's own images."""

_ADDONS = ("node_exporter", "prometheus", "python", "workload")

# Besides the binaries, these files determine the content of the images: a change causes a rebuild.
_RECIPE = ("addon_layers.py", "archive.py", "debian.py", "layers.py", "node_layers.py", "node_store.py", "recipe.py")


@dataclasses.dataclass(frozen=True)
class Images:
    """References of the images of a kind cluster."""

    node: str
    node_exporter: str
    """Its entrypoint is node_exporter."""
    prometheus: str
    """Its entrypoint is prometheus."""
    python: str
    """Debian's python3 with pip: the base image for candidates' images."""
    workload: str
    """busybox; runs until it is stopped, unless it is given a command."""

    @property
    def in_node(self) -> bool:
        """Whether the node image contains `node_exporter` and `workload`: schedproof's own does, others load them."""
        return self.node.startswith("schedproof/node:")

    @property
    def addons(self) -> tuple[str, ...]:
        """All images but the node's."""
        return dataclasses.astuple(self)[1:]

    @property
    def references(self) -> tuple[str, ...]:
        return dataclasses.astuple(self)


def our_images(kubernetes: str) -> Images:
    """Return the names of schedproof's own images; equal names have equal content."""
    key = _key(kubernetes)
    version = locked.load().kubernetes[kubernetes].version
    addons = {name: f"schedproof/{name.replace('_', '-')}:{key}" for name in _ADDONS}
    return Images(node=f"schedproof/node:{version}-{key}", **addons)


def archive_path(kubernetes: str) -> Path:
    """Return the path of the archive of schedproof's own images in the cache."""
    return cache_dir() / "images" / f"kind-{kubernetes}-{_key(kubernetes)}.tar.gz"


@functools.cache
def _key(kubernetes: str) -> str:
    state = hashlib.sha256(machine().encode())
    builds = locked.load().builds(kubernetes)
    for digest in sorted({builds[name].digest for name in (*IMAGE_BINARIES, "kind")}):
        state.update(digest.encode())
    here = Path(__file__).parent
    for path in (*(here / name for name in _RECIPE), *sorted(content("clusters", "node-image").iterdir())):
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:12]
