"""Minimal clusters for benchmarks: they only run what is measured, and what measurements need."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from schedproof.clusters.api import Manifest
from schedproof.clusters.cluster import NAMESPACE, Site
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.foundation.processes.sandbox import Process


class MinimalCluster(Site, Protocol):
    """A cluster in which schedulers are measured. Nodes added to it are only objects: no kubelets, pods stay as bound.

    Readings come from Prometheus' own engine over series in memory: no scrapes take processor time.
    """

    @property
    def readings(self) -> ReadingsServer: ...

    @property
    def admin_kubeconfig(self) -> Path:
        """A kubeconfig with all rights."""

    @property
    def token(self) -> str:
        """The token of the harness's own identity."""

    @property
    def daemons(self) -> Sequence[Process]:
        """Its processes in `host`'s sandbox: if one of them ends, the cluster is broken."""

    @property
    def roots(self) -> Sequence[int]:
        """Pids of its root processes outside the sandbox, in this machine's /proc; all descendants belong to it."""

    @property
    def own_nodes(self) -> Sequence[Manifest]:
        """The nodes that it has before any are added."""

    def settle(self, nodes: Sequence[str]) -> None:
        """Wait until its controllers let pods run on these added nodes."""


class MinimalBase:
    """What the kinds of minimal clusters share."""

    hosting = None
    callback_address = "127.0.0.1"
    namespace = NAMESPACE
    capabilities: frozenset[str] = frozenset()
    device = "eth0"
    targets_servers: Mapping[str, TargetsServer] = MappingProxyType({})  # `readings` answers by itself
    roots: Sequence[int] = ()
    own_nodes: Sequence[Manifest] = ()
    daemons: Sequence[Process] = ()
    host: Host

    def __init__(self, kubernetes: str) -> None:
        self.kubernetes = kubernetes
        self._closing = contextlib.ExitStack()

    def _serve_readings(self, binaries: Mapping[str, Path]) -> None:
        self.readings = ReadingsServer(binaries["readings-server"], self.host.logs)
        self._closing.callback(self.readings.close)
        self.prometheus_url = self.readings.url

    def close(self) -> None:
        """End all processes of this cluster, and remove its containers. Safe to call twice."""
        self._closing.close()
