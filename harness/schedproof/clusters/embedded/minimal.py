"""The minimal embedded cluster for benchmarks: etcd and the apiserver, without controllers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.clusters import bootstrap
from schedproof.clusters.cluster import Identity, Rbac
from schedproof.clusters.embedded.control_plane import ControlPlane
from schedproof.clusters.minimal import MinimalBase
from schedproof.daemons.daemon import opened_host


class MinimalEmbeddedCluster(MinimalBase):
    """A `MinimalCluster` of processes of this machine: etcd and the apiserver, as in upstream's scheduler_perf.

    Args:
        kubernetes: the minor version.
        binaries: name to path, for all of its registration.
        logs: the folder for the daemons' logs; None: they are removed with the cluster.
        audited: whether the apiserver writes an audit log, which slows every request.

    Raises:
        SchedproofError: has the last log lines of the failed process; nothing is left running.
    """

    name = "embedded"

    def __init__(
        self, kubernetes: str, binaries: Mapping[str, Path], logs: Path | None, *, audited: bool = False
    ) -> None:
        super().__init__(kubernetes)
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
        self._serve_readings(binaries)
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
