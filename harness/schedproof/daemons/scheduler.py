from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from schedproof.daemons.daemon import Host, flags, insecure_tls, wait_http
from schedproof.foundation.deadlines import CANDIDATE_READY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from schedproof.foundation.sandbox import Process

__all__ = ["Scheduler", "start_scheduler"]


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """A running kube-scheduler (stock, or compiled with plugins)."""

    process: Process
    port: int

    def wait_ready(self) -> None:
        """Until /readyz says that its informers have synced."""
        wait_http(self.process, self.port, "/readyz", CANDIDATE_READY, tls=insecure_tls())


def start_scheduler(
    host: Host,
    name: str,
    configuration: Mapping[str, Any],
    kubeconfig: Path,
    *,
    binary: str = "kube-scheduler",
    logs: Path | None = None,
) -> Scheduler:
    """Start a kube-scheduler on a KubeSchedulerConfiguration; returns at once.

    The config file carries everything but the serving port, which has no field there. Its log tells the
    scores that each node was given (FACTS: level 10 of the scheduling cycle; the rest stays at 2, because
    client-go prints request bodies from level 8 on).
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
        "vmodule": "schedule_one=10,extender=5",
    }
    if logs is not None:
        host = dataclasses.replace(host, logs=logs)
    return Scheduler(host.start(name, [binary, *flags(options)], log="scheduler" if logs else name), port)
