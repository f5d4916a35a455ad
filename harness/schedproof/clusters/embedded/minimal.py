"""Minimal clusters for benchmarks: they only run what is measured, and what measurements need."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Manifest
from schedproof.clusters.cluster import NAMESPACE, Identity, Rbac, Site
from schedproof.clusters.embedded.control_plane import ControlPlane
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import opened_host
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.foundation.processes.sandbox import Process

BINARIES = ("etcd", "kube-apiserver", "kube-scheduler", "readings-server")


class Lean(Site, Protocol):
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


class LeanCluster:
    """A `Lean` cluster of processes of this machine: etcd and the apiserver, as in upstream's scheduler_perf.

    Args:
        kubernetes: the minor version.
        binaries: name to path, for all of `BINARIES`.
        logs: the folder for the daemons' logs; None: they are removed with the cluster.
        audited: whether the apiserver writes an audit log, which slows every request.

    Raises:
        SchedproofError: has the last log lines of the failed process; nothing is left running.
    """

    name = "embedded"
    hosting = None
    callback_address = "127.0.0.1"
    namespace = NAMESPACE
    capabilities: frozenset[str] = frozenset()
    device = "eth0"
    targets_servers: Mapping[str, TargetsServer] = MappingProxyType({})  # `readings` answers by itself
    roots: Sequence[int] = ()
    own_nodes: Sequence[Manifest] = ()

    def __init__(
        self, kubernetes: str, binaries: Mapping[str, Path], logs: Path | None, *, audited: bool = False
    ) -> None:
        self.kubernetes = kubernetes
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, logs, audited=audited)
            undo.pop_all()

    def _start(self, binaries: Mapping[str, Path], logs: Path | None, *, audited: bool) -> None:
        begin = time.monotonic()
        self.host = self._closing.enter_context(opened_host(binaries, logs))
        self._plane = ControlPlane(self.host, bare=True, audited=audited)
        self.audit_log = self._plane.audit_log
        self.daemons = self._plane.processes
        self.readings = ReadingsServer(binaries["readings-server"], self.host.logs)
        self._closing.callback(self.readings.close)
        self.prometheus_url = self.readings.url
        self._plane.wait_ready()
        self._plane.introduce()
        self.api, self.token = self._plane.api, self._plane.token
        bootstrap.exempt(self.api)
        self.admin_kubeconfig = self._plane.component("admin")
        self.timings = {"total": time.monotonic() - begin}

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return self._plane.identity(name, rbac)

    def settle(self, nodes: Sequence[str]) -> None:
        """Return at once: there are no controllers."""

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name}

    def close(self) -> None:
        """End all processes of this cluster. Safe to call twice."""
        self._closing.close()
