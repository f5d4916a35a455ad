"""The clusters of benchmarks: nothing runs that is not measured, or that does not serve what is measured."""

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
    """Where schedulers are measured. The nodes that it is given are objects alone: no kubelets, pods stay as bound.

    Readings come from Prometheus' own engine over series in memory, of which no scrape takes a share of the machine.
    """

    @property
    def readings(self) -> ReadingsServer: ...

    @property
    def admin_kubeconfig(self) -> Path:
        """May do everything."""

    @property
    def token(self) -> str:
        """The harness's own."""

    @property
    def daemons(self) -> Sequence[Process]:
        """Its processes in `host`'s sandbox: the cluster is broken where one ends."""

    @property
    def roots(self) -> Sequence[int]:
        """The first processes elsewhere, as our own /proc knows them: all beneath them are the cluster's."""

    @property
    def own_nodes(self) -> Sequence[Manifest]:
        """The nodes that it has without being given any."""

    def settle(self, nodes: Sequence[str]) -> None:
        """Until its controllers let pods run on these nodes that it was given."""


class LeanCluster:
    """A `Lean` cluster of processes of this machine: etcd and the apiserver, as in upstream's scheduler_perf.

    Args:
        kubernetes: the minor version.
        binaries: name to path, for all of `BINARIES`.
        logs: where the daemons' logs stay.
        audited: whether the apiserver writes an audit log; it costs every request some of its time.

    Raises:
        SchedproofError: with the last words of what failed; nothing is left running.
    """

    name = "embedded"
    hosting = None
    callback_address = "127.0.0.1"
    namespace = NAMESPACE
    capabilities: frozenset[str] = frozenset()
    device = "eth0"
    targets_servers: Mapping[str, TargetsServer] = MappingProxyType({})  # its Prometheus answers by itself
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
        """Nothing to wait for: it has no controllers."""

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name}

    def close(self) -> None:
        """End every process of this cluster. Safe to call twice."""
        self._closing.close()
