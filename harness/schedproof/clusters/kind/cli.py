"""kind's command line, run where it cannot outlive us: the Docker clients that it starts would go on making nodes."""

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
"""The Docker network that kind makes for its nodes, once for all clusters, and leaves there."""


def docker_environment() -> dict[str, str]:
    """What tells a Docker client in a sandbox which daemon is meant; its home is not the user's there."""
    own = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    return {"DOCKER_CONFIG": str(Path.home() / ".docker"), **own}


class KindCli:
    """The clusters of this machine's Docker, by name.

    Args:
        host: where the command runs; its binaries name `kind`.
        name: of the cluster.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name

    def create(self, config: Mapping[str, Any], image: str, kubeconfig: Path) -> None:
        """Create it; returns when the control plane answers. Whatever there is stays also when that fails.

        Raises:
            HostError: kind's own words.
        """
        file = self._host.sandbox.scratch / "kind.json"
        file.write_text(json.dumps(config, indent=1))
        self._run(
            "create", "cluster", "--config", str(file), "--image", image, "--kubeconfig", str(kubeconfig), "--retain",
            deadline=KIND_CREATED,
        )  # fmt: skip

    def kubeconfig(self, path: Path) -> None:
        """Write the administrator's kubeconfig of a cluster that is there."""
        self._run("export", "kubeconfig", "--kubeconfig", str(path), deadline=KIND_LOGS)

    def load(self, images: Sequence[str]) -> None:
        """Give every node images that this machine's Docker has."""
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
        except BaseException:  # Ctrl-C too: cleaning up must not be overtaken by it
            process.stop(grace=0)
            raise
        if code:
            raise HostError(
                f"{what} failed; last log lines:\n{process.log_tail(20)}",
                remedy=f"all of its output is in {process.command.log}",
            )


def node_addresses(nodes: Sequence[str]) -> dict[str, str]:
    """Node to its IPv4 address in the network of kind."""
    found = json.loads(docker("inspect", *nodes))
    return {node["Name"].lstrip("/"): node["NetworkSettings"]["Networks"][NETWORK]["IPAddress"] for node in found}


def first_process(node: str) -> int:
    """The process beneath which all of a node's run, as Docker's machine knows it."""
    return int(docker("inspect", "--format={{.State.Pid}}", node))


def _gateway() -> str:
    """This machine's IPv4 address in the network of kind.

    Raises:
        HostError: it has none.
    """
    (network,) = json.loads(docker("network", "inspect", NETWORK))
    for subnet in network["IPAM"]["Config"]:
        address = str(subnet.get("Gateway", ""))
        # Docker may write the prefix behind it.
        if address and ":" not in address:
            return address.partition("/")[0]
    raise HostError(
        f"Docker's network {NETWORK} has no IPv4 gateway: {network['IPAM']['Config']}",
        remedy=f"if no cluster uses it, remove it (docker network rm {NETWORK}): kind creates it again",
    )


def require_callback(node: str) -> str:
    """This machine's address as nodes reach it: what listens there can be called from them.

    Raises:
        HostError: they cannot reach it.
    """
    address = _gateway()
    try:
        listener = socket.create_server((address, 0))
    except OSError as error:
        raise HostError(
            f"{address}, the gateway of Docker's network {NETWORK}, is no address of this machine: {error.strerror}",
            remedy="use a Docker daemon that runs on this machine itself, not in a virtual machine or elsewhere",
        ) from error
    with listener:
        port = listener.getsockname()[1]
        try:
            docker("exec", node, "timeout", "10", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}")
        except DockerError as error:
            raise HostError(
                f"the nodes of kind do not reach this machine at {address}, where taps and webhooks listen: {error}",
                remedy=f"does a firewall drop what comes in from Docker's network {NETWORK}? allow it (iptables INPUT)",
            ) from error
    return address
