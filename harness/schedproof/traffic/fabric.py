"""Network namespaces of nodes, and real packets to them at a chosen rate."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedproof.daemons.daemon import Host
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import HostError

_ENGINE = Path(__file__).with_name("fabric_engine.py")
_REMEDY = "install iproute2, and check that `ip link add type veth` works as root (kernel module veth)"
_PACKET = 1 << 20


class Fabric:
    """The network of an embedded cluster, in unnamed namespaces inside the sandbox.

    Raises:
        HostError: a namespace or a device could not be created; says which.
    """

    def __init__(self, host: Host) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = host.start("fabric", [sys.executable, "-I", "-S", str(_ENGINE)], fds={3: theirs.fileno()})
        ours.settimeout(DAEMON_READY.seconds)
        self._control = ours
        self._lock = threading.Lock()
        self._nodes: dict[str, int] = {}
        self._descriptors: dict[str, int] = {}
        # Indices are not reused: the address of a removed node stays its own.
        self._indices = itertools.count()

    def add_node(self, node: str, device: str) -> None:
        """Connect one more node, in a network namespace of its own."""
        index = next(self._indices)
        _, (descriptor,) = self._ask({"op": "add-node", "index": index, "device": device})
        self._nodes[node] = index
        self._descriptors[node] = descriptor

    def remove_node(self, node: str) -> None:
        """Disconnect a node; its namespace is removed with the last process in it."""
        self._ask({"op": "remove-node", "index": self._nodes.pop(node)})
        os.close(self._descriptors.pop(node))

    def namespace(self, node: str) -> int:
        """Return a descriptor of the node's network namespace; the fabric owns it."""
        return self._descriptors[node]

    def address(self, node: str) -> str:
        """Return the node's address, in 198.18.0.0/15."""
        return socket.inet_ntoa(((198 << 24) + (18 << 16) + self._nodes[node] * 4 + 2).to_bytes(4, "big"))

    def set_rates(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        """Set the bytes per second that each named node receives (or transmits).

        The rates are as the device counts: with headers, in frames of at most 1514 bytes. Other nodes keep their
        rates.
        """
        numbered = {self._nodes[node]: rate for node, rate in rates.items()}
        self._ask({"op": "rates", "direction": direction, "rates": numbered})

    def _ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        with self._lock:
            try:
                self._control.sendall(json.dumps(request).encode())
                packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET, 4)
            except OSError:
                packet, descriptors = b"", []
        if not packet:
            raise HostError(
                f"the network fabric does not respond; last log lines:\n{self.process.log_tail()}",
                remedy=_REMEDY,
            )
        answer = json.loads(packet)
        if "error" in answer:
            raise HostError(
                f"cannot set up the network of a node: {answer['error']}",
                remedy=_REMEDY,
            )
        return answer, descriptors

    def close(self) -> None:
        self._control.close()
        for descriptor in self._descriptors.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._descriptors.clear()


def probe_fabric() -> str | None:
    """Return why this machine cannot run sandboxes with networks of their own; None if it can."""
    import tempfile

    from schedproof.daemons.daemon import Host
    from schedproof.foundation.errors import SchedproofError
    from schedproof.foundation.processes.ports import Ports
    from schedproof.foundation.processes.sandbox import Sandbox

    try:
        with (
            contextlib.closing(Sandbox()) as sandbox,
            tempfile.TemporaryDirectory() as logs,
            contextlib.closing(Fabric(Host(sandbox, Ports(), {}, Path(logs)))) as fabric,
        ):
            fabric.add_node("probe", "eth0")
    except SchedproofError as error:
        return str(error)
    return None
