"""`schedproof cluster up`: an embedded cluster that runs as long as the command does."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Callable

from schedproof.clusters.embedded.cluster import EmbeddedCluster
from schedproof.clusters.embedded.registration import start
from schedproof.clusters.registration import ClusterOptions
from schedproof.foundation.progress import Progress
from schedproof.foundation.waiting import until


def keep_up(options: ClusterOptions, progress: Progress, say: Callable[[str], None]) -> None:
    """Start the cluster, `say` how to use it, and return only by an exception; then the cluster is removed.

    Raises:
        SchedproofError: it cannot be started, or one of its daemons has ended.
        KeyboardInterrupt: the usual end.
    """
    with contextlib.closing(start(options, progress, None)) as cluster:
        # Users may send packets to the nodes without `set_load`, which would begin to scrape them.
        cluster.scrape()
        say(_description(cluster))
        until(math.inf, watching=cluster.daemons)


def _description(cluster: EmbeddedCluster) -> str:
    kubeconfig = cluster.admin_kubeconfig()
    run = [
        "schedproof", "run", "least-traffic-extender", "--cluster=existing", f"--kubeconfig={kubeconfig}",
        f"--prometheus={cluster.prometheus_url}", f"--audit-log={cluster.audit_log}",
        f"--callback-address={cluster.callback_address}", "--allow-node-changes",
    ]  # fmt: skip
    return (
        f"{len(cluster.nodes)} nodes, Kubernetes {cluster.api.version()}; gone when this command ends\n"
        f"kubeconfig: {kubeconfig}\n"
        f"prometheus: {cluster.prometheus_url}\n"
        f"audit log:  {cluster.audit_log}\n"
        f"try:        {shlex.join(run)}"
    )
