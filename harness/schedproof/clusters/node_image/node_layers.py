"""The file system of a kind node: Debian packages, kind's own node files, and binaries built from Go modules."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from schedproof.binaries.versions import CLEAN_ENVIRONMENT
from schedproof.clusters.node_image.addon_layers import INSTALLING, base_files
from schedproof.clusters.node_image.debian import Packages
from schedproof.clusters.node_image.layers import Layer
from schedproof.foundation.content import content

_PACKAGES = (
    "base-files", "base-passwd", "bash", "ca-certificates", "conntrack", "coreutils", "dash", "ethtool", "findutils",
    "grep", "gzip", "hostname", "iproute2", "iptables", "jq", "kmod", "libc-bin", "libseccomp2", "login", "mawk",
    "mount", "nftables", "procps", "runc", "sed", "socat", "systemd", "systemd-sysv", "tar", "util-linux",
)  # fmt: skip

_INTO = {
    "/usr/bin": ("kubeadm", "kubectl", "kubelet"),
    "/usr/local/bin": ("containerd", "containerd-shim-runc-v2", "crictl", "ctr"),
    "/opt/cni/bin": ("host-local", "loopback", "portmap", "ptp"),
}

# As in kind's own image: a container has no devices to set up, no file systems to check, and no logins.
_UNITS_NOT_WANTED = (
    "usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "usr/lib/systemd/system/multi-user.target.wants/*",
    "usr/lib/systemd/system/local-fs.target.wants/*",
    "usr/lib/systemd/system/sockets.target.wants/*udev*",
    "usr/lib/systemd/system/sockets.target.wants/*initctl*",
    "usr/lib/systemd/system/basic.target.wants/*",
    "etc/systemd/system/*.wants/*",
)
_SERVICES = ("containerd", "kubelet", "undo-mount-hacks")


def node_layer(
    packages: Packages, kind: Path, binaries: Mapping[str, Path], *, version: str, pause: str, cni_image: str
) -> Layer:
    """Return the layer of a node, without containerd's store.

    Args:
        packages: the source of Debian packages.
        kind: the folder of kind's Go module, with the entrypoint and units.
        binaries: name to path.
        version: of Kubernetes.
        pause: the image that holds a pod's namespaces.
        cni_image: the image of the pod network's DaemonSet.
    """
    layer = Layer()
    layer.packages(packages.closure(*_PACKAGES, without=[name for name in INSTALLING if name != "tar"]))
    base_files(layer)
    layer.remove(*_UNITS_NOT_WANTED)
    layer.link("usr/bin/awk", "mawk")
    # Replaces dpkg's program; it does what kind's entrypoint needs.
    ours = content("clusters", "node-image")
    layer.file("usr/local/bin/update-alternatives", (ours / "update-alternatives").read_bytes(), 0o755)

    files = kind / "images" / "base" / "files"
    for part in ("etc", "kind", "usr"):
        for path in sorted((files / part).rglob("*")):
            if path.is_file():
                name = path.relative_to(files).as_posix()
                layer.file(name, path.read_bytes(), 0o755 if "/bin/" in name else 0o644)
    for folder, names in _INTO.items():
        for name in names:
            layer.file(f"{folder}/{name}".removeprefix("/"), binaries[name], 0o755)

    journald = layer.read("etc/systemd/journald.conf")
    layer.file("etc/systemd/journald.conf", journald + b"ReadKMsg=no\n")
    for service in _SERVICES:
        layer.link(f"etc/systemd/system/multi-user.target.wants/{service}.service", f"../{service}.service")
    # It would register binary formats in the host's kernel.
    layer.link("etc/systemd/system/systemd-binfmt.service", "/dev/null")

    config = layer.read("etc/containerd/config.toml").decode()
    config = re.sub(r'sandbox_image = ".*"', f'sandbox_image = "{pause}"', config)
    # Without CAP_SYS_RESOURCE (in a virtual machine's own init, in some CIs) it cannot be lowered.
    config = config.replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true")
    layer.file("etc/containerd/config.toml", config.encode())
    layer.file("etc/containerd/cri-base.json", _container_defaults(binaries["ctr"]))

    layer.folder("etc/kubernetes/manifests")
    layer.folder("etc/cni/net.d")
    layer.file("kind/version", version.encode())
    cni = (ours / "default-cni.yaml").read_text().replace("WORKLOAD_IMAGE", cni_image)
    layer.file("kind/manifests/default-cni.yaml", cni.encode())
    layer.file("kind/manifests/default-storage.yaml", (ours / "default-storage.yaml").read_bytes())
    return layer


def network_layer(packages: Packages) -> Layer:
    """Return a layer with the programs that kube-proxy calls."""
    layer = Layer()
    layer.packages(packages.closure("conntrack", "iptables", "kmod", "nftables", without=INSTALLING))
    for family in ("iptables", "ip6tables"):
        for suffix in ("", "-save", "-restore"):
            layer.link(f"usr/sbin/{family}{suffix}", f"{family}-nft{suffix}")
    layer.folder("run")
    layer.folder("tmp", 0o1777)
    return layer


def _container_defaults(ctr: Path) -> bytes:
    """Return containerd's default container specification, changed as in kind's image."""
    output = subprocess.run((str(ctr), "oci", "spec"), capture_output=True, check=True, env=CLEAN_ENVIRONMENT).stdout
    spec = json.loads(output)
    spec.setdefault("hooks", {}).setdefault("createContainer", []).append({"path": "/kind/bin/mount-product-files.sh"})
    spec["process"].pop("rlimits", None)
    return json.dumps(spec).encode()
