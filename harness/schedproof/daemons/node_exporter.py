from __future__ import annotations

import dataclasses

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.processes.ports import listening_socket
from schedproof.foundation.processes.sandbox import Process


@dataclasses.dataclass(frozen=True)
class NodeExporter:
    """A real node_exporter that reads one node's network namespace and serves in the host's."""

    process: Process
    address: str
    """Host and port."""


def start_node_exporter(host: Host, node: str, netns: int, address: str = "127.0.0.1") -> NodeExporter:
    """Start an exporter inside a network namespace; returns at once. Scrapes queue until it accepts them.

    Its listening socket is opened here, at an address of the host, and inherited. A socket belongs to the namespace
    in which it was opened, so Prometheus can reach the exporter.
    """
    options = {
        "collector.disable-defaults": True,
        "collector.netdev": True,
        "collector.uname": True,
        "web.disable-exporter-metrics": True,
        "web.systemd-socket": True,
    }
    # kingpin, its flag library, takes switches without a value
    argv = ["node_exporter", *(flag.removesuffix("=true") for flag in flags(options))]
    with listening_socket(address) as listener:
        process = host.start(
            f"node_exporter {node}", argv, log=f"node_exporter-{node[:200]}", netns=netns, hostname=node,
            fds={3: listener.fileno()}, listen_fds=True,
        )  # fmt: skip
        return NodeExporter(process, f"{address}:{listener.getsockname()[1]}")
