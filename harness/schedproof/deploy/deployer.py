"""The interface by which the components of a candidate are run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from schedproof.candidate.kinds import CommandSpec
from schedproof.candidate.surroundings import ProcessSpec
from schedproof.clusters.cluster import Identity
from schedproof.deploy.accounts import Accounts
from schedproof.deploy.component import Client, Component

DeployMode = Literal["process", "pod", "control-plane"]
DEPLOY_MODES: tuple[DeployMode, ...] = ("process", "pod", "control-plane")
"""The values of `--deploy`: processes of this machine, pods, or instead of the control plane's own scheduler."""


@dataclasses.dataclass(frozen=True)
class Served:
    """A candidate's own program. `outside` is its address for this machine, `inside` for its scheduler: each
    `address:port`, empty if it listens on none.
    """

    component: Component
    outside: str
    inside: str


class Deployer(Protocol):
    """The deployer of one candidate on one cluster. `close` removes what is left after its components are stopped."""

    @property
    def name(self) -> DeployMode: ...

    @property
    def acts_as(self) -> str:
        """The user in the audit log instead of its identities; empty if it is theirs."""

    @property
    def reaches_harness(self) -> bool:
        """Whether its components can connect to servers of this machine, such as taps."""

    @property
    def prometheus_url(self) -> str:
        """The URL of the cluster's Prometheus for components that cannot."""

    @property
    def values(self) -> Mapping[str, str]:
        """The placeholders' values that depend on where it runs."""

    @property
    def accounts(self) -> Accounts | None:
        """The ServiceAccounts' credentials as files for its components; None if kubelets provide them."""

    def kubeconfig(self, identity: Identity) -> Path:
        """The path of an identity's kubeconfig, as a component sees it."""

    def own_values(self, process: ProcessSpec, identity: Identity) -> Mapping[str, str]:
        """The placeholders' values that differ between a process of the candidate and its scheduler."""

    def start_command(
        self,
        spec: CommandSpec,
        identity: Identity,
        values: Mapping[str, str],
        files: Mapping[str, str],
        client: Client | None = None,
    ) -> Served:
        """Start the candidate's own program, or one of its processes; returns at once.

        `files` are its files: name below `{files}`, and text. `client` checks whether it is ready; None: over HTTP.

        Raises:
            CandidateError: it cannot be started at all.
        """

    def start_scheduler(
        self, configuration: Mapping[str, Any], identity: Identity, binary: str, files: Mapping[str, str]
    ) -> Component:
        """Start a kube-scheduler on a KubeSchedulerConfiguration; returns at once.

        `binary` is an absolute path, or the bare name of the stock scheduler. `files`: as for `start_command`.
        """

    def close(self) -> None: ...
