"""Runs kind in a sandbox: outside, the Docker clients that it starts could outlive the harness and create nodes."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.kind.docker import DockerError, docker
from schedproof.daemons.daemon import Host
from schedproof.foundation.deadlines import IMAGE_LOADED, KIND_CREATED, KIND_LOGS, Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.waiting import NotYet, wait_for

NETWORK = "kind"
"""The Docker network that kind creates for the nodes of all clusters, and does not remove."""


def docker_environment() -> dict[str, str]:
    """Return the variables by which Docker clients in a sandbox find the daemon; they have another home there."""
    own = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    return {"DOCKER_CONFIG": str(Path.home() / ".docker"), **own}


class KindCli:
    """kind's command line for one cluster of this machine's Docker.

    Args:
        host: where kind runs; its binaries include `kind`.
        name: of the cluster.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name

    def create(self, config: Mapping[str, Any], image: str, kubeconfig: Path) -> None:
        """Create the cluster; returns when the control plane responds. If it fails, the nodes that exist stay.

        Raises:
            HostError: has kind's last log lines.
        """
        file = self._host.sandbox.scratch / "kind.json"
        file.write_text(json.dumps(config, indent=1))
        self._run(
            "create", "cluster", "--config", str(file), "--image", image, "--kubeconfig", str(kubeconfig), "--retain",
            deadline=KIND_CREATED,
        )  # fmt: skip

    def kubeconfig(self, path: Path) -> None:
        """Write the administrator's kubeconfig of an existing cluster."""
        self._run("export", "kubeconfig", "--kubeconfig", str(path), deadline=KIND_LOGS)

    def load(self, images: Sequence[str]) -> None:
        """Load images from this machine's Docker onto every node."""
        self._run("load", "docker-image", *images, deadline=IMAGE_LOADED)

    def export_logs(self, folder: Path) -> None:
        self._run("export", "logs", str(folder), deadline=KIND_LOGS)

    def _run(self, *arguments: str, deadline: Deadline) -> None:
        what = f"kind {' '.join(arguments[:2])}"
        process = self._host.start(
            what, ["kind", *arguments, "--name", self._name], log="kind", env=docker_environment()
        )

        def probe() -> int:
            if process.exit_code is None:
                raise NotYet(process.log_tail(3))
            return process.exit_code

        try:
            code = wait_for(probe, deadline, what=f"{what} to end", wake=self._host.sandbox.changed)
        except BaseException:  # also Ctrl-C: kind must end before the clean-up
            process.stop(grace=0)
            raise
        if code:
            raise HostError(
                f"{what} failed; last log lines:\n{process.log_tail(20)}",
                remedy=f"read its whole output in {process.command.log}",
            )


def node_addresses(nodes: Sequence[str]) -> dict[str, str]:
    """Return the nodes' IPv4 addresses in kind's network, by name."""
    found = json.loads(docker("inspect", *nodes))
    return {node["Name"].lstrip("/"): node["NetworkSettings"]["Networks"][NETWORK]["IPAddress"] for node in found}


def first_process(node: str) -> int:
    """Return the pid of a node's root process, on the machine of the Docker daemon."""
    return int(docker("inspect", "--format={{.State.Pid}}", node))


def _gateway() -> str:
    """Return this machine's IPv4 address in kind's network.

    Raises:
        HostError: it has none.
    """
    (network,) = json.loads(docker("network", "inspect", NETWORK))
    for subnet in network["IPAM"]["Config"]:
        address = str(subnet.get("Gateway", ""))
        # Docker may append the prefix length.
        if address and ":" not in address:
            return address.partition("/")[0]
    raise HostError(
        f"Docker's network {NETWORK} has no IPv4 gateway: {network['IPAM']['Config']}",
        remedy=f"remove it if no cluster uses it (docker network rm {NETWORK}): kind creates it again",
    )


def require_callback(node: str) -> str:
    """Return this machine's address as nodes reach it: they can call servers that listen there.

    Raises:
        HostError: they cannot reach it.
    """
    address = _gateway()
    try:
        listener = socket.create_server((address, 0))
    except OSError as error:
        raise HostError(
            f"{address}, the gateway of Docker's network {NETWORK}, is not an address of this machine: "
            f"{error.strerror}",
            remedy="use a Docker daemon that runs on this machine, not in a virtual machine or on another machine",
        ) from error
    with listener:
        port = listener.getsockname()[1]
        try:
            docker("exec", node, "timeout", "10", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}")
        except DockerError as error:
            raise HostError(
                f"kind nodes cannot reach this machine at {address}, where taps and webhooks listen: {error}",
                remedy=f"if a firewall blocks traffic from Docker's network {NETWORK}, allow it (iptables INPUT)",
            ) from error
    return address
