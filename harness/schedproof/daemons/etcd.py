from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags

if TYPE_CHECKING:
    from schedproof.foundation.sandbox import Process

__all__ = ["start_etcd"]


def start_etcd(host: Host) -> tuple[Process, str]:
    """Start etcd; returns at once, with its client URL. kube-apiserver waits for it.

    It listens on sockets in the scratch directory alone: a port of loopback would let candidates write to it, past all
    that `rbac` forbids. They are named from the folder that daemons run in, because a socket's path has to be short.
    """
    client, peer = "unix://etcd-client:0", "unix://etcd-peer:0"
    options = {
        "name": "schedproof",
        "data-dir": host.sandbox.scratch / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"schedproof={peer}",
        # The data lives as long as the run: safety against a power cut only costs time.
        "unsafe-no-fsync": True,
        "log-level": "warn",
    }
    return host.start("etcd", ["etcd", *flags(options)]), client
