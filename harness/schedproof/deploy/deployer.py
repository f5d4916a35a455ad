"""How the components of a candidate run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from schedproof.candidate.kinds import CommandSpec, ProcessSpec
from schedproof.clusters.cluster import Identity
from schedproof.deploy.accounts import Accounts
from schedproof.deploy.component import Client, Component

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

    @property
    def accounts(self) -> Accounts | None:
        """The ServiceAccounts' credentials that its components find as files; None where kubelets see to that."""

    def kubeconfig(self, identity: Identity) -> Path:
        """That of an identity, as a component finds it."""

    def own_values(self, process: ProcessSpec, identity: Identity) -> Mapping[str, str]:
        """The placeholders' values that a process of the candidate has instead of those of its scheduler."""

    def start_command(
        self,
        spec: CommandSpec,
        identity: Identity,
        values: Mapping[str, str],
        files: Mapping[str, str],
        client: Client | None = None,
    ) -> Served:
        """Start the candidate's own program, or a process of it; returns at once.

        `files` is what it is given as files: name below `{files}`, and text. `client` is how it is asked whether it is
        ready; None: over HTTP.

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
