from __future__ import annotations

import dataclasses
import ssl
from pathlib import Path

from schedproof.daemons.certificates import Authority, KeyPair
from schedproof.daemons.daemon import Host, flags, switches, wait_http
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CONTROL_PLANE_READY
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.sandbox import Process

_AUDIT_MEGABYTES = 1_000_000
"""More than any run writes."""
_ENDING = 10
"""Seconds that it may take to close its watches, and then to end."""


@dataclasses.dataclass(frozen=True)
class ApiServer:
    """A kube-apiserver with TLS, RBAC and an audit log of all requests that concern scheduling."""

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
        """Wait until /readyz reports that the RBAC bootstrap and all other start hooks are done."""
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        context.load_cert_chain(self.admin.certificate, self.admin.key)
        wait_http(self.process, self.port, "/readyz", CONTROL_PLANE_READY, tls=context)

    def end(self) -> None:
        """Stop the server gracefully: it first closes its watches without an error."""
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
        bare: for a cluster without controllers, whose nodes are only objects. It omits the admission that taints
            new nodes and requires a ServiceAccount in each namespace, because nothing would remove the taints or
            create the ServiceAccounts. Upstream's scheduler_perf omits the same admission.
        audited: whether it writes an audit log, which slows every request.
        beside: the first server, if this is a second server on the same etcd. It uses the same credentials and
            audit log. It has no watch cache, so it refuses to resume a watch at a revision that etcd has compacted.
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
        # Nothing serves these addresses. Loopback refuses a connection at once, for example to a webhook's Service;
        # packets to any other address would leave the machine.
        "service-cluster-ip-range": "127.96.0.0/16",
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
        **host.gate_options,
        **({"runtime-config": switches(host.apis)} if host.apis else {}),
    }
    if bare:
        options["disable-admission-plugins"] = "ServiceAccount,TaintNodesByCondition"
    if beside is not None:
        options |= {
            "watch-cache": False,
            # Before it ends, it closes its watches as after their timeout.
            "shutdown-watch-termination-grace-period": f"{_ENDING}s",
        }
    if audited:
        # kube-apiserver appends to an existing file, so two servers can write to it; rotation would break this.
        make_private(audit_log.parent)
        audit_log.touch(mode=0o600)
        options |= {
            "audit-log-maxsize": _AUDIT_MEGABYTES,
            "audit-policy-file": content("clusters", "audit-policy.yaml"),
            "audit-log-path": audit_log,
            # Blocking: a request's line is written soon after its effect; batches would be written seconds later.
            "audit-log-mode": "blocking",
        }
    name = "kube-apiserver" if beside is None else "kube-apiserver-2"
    process = host.start(name, ["kube-apiserver", *flags(options)])
    admin = authority.client("schedproof-admin", "system:masters") if beside is None else beside.admin
    return ApiServer(process, port, authority, serving, admin, signing, audit_log)
