"""The control plane of embedded clusters: etcd and a kube-apiserver as processes of this machine."""

from __future__ import annotations

from pathlib import Path

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api
from schedproof.clusters.cluster import Identity, Rbac
from schedproof.daemons import certificates
from schedproof.daemons.apiserver import ApiServer, start_apiserver
from schedproof.daemons.daemon import Host
from schedproof.daemons.etcd import advance, compact, start_etcd
from schedproof.daemons.kubeconfig import write_kubeconfig


class EmbeddedSecondApiServer:
    """See `schedproof.clusters.cluster.SecondApiServer`."""

    def __init__(self, host: Host, server: ApiServer) -> None:
        self._host = host
        self.port = server.port
        self.wait_ready = server.wait_ready
        self.end = server.end

    def forget_before(self, revision: int) -> None:
        compact(self._host, revision)


class ControlPlane:
    """A control plane, which starts at once; `wait_ready` and then `introduce` make it usable.

    Args:
        host: where its processes run.
        bare: as for `start_apiserver`.
        audited: as for `start_apiserver`.
    """

    def __init__(self, host: Host, *, bare: bool = False, audited: bool = True) -> None:
        self._host = host
        self._authority = certificates.Authority(host.sandbox.scratch / "pki")
        etcd, self._etcd_url = start_etcd(host)
        self._apiserver = start_apiserver(host, self._authority, self._etcd_url, bare=bare, audited=audited)
        self.audit_log = self._apiserver.audit_log if audited else None
        self.processes = [etcd, self._apiserver.process]
        self.url = self._apiserver.url

    def wait_ready(self) -> None:
        self._apiserver.wait_ready()

    def servers(self) -> dict[str, int]:
        """See `schedproof.clusters.cluster.Cluster`."""
        return {process.command.name: process.outside_pid() for process in self.processes}

    def introduce(self) -> None:
        """Create the harness's namespace and own identity."""
        ca, admin = self._authority.certificate, self._apiserver.admin
        self.admin = Api(self.url, ca, certificate=admin.certificate, key=admin.key)
        bootstrap.system_namespace(self.admin)
        self.token = bootstrap.harness_token(self.admin)
        self.api = Api(self.url, ca, token=self.token)

    def second_apiserver(self) -> EmbeddedSecondApiServer:
        """Start a second kube-apiserver on the same etcd; returns at once."""
        return EmbeddedSecondApiServer(
            self._host, start_apiserver(self._host, self._authority, self._etcd_url, beside=self._apiserver)
        )

    def advance_versions(self, version: int) -> int:
        return advance(self._host, version)

    def component(self, user: str) -> Path:
        """Write a kubeconfig with all rights: for Kubernetes' own controllers, kwok and users."""
        return write_kubeconfig(
            self._host.sandbox.scratch / f"{user.replace(':', '-')}.kubeconfig", server=self.url,
            ca=self._authority.certificate, user=user, pair=self._authority.client(user, "system:masters"),
        )  # fmt: skip

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self.admin, name, rbac, directory=self._host.sandbox.scratch, server=self.url,
            ca=self._authority.certificate,
        )  # fmt: skip
