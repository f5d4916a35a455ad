"""The registration of clusters that others run, and the checks of the options about one."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.clusters.registration import ClusterKind, ClusterOptions, Surveyed
from schedproof.foundation.counted import counted
from schedproof.foundation.errors import UsageError
from schedproof.foundation.progress import Progress
from schedproof.foundation.redaction import SECRETS

if TYPE_CHECKING:
    from schedproof.clusters.existing.cluster import ExistingCluster
    from schedproof.clusters.existing.survey import ExistingOptions

_PREFIX = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")


def _start(
    options: ClusterOptions,
    progress: Progress,
    logs: Path | None,
    *,
    readings: bool = True,
) -> ExistingCluster:
    """See `Starter`. Its Prometheus is the user's, or the cluster's own."""
    from schedproof.binaries.resolve import paths
    from schedproof.clusters.existing.access import check_kubeconfig
    from schedproof.clusters.existing.cluster import ExistingCluster, binaries_for

    assert logs is not None
    described = _described(options)
    if described.kubeconfig is not None:
        check_kubeconfig(described.kubeconfig, described.context)
    with progress.step(
        f"connecting to the cluster {f'in {options.kubeconfig}' if options.kubeconfig else 'of this pod'}",
        why="one run at a time; leftovers of an earlier run are removed first",
    ):
        return ExistingCluster(
            described,
            lambda kubernetes: paths(binaries_for(described), kubernetes, options.binaries, progress),
            logs,
            readings=readings,
        )


def _described(options: ClusterOptions) -> ExistingOptions:
    from schedproof.clusters.existing.hosting import PYTHON
    from schedproof.clusters.existing.survey import DEFAULT_PREFIX, ExistingOptions

    return ExistingOptions(
        options.kubeconfig, options.prometheus or "", options.context or "",
        options.namespace_prefix or DEFAULT_PREFIX, options.allow_node_changes, options.audit_log,
        options.callback_address or "", options.allow_restart, options.allow_load, options.registry or "",
        options.python_image or PYTHON, "kube-scheduler" in options.binaries,
    )  # fmt: skip


@contextlib.contextmanager
def _surveyed(options: ClusterOptions) -> Iterator[Surveyed]:
    """See `ClusterKind.survey`. Nothing is changed."""
    from schedproof.clusters.existing.access import read_access
    from schedproof.clusters.existing.survey import ADDED_BY, explaining_refusals, require_prometheus, survey, touched

    described = _described(options)
    with tempfile.TemporaryDirectory() as scratch:
        access = read_access(described.kubeconfig, described.context, Path(scratch))
        api = access.api()
        with explaining_refusals(access):
            found = survey(api, described)
            where = (
                f"the cluster at {access.url} (context {access.context}, {counted(len(found.nodes), 'usable node')})"
            )
            yield Surveyed(
                where,
                api,
                found.kubernetes,
                found.nodes,
                found.capabilities,
                touched(described, access),
                ADDED_BY,
                lambda: require_prometheus(described, found.prometheus),
            )


def _check(options: ClusterOptions) -> None:
    from schedproof.clusters.existing.access import in_cluster

    SECRETS.learn({"": options.prometheus or ""})
    if options.kubeconfig is None and not in_cluster():
        raise UsageError(
            "--cluster existing needs --kubeconfig",
            remedy="--kubeconfig FILE: that of the cluster. Only in a pod with a ServiceAccount it may be left out",
        )
    if options.kubeconfig is None and options.context:
        raise UsageError(
            "--context needs --kubeconfig, the file that has this context",
            remedy="add --kubeconfig FILE, or leave out --context",
        )
    if options.audit_log is not None and not options.audit_log.is_file():
        raise UsageError(
            f"--audit-log {options.audit_log}: the file does not exist",
            remedy="name the file that the apiserver writes, or leave it out: clauses that need it are skipped",
        )
    if options.namespace_prefix is not None and not _PREFIX.fullmatch(options.namespace_prefix):
        raise UsageError(
            f"--namespace-prefix {options.namespace_prefix}: not the beginning of a valid namespace name",
            remedy="use up to 30 lower-case letters, digits and dashes, beginning with a letter",
        )
    if options.callback_address is not None:
        _check_callback(options.callback_address)


def _check_callback(address: str) -> None:
    import ipaddress
    import socket

    try:
        # A certificate is made for it.
        ipaddress.ip_address(address)
        socket.create_server((address, 0)).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--callback-address {address}: this machine cannot listen there: {error}",
            remedy="name one of this machine's IP addresses, at which the apiserver reaches it; or leave it out",
        ) from error


EXISTING = ClusterKind(
    "existing", _start,
    options=(
        "kubeconfig", "context", "prometheus", "namespace_prefix", "allow_node_changes", "allow_restart",
        "audit_log", "callback_address", "allow_load", "registry", "python_image",
    ),
    check=_check, deploys=("process", "pod"), attaches=True, survey=_surveyed,
    single="an existing cluster is one cluster: it cannot be shared", local=False,
)  # fmt: skip
