"""Host ports: no two pods on a node may use the same.

Rules: the plugin NodePorts and HostPortInfo in k8s.io/kube-scheduler/framework/types.go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from schedproof.oracle.manifest import Manifest, containers, full_name, init_containers, is_sidecar, spec

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing listens here


@dataclasses.dataclass(frozen=True)
class HostPort:
    port: int
    protocol: str = "TCP"
    address: str = _EVERY_ADDRESS

    def __str__(self) -> str:
        return f"{self.port}/{self.protocol} on {self.address}"

    def conflicts_with(self, other: HostPort) -> bool:
        """Same port, same protocol, and overlapping addresses.

        0.0.0.0, which is also the default, overlaps every address. Addresses are compared as text: IPv6's `::` has no
        special meaning for the scheduler.
        """
        return (self.port, self.protocol) == (other.port, other.protocol) and (
            self.address == other.address or _EVERY_ADDRESS in (self.address, other.address)
        )


def host_ports(pod: Manifest) -> Iterator[HostPort]:
    """The host ports of a pod. Its containers and sidecars count, ordinary init containers do not.

    With hostNetwork every containerPort is a host port: the API writes it into hostPort when the pod is created, and
    the scheduler reads only that (pkg/apis/core/v1/defaults.go, defaultHostNetworkPorts).
    """
    host_network = spec(pod).get("hostNetwork")
    for container in (*filter(is_sidecar, init_containers(pod)), *containers(pod)):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port["containerPort"] if host_network else 0)
            if number > 0:
                yield HostPort(number, port.get("protocol") or "TCP", port.get("hostIP") or _EVERY_ADDRESS)


def port_conflicts(pod: Manifest, occupants: Iterable[Manifest]) -> tuple[str, ...]:
    """A reason for each host port of the pod that pods on the node already use."""
    wanted = tuple(host_ports(pod))
    if not wanted:
        return ()
    held = [(port, full_name(occupant)) for occupant in occupants for port in host_ports(occupant)]
    reasons = []
    for port in wanted:
        holder = next(((taken, name) for taken, name in held if port.conflicts_with(taken)), None)
        if holder is not None:
            taken, name = holder
            reasons.append(f"host port {port} is used by {name}" + ("" if taken == port else f" as {taken}"))
    return tuple(reasons)
