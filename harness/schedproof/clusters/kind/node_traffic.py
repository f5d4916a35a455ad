"""Sends real packets through the interfaces of a kind cluster's workers, at chosen rates."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.kind.cli import NETWORK, docker_environment
from schedproof.clusters.kind.ownership import LOCK_LABEL
from schedproof.daemons.daemon import Host
from schedproof.foundation.deadlines import CONTAINER_ANSWERS
from schedproof.foundation.errors import HostError

_ENGINE = "schedproof.traffic.traffic_engine"
_PACKAGE = Path(__file__).resolve().parents[2]


def container_names(cluster: str, nodes: Sequence[str]) -> list[str]:
    """Return the names of the containers that carry a cluster's traffic."""
    return [f"{cluster}-traffic", *(f"{node}-traffic" for node in nodes)]


class NodeTraffic:
    """Containers that send traffic: one beside the nodes, for what they receive, and one in each node's network, for
    what it transmits.

    A container ends when its standard input closes, at the latest with the harness. The constructor returns at once;
    `set_rates` waits for the containers.

    Args:
        host: where the Docker clients run.
        cluster: its name.
        nodes: name to IPv4 address.
        image: has python3.
        lock: the cluster's lock file, which labels its containers.
    """

    def __init__(self, host: Host, cluster: str, nodes: Mapping[str, str], *, image: str, lock: Path) -> None:
        self._nodes = dict(nodes)
        self._lock = threading.Lock()
        beside, *within = container_names(cluster, list(nodes))
        self._beside = _Engine(host, beside, NETWORK, image, lock)
        self._within = {
            node: _Engine(host, name, f"container:{node}", image, lock)
            for node, name in zip(nodes, within, strict=True)
        }

    def set_rates(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        """Set rates as `Fabric.set_rates`: bytes per second at each node's device, headers included.

        Raises:
            HostError: a container has ended.
        """
        with self._lock:
            if direction == "receive":
                self._beside.set_rates({self._nodes[node]: rate for node, rate in rates.items()})
                return
            for node, rate in rates.items():
                self._within[node].set_rates({self._beside.address: rate})

    def close(self) -> None:
        """End all containers; returns when their clients have ended."""
        for engine in (self._beside, *self._within.values()):
            engine.end()
        for engine in (self._beside, *self._within.values()):
            engine.process.wait(CONTAINER_ANSWERS.seconds)


class _Engine:
    """A container that sends packets."""

    def __init__(self, host: Host, name: str, network: str, image: str, lock: Path) -> None:
        ours, theirs = socket.socketpair()
        argv = (
            "docker", "run", "--rm", "--interactive", "--pull=never", "--name", name, "--network", network,
            "--label", f"{LOCK_LABEL}={lock}", "--volume", f"{_PACKAGE}:/harness/schedproof:ro",
            "--env=PYTHONPATH=/harness", "--env=PYTHONDONTWRITEBYTECODE=1", "--entrypoint=python3",
            image, "-S", "-m", _ENGINE,
        )  # fmt: skip
        with theirs:
            self.process = host.start(
                name, argv, log="traffic", env=docker_environment(), fds={0: theirs.fileno(), 1: theirs.fileno()}
            )
        ours.settimeout(CONTAINER_ANSWERS.seconds)
        self._control = ours
        self._answers = ours.makefile("rb")
        self._address = ""

    @property
    def address(self) -> str:
        """The container's own address, known once it runs."""
        if not self._address:
            self._address = str(self._next()["address"])
        return self._address

    def set_rates(self, rates: Mapping[str, float]) -> None:
        assert self.address  # sent by the container before all answers
        self._next({"rates": dict(rates)})

    def _next(self, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            if request is not None:
                self._control.sendall(json.dumps(request).encode() + b"\n")
            line = self._answers.readline()
        except OSError:
            line = b""
        if not line:
            raise HostError(
                f"{self.process.command.name} does not respond; last log lines of all traffic "
                f"containers:\n{self.process.log_tail()}",
                remedy="check free memory (`dmesg`) and Docker's disk space (`docker system df`)",
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        self._answers.close()
        self._control.close()
