from __future__ import annotations

import dataclasses
import ssl
from pathlib import Path

from schedproof.daemons.certificates import Authority, KeyPair
from schedproof.daemons.daemon import Host, flags, wait_http
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CONTROL_PLANE_READY
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.sandbox import Process

_AUDIT_MEGABYTES = 1_000_000
"""More than any run writes."""
_ENDING = 10
"""Seconds that it may take to end its watches, and then itself."""


@dataclasses.dataclass(frozen=True)
class ApiServer:
    """A kube-apiserver with TLS, RBAC and an audit log of everything that concerns scheduling."""

    process: Process
    port: int
    authority: Authority
    serving: KeyPair
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

    def end(self) -> None:
        """Have it end its watches, as it does for any other reason without an error, and then end it."""
        self.process.stop(grace=_ENDING)


def start_apiserver(
    host: Host,
    authority: Authority,
    etcd_url: str,
    *,
    bare: bool = False,
    audited: bool = True,
    beside: ApiServer | None = None,
) -> ApiServer:
    """Start kube-apiserver; returns at once.

    Args:
        host: where it runs.
        authority: signs its certificate, and those of its clients.
        etcd_url: of its etcd.
        bare: for a cluster without controllers, whose nodes are objects alone. Nothing would remove the taint that
            nodes get at their creation, or make a ServiceAccount in each namespace. Upstream's scheduler_perf does
            without the same admission.
        audited: whether it writes an audit log, which takes a share of every request.
        beside: the first one, where this is a second one on the same etcd. It takes the same credentials, and writes
            into the same audit log. Without a cache it refuses to resume a watch from what etcd has compacted.
    """
    serving = authority.server("kube-apiserver") if beside is None else beside.serving
    signing = authority.signing_key("service-account") if beside is None else beside.service_account_key
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
    if beside is not None:
        options |= {
            "watch-cache": False,
            # With this it ends its watches as after their time-out, before it ends.
            "shutdown-watch-termination-grace-period": f"{_ENDING}s",
        }
    if audited:
        # A file that is there is opened for appending, so that two can write into it; a rotation would undo that.
        make_private(audit_log.parent)
        audit_log.touch(mode=0o600)
        options |= {
            "audit-log-maxsize": _AUDIT_MEGABYTES,
            "audit-policy-file": content("clusters", "audit-policy.yaml"),
            "audit-log-path": audit_log,
            # Blocking: once a request has an effect, its line follows soon; batches would come seconds later.
            "audit-log-mode": "blocking",
        }
    name = "kube-apiserver" if beside is None else "kube-apiserver-2"
    process = host.start(name, ["kube-apiserver", *flags(options)])
    admin = authority.client("schedproof-admin", "system:masters") if beside is None else beside.admin
    return ApiServer(process, port, authority, serving, admin, signing, audit_log)
