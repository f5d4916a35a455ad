"""The minimal cluster for benchmarks on kind: kind's control plane in a container, with all its controllers."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api
from schedproof.clusters.cluster import Identity, Rbac
from schedproof.clusters.kind.cli import first_process
from schedproof.clusters.kind.docker import require_docker
from schedproof.clusters.kind.nodes import KindNodes
from schedproof.clusters.minimal import MinimalBase
from schedproof.clusters.monitoring import CONTROL_PLANE
from schedproof.clusters.nodes import wait_ready
from schedproof.clusters.spec import KindSpec
from schedproof.daemons.daemon import opened_host

_TAINTED = {"spec": {"taints": [{"key": CONTROL_PLANE, "effect": "NoSchedule"}]}}
_ON_CONTROL_PLANE_ONLY = {
    "spec": {
        "updateStrategy": {"type": "OnDelete", "rollingUpdate": None},  # keep the running pods
        "template": {"spec": {"nodeSelector": {CONTROL_PLANE: ""}}},
    }
}


class MinimalKindCluster(MinimalBase):
    """A `MinimalCluster` on kind: one container, kind's control plane; other nodes are objects.

    kind's own pods stay, including kube-scheduler, which runs beside a second scheduler in any cluster.

    Args:
        kubernetes: the minor version.
        binaries: name to path, for all of its registration.
        image: of the node, in this machine's Docker.
        logs: the folder for the logs.
        audited: whether the apiserver writes an audit log, which slows every request.

    Raises:
        SchedproofError: has the last log lines of the failed process; nothing is left running.
    """

    name = "kind"

    def __init__(
        self, kubernetes: str, binaries: Mapping[str, Path], image: str, logs: Path, *, audited: bool = False
    ) -> None:
        super().__init__(kubernetes)
        self._docker = require_docker()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, image, logs, audited=audited)
            undo.pop_all()

    def _start(self, binaries: Mapping[str, Path], image: str, logs: Path, *, audited: bool) -> None:
        begin = time.monotonic()
        self.host = self._closing.enter_context(opened_host(binaries, logs))
        spec = KindSpec(self.kubernetes, 0.0, 0, {}, audited=audited)
        nodes = KindNodes(self.host, spec, name=f"schedproof-{secrets.token_hex(3)}", image=image, keep=False)
        self._closing.callback(nodes.close)
        self.audit_log = nodes.audit_log if audited else None
        self.roots = [first_process(nodes.control_plane)]
        self._admin, self._ca = nodes.admin({})
        self._separate_pods(nodes.control_plane)
        bootstrap.system_namespace(self._admin)
        bootstrap.exempt(self._admin)
        self.token = bootstrap.harness_token(self._admin)
        self.api = Api(self._admin.url, self._ca, token=self.token)
        self.admin_kubeconfig = self.identity("schedproof-driver", Rbac(cluster_roles=("cluster-admin",))).kubeconfig
        self._serve_readings(binaries)
        self.timings = {"total": time.monotonic() - begin}

    def _separate_pods(self, node: str) -> None:
        """Keep the measured pods off kind's own node, and kind's pods off added nodes."""
        wait_ready(self._admin, [node])
        # Without workers, kind lets all pods run on the control plane.
        self._admin.merge("nodes", node, _TAINTED)
        for daemon_set in self._admin.list("daemonsets")["items"]:
            metadata = daemon_set["metadata"]
            self._admin.merge("daemonsets", metadata["name"], _ON_CONTROL_PLANE_ONLY, metadata["namespace"])
        self.own_nodes = [self._admin.get("nodes", node)]

    def settle(self, nodes: Sequence[str]) -> None:
        wait_ready(self.api, nodes)

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self._admin, name, rbac, directory=self.host.sandbox.scratch, server=self._admin.url, ca=self._ca
        )

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name, "docker": self._docker.version}
