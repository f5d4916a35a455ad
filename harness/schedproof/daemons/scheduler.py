from __future__ import annotations

import dataclasses
import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.daemons.daemon import GATES, Host, flags, wait_http
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.http import insecure_tls
from schedproof.foundation.processes.sandbox import Process

LOG_SCORES: Mapping[str, str] = MappingProxyType({"vmodule": "schedule_one=10,extender=5"})
"""Flags that log each node's scores: level 10 of the scheduling cycle. The rest stays at 2, because client-go prints
request bodies from level 8 on.
"""
LOG_ATTEMPTS: Mapping[str, str] = MappingProxyType({"vmodule": "schedule_one=3"})
"""Flags that log a line for each pod at the start of its scheduling cycle (pkg/scheduler/schedule_one.go)."""

_NOT_SERVED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN, http.client.NOT_FOUND)


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """A running kube-scheduler (stock, or compiled with plugins)."""

    process: Process
    port: int

    def wait_ready(self) -> None:
        """Wait until /readyz reports that its informers have synced.

        Does not wait if /readyz is missing or requires known clients: plugin/healthz-readyz judges that.
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
    """Start a kube-scheduler with a KubeSchedulerConfiguration; returns at once.

    The configuration has all settings but the serving port, which has no field in it. `more`: additional flags; feature
    gates among them come after those of the host.
    `contained`: for binaries that are not from Kubernetes; see `Command`. It sees its own files, and those that are
    `kept` or `shown`. `env`: additional environment variables.
    """
    port = host.ports.reserve()
    file = host.sandbox.scratch / f"{name}.json"
    file.write_text(json.dumps(configuration, indent=1))
    options = {
        "config": file,
        # For requests to its own endpoints, which it must authenticate and authorize.
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": host.sandbox.scratch / name,
        "v": 2,
        **more,
    }
    gates = [found for options in (host.gate_options, more) if (found := options.get(GATES))]
    if gates:
        options[GATES] = ",".join(gates)
    argv = [binary, *flags(options)]
    process = (host if logs is None else dataclasses.replace(host, logs=logs)).start(
        name, argv, log="scheduler" if logs else name, env=env, contained=contained, hidden=(host.logs,),
        kept=(file, kubeconfig, *kept), shown=shown,
    )  # fmt: skip
    return Scheduler(process, port)
