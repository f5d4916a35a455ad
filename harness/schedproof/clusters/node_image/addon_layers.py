"""The layers of the images that run beside Kubernetes' own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from schedproof.clusters.node_image.debian import Packages
from schedproof.clusters.node_image.layers import Layer
from schedproof.foundation.content import content

INSTALLING = (
    "debconf", "dpkg", "init-system-helpers", "libdebconfclient0", "libfile-find-rule-perl", "libgdbm-compat4",
    "libgdbm6", "libnumber-compare-perl", "libperl5.36", "libtext-glob-perl", "perl", "perl-base", "perl-modules-5.36",
    "tar", "usrmerge",
)  # fmt: skip
"""Packages on which others only depend for their installation."""


def binary_layer(binary: Path, folder: str) -> Layer:
    """Return a layer with a static binary and a folder for temporary files."""
    layer = Layer()
    layer.folder("tmp", 0o1777)
    layer.file(f"{folder}/{binary.name}", binary, 0o755)
    return layer


def workload_layer(packages: Packages, work: Path) -> Layer:
    """Return a layer with busybox under all its names, and /pause, which runs until it is stopped.

    `work` is a folder for temporary files.
    """
    (archive,) = packages.closure("busybox-static")
    layer = Layer()
    layer.packages([archive])
    layer.folder("tmp", 0o1777)
    layer.folder("etc")
    # busybox lists its names itself: it is static, and built for this machine's architecture.
    busybox = work / "busybox"
    busybox.write_bytes(layer.read("usr/bin/busybox"))
    busybox.chmod(0o755)
    listed = subprocess.run((str(busybox), "--list"), capture_output=True, text=True, check=True).stdout
    for name in listed.split():
        if name != "busybox":
            layer.link(f"usr/bin/{name}", "busybox")
    layer.file("pause", content("clusters", "node-image", "pause").read_bytes(), 0o755)
    return layer


def python_layer(packages: Packages) -> Layer:
    """Return a layer with Debian's python3 and pip, a shell and the usual tools."""
    archives = packages.closure(
        "base-files", "base-passwd", "bash", "coreutils", "dash", "findutils", "grep", "libc-bin", "python3",
        "python3-pip", "python3-venv", "sed", without=INSTALLING,
    )  # fmt: skip
    layer = Layer()
    layer.packages(archives)
    base_files(layer)
    # Let pip install packages: no other program here is affected.
    layer.remove("usr/lib/python3*/EXTERNALLY-MANAGED", "usr/lib/python3*/test/*")
    layer.link("usr/bin/python", "python3")
    return layer


def base_files(layer: Layer) -> None:
    """Add the files that Debian's installation scripts create."""
    for name in ("passwd", "group"):
        layer.file(f"etc/{name}", layer.read(f"usr/share/base-passwd/{name}.master"))
    layer.file("etc/nsswitch.conf", layer.read("usr/share/libc-bin/nsswitch.conf"))
    certificates = layer.paths("usr/share/ca-certificates/*.crt")
    layer.file("etc/ssl/certs/ca-certificates.crt", b"".join(layer.read(path) for path in certificates))
    layer.link("etc/mtab", "../proc/self/mounts")
    layer.link("usr/bin/which", "which.debianutils")
    layer.link("var/run", "/run")
    layer.link("var/lock", "/run/lock")
