from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.content import content

if TYPE_CHECKING:
    from pathlib import Path

    from schedproof.foundation.sandbox import Process

__all__ = ["start_kwok"]


def start_kwok(host: Host, kubeconfig: Path) -> Process:
    """Start kwok, which plays the kubelets of all nodes as clusters/kwok-stages.yaml says; returns at once."""
    options = {
        "kubeconfig": kubeconfig,
        "config": content("clusters", "kwok-stages.yaml"),
        "manage-all-nodes": True,
        "node-lease-duration-seconds": 40,
        "cidr": "198.19.128.0/17",
        "server-address": f"127.0.0.1:{host.ports.reserve()}",
    }
    return host.start("kwok", ["kwok", *flags(options)])
