"""How the components of a candidate run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from schedproof.candidates.deploy.component import Component
    from schedproof.candidates.kinds import CommandSpec
    from schedproof.clusters.cluster import Identity

__all__ = ["DEPLOY_MODES", "DeployMode", "Deployer", "Served"]

DeployMode = Literal["process", "pod", "control-plane"]
DEPLOY_MODES: tuple[DeployMode, ...] = ("process", "pod", "control-plane")
"""What `--deploy` takes: processes of this machine, pods, in the place of the control plane's own scheduler."""


@dataclasses.dataclass(frozen=True)
class Served:
    """A candidate's own program. `outside` is where this machine reaches its port, `inside` where its scheduler does:
    each `address:port`, empty where it listens on none.
    """

    component: Component
    outside: str
    inside: str


class Deployer(Protocol):
    """One candidate's, on one cluster. `close` takes away what stopping its components leaves."""

    @property
    def name(self) -> DeployMode: ...

    @property
    def acts_as(self) -> str:
        """The user that the audit log names in the place of its identities; empty where it is theirs."""

    @property
    def values(self) -> Mapping[str, str]:
        """The placeholders' values that depend on where it runs."""

    def kubeconfig(self, identity: Identity) -> Path:
        """That of an identity, as a component finds it."""

    def start_command(self, spec: CommandSpec, values: Mapping[str, str]) -> Served:
        """Start the candidate's own program; returns at once.

        Raises:
            CandidateError: it cannot be started at all.
        """

    def start_scheduler(self, configuration: Mapping[str, Any], identity: Identity, binary: str) -> Component:
        """Start a kube-scheduler on a KubeSchedulerConfiguration; returns at once.

        `binary` is an absolute path, or the bare name of the stock scheduler.
        """

    def close(self) -> None: ...
