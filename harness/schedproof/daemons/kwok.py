from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.content import content

if TYPE_CHECKING:
    from pathlib import Path

    from schedproof.foundation.sandbox import Process

__all__ = ["start_kwok"]


def start_kwok(
    host: Host, kubeconfig: Path, *, annotation: tuple[str, str] | None = None, but_for: str = ""
) -> Process:
    """Start kwok, which plays kubelets as clusters/kwok-stages.yaml says; returns at once.

    Those of nodes that bear an `annotation` of this name and value; else of all, but for those with a label.
    """
    selector = (
        {"manage-nodes-with-label-selector": f"!{but_for}"}
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
