from __future__ import annotations

from pathlib import Path

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.content import content
from schedproof.foundation.processes.sandbox import Process

UNPLAYED = "schedproof.dev/unplayed"
"""A label of Node objects that kwok does not simulate."""


def start_kwok(host: Host, kubeconfig: Path, *, annotation: tuple[str, str] | None = None) -> Process:
    """Start kwok, which simulates kubelets by clusters/kwok-stages.yaml; returns at once.

    It simulates nodes with this `annotation` (name and value); without one, all nodes without `UNPLAYED`.
    """
    selector = (
        {"manage-nodes-with-label-selector": f"!{UNPLAYED}"}
        if annotation is None
        else {"manage-nodes-with-annotation-selector": "=".join(annotation)}
    )
    options = {
        "kubeconfig": kubeconfig,
        "config": content("clusters", "kwok-stages.yaml"),
        "manage-all-nodes": False,
        **selector,
        "node-lease-duration-seconds": 40,
        "cidr": "198.19.128.0/17",
        "server-address": f"127.0.0.1:{host.ports.reserve()}",
    }
    return host.start("kwok", ["kwok", *flags(options)])
