from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags

if TYPE_CHECKING:
    from schedproof.foundation.sandbox import Process

__all__ = ["start_etcd"]


def start_etcd(host: Host) -> tuple[Process, str]:
    """Start etcd on loopback; returns at once, with its client URL. kube-apiserver waits for it."""
    client, peer = (f"http://127.0.0.1:{host.ports.reserve()}" for _ in range(2))
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
