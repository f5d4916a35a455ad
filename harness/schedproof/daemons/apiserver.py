from __future__ import annotations

import dataclasses
import ssl
from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags, wait_http
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CONTROL_PLANE_READY

if TYPE_CHECKING:
    from pathlib import Path

    from schedproof.daemons.certificates import Authority, KeyPair
    from schedproof.foundation.sandbox import Process

__all__ = ["ApiServer", "start_apiserver"]


@dataclasses.dataclass(frozen=True)
class ApiServer:
    """A kube-apiserver with TLS, RBAC and an audit log of everything that concerns scheduling."""

    process: Process
    port: int
    authority: Authority
    admin: KeyPair
    service_account_key: Path
    audit_log: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        """Until /readyz says that the RBAC bootstrap and all other start hooks are done."""
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        context.load_cert_chain(self.admin.certificate, self.admin.key)
        wait_http(self.process, self.port, "/readyz", CONTROL_PLANE_READY, tls=context)


def start_apiserver(
    host: Host, authority: Authority, etcd_url: str, *, bare: bool = False, audited: bool = True
) -> ApiServer:
    """Start kube-apiserver; returns at once.

    Args:
        host: where it runs.
        authority: who signs its certificate, and those of its clients.
        etcd_url: of its etcd.
        bare: for a cluster without controllers, whose nodes are objects alone. Nothing would remove the taint that
            nodes get at their creation, or make a ServiceAccount in each namespace. Upstream's scheduler_perf does
            without the same admission.
        audited: whether it writes an audit log, which takes a share of every request.
    """
    serving = authority.server("kube-apiserver")
    signing = authority.signing_key("service-account")
    port = host.ports.reserve()
    audit_log = host.logs / "audit.jsonl"
    options = {
        "etcd-servers": etcd_url,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": port,
        # Nothing here resolves the `kubernetes` Service; without endpoints the address may be loopback.
        "endpoint-reconciler-type": "none",
        "service-cluster-ip-range": "198.19.0.0/16",
        "cert-dir": host.sandbox.scratch / "apiserver",
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "client-ca-file": authority.certificate,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": signing,
        "service-account-signing-key-file": signing,
        "allow-privileged": True,
        "profiling": False,
    }
    if bare:
        options["disable-admission-plugins"] = "ServiceAccount,TaintNodesByCondition"
    if audited:
        options |= {
            "audit-policy-file": content("clusters", "audit-policy.yaml"),
            "audit-log-path": audit_log,
            # Blocking: once a request has an effect, its line follows soon; batches would come seconds later.
            "audit-log-mode": "blocking",
        }
    process = host.start("kube-apiserver", ["kube-apiserver", *flags(options)])
    admin = authority.client("schedproof-admin", "system:masters")
    return ApiServer(process, port, authority, admin, signing, audit_log)
