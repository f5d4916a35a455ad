"""The images of a kind cluster: their names, and the archive that holds those that we make ourselves."""

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
"""What our images are made of."""

_ADDONS = ("node_exporter", "prometheus", "python", "workload")

# Whatever decides what the images hold, besides the binaries: a change makes them anew.
_RECIPE = ("addon_layers.py", "archive.py", "debian.py", "layers.py", "node_layers.py", "node_store.py", "recipe.py")


@dataclasses.dataclass(frozen=True)
class Images:
    """References of images that the Docker daemon has."""

    node: str
    node_exporter: str
    """Its entrypoint is node_exporter."""
    prometheus: str
    """Its entrypoint is prometheus."""
    python: str
    """Debian's python3 with pip; to build candidates' images on."""
    workload: str
    """busybox; runs until told to end, unless it is given a command."""

    @property
    def in_node(self) -> bool:
        """Whether the node image holds `node_exporter` and `workload`: ours does, others have to be given them."""
        return self.node.startswith("schedproof/node:")

    @property
    def addons(self) -> tuple[str, ...]:
        """All but the node."""
        return dataclasses.astuple(self)[1:]

    @property
    def references(self) -> tuple[str, ...]:
        return dataclasses.astuple(self)


def our_images(kubernetes: str) -> Images:
    """The names of schedproof's own images; equal names have equal content."""
    key = _key(kubernetes)
    version = locked.load().kubernetes[kubernetes].version
    addons = {name: f"schedproof/{name.replace('_', '-')}:{key}" for name in _ADDONS}
    return Images(node=f"schedproof/node:{version}-{key}", **addons)


def archive_path(kubernetes: str) -> Path:
    """Where the archive of our images lies in the cache once it is made."""
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
