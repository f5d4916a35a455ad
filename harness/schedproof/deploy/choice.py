"""Chooses how a candidate is deployed on a cluster, and refuses impossible ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.scheduler_config import DEFAULT_SCHEDULER, served_by
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Identity, Site
from schedproof.daemons.scheduler import LOG_SCORES
from schedproof.deploy.deployer import Deployer
from schedproof.deploy.processes import ProcessDeployer
from schedproof.foundation.errors import UsageError

_FILES = ("certFile", "keyFile", "caFile")


def choose_deployer(
    cluster: Site,
    candidate: Candidate,
    identity: Identity,
    logs: Path,
    deploy: str | None,
    *,
    flags: Mapping[str, str] = LOG_SCORES,
) -> Deployer:
    """The deployer of the mode `deploy`; None: pods if the cluster hosts them, otherwise processes of this machine.

    `flags` are for processes; see `ProcessDeployer`.

    Raises:
        UsageError: this candidate cannot run that way on this cluster.
    """
    hosting = cluster.hosting
    if deploy is None:
        deploy = "process" if hosting is None else "pod"
    if isinstance(candidate.spec, AttachedSpec):
        return ProcessDeployer(cluster, candidate, identity, logs)  # which has nothing to start
    if deploy != "control-plane" and DEFAULT_SCHEDULER in served_by(candidate) and "real-pods" in cluster.capabilities:
        raise UsageError(
            f"{candidate.path}: it serves {DEFAULT_SCHEDULER}, as does the cluster's own scheduler",
            remedy="use --deploy control-plane to replace the cluster's scheduler, or choose another schedulerName",
        )
    if hosting is not None and hosting.static_pods is not None:
        from schedproof.deploy.control_plane import restore_scheduler

        # A run that was killed may have left another scheduler in a cluster that is kept.
        restore_scheduler(cluster.api, hosting.static_pods)
    if deploy == "process":
        return ProcessDeployer(cluster, candidate, identity, logs, flags=flags)
    if hosting is None:
        raise UsageError(
            f"--deploy {deploy}: candidates cannot run as pods on a cluster of kind {cluster.name}",
            remedy="use --deploy process, or --cluster kind",
        )
    # Docker, YAML: nothing that a run on processes should wait for.
    if deploy == "control-plane":
        from schedproof.deploy.control_plane import ControlPlaneDeployer

        if hosting.static_pods is None:
            raise UsageError(
                f"--deploy control-plane: the control plane of a cluster of kind {cluster.name} cannot be changed",
                remedy="use --deploy pod, or --cluster kind",
            )
        _require_replaceable(candidate)
        return ControlPlaneDeployer(cluster, hosting, hosting.static_pods, candidate, logs)
    from schedproof.deploy.pods import PodDeployer

    if isinstance(candidate.spec, ExtenderSpec) and (
        named := [name for name in _FILES if name in _tls(candidate.spec)]
    ):
        raise UsageError(
            f"{candidate.path}: tlsConfig.{named[0]} is a file of this machine, and its scheduler runs in a pod",
            remedy=f"give its content, base64: {named[0].replace('File', 'Data')}; or --deploy process",
        )
    return PodDeployer(cluster, hosting, candidate, logs)


def _tls(spec: ExtenderSpec) -> dict[str, str | bool]:
    return spec.config.tls_config.document() if spec.config.tls_config else {}


def _require_replaceable(candidate: Candidate) -> None:
    if not isinstance(candidate.spec, PluginSpec):
        raise UsageError(
            f"--deploy control-plane: {candidate.name} is not a compiled scheduler ({candidate.kind})",
            remedy="--deploy pod",
        )
    if candidate.files or candidate.processes:
        raise UsageError(
            f"{candidate.path}: in the control plane, a scheduler can have neither files nor other processes",
            remedy="--deploy pod",
        )
    more = set(candidate.rbac.cluster_roles) - set(SCHEDULER_RBAC.cluster_roles)
    if more or candidate.rbac.rules or candidate.rbac.roles:
        raise UsageError(
            f"{candidate.path}: spec.rbac asks for more than system:kube-scheduler may do, which is then its identity",
            remedy="use --deploy pod, where it has an identity of its own",
        )
