from __future__ import annotations

import dataclasses
import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.daemons.daemon import Host, flags, wait_http
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.http import insecure_tls
from schedproof.foundation.processes.sandbox import Process

LOG_SCORES: Mapping[str, str] = MappingProxyType({"vmodule": "schedule_one=10,extender=5"})
"""The flags for a log of the scores that each node was given (FACTS: level 10 of the scheduling cycle; the rest stays
at 2, because client-go prints request bodies from level 8 on)."""
LOG_ATTEMPTS: Mapping[str, str] = MappingProxyType({"vmodule": "schedule_one=3"})
"""Those for a line a pod: that its scheduling cycle begins (pkg/scheduler/schedule_one.go)."""

_NOT_SERVED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN, http.client.NOT_FOUND)


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """A running kube-scheduler (stock, or compiled with plugins)."""

    process: Process
    port: int

    def wait_ready(self) -> None:
        """Until /readyz says that its informers have synced.

        One that does not serve it, or only to known clients, is not waited for: plugin/healthz-readyz judges that.
        """
        wait_http(self.process, self.port, "/readyz", CANDIDATE_READY, tls=insecure_tls(), also=_NOT_SERVED)


def start_scheduler(
    host: Host,
    name: str,
    configuration: Mapping[str, Any],
    kubeconfig: Path,
    *,
    binary: str = "kube-scheduler",
    logs: Path | None = None,
    more: Mapping[str, str] = LOG_SCORES,
    contained: bool = False,
    kept: tuple[Path, ...] = (),
    shown: Mapping[str, Path] | None = None,
    env: Mapping[str, str] | None = None,
) -> Scheduler:
    """Start a kube-scheduler on a KubeSchedulerConfiguration; returns at once.

    The config file carries everything but the serving port, which has no field there. `more` are flags beside
    the usual ones. `contained`: see `Command`; for what is not Kubernetes' own. It is kept its files, and what else is
    `kept` or `shown`. `env`: beside a daemon's environment.
    """
    port = host.ports.reserve()
    file = host.sandbox.scratch / f"{name}.json"
    file.write_text(json.dumps(configuration, indent=1))
    options = {
        "config": file,
        # For the requests that its own endpoints must authenticate and authorize.
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": host.sandbox.scratch / name,
        "v": 2,
        **more,
    }
    argv = [binary, *flags(options)]
    process = (host if logs is None else dataclasses.replace(host, logs=logs)).start(
        name, argv, log="scheduler" if logs else name, env=env, contained=contained, hidden=(host.logs,),
        kept=(file, kubeconfig, *kept), shown=shown,
    )  # fmt: skip
    return Scheduler(process, port)
