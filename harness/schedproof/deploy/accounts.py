"""The ServiceAccount credentials of a candidate's processes, as files, as in a pod."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.cluster import Identity
from schedproof.daemons.kubeconfig import IN_CLUSTER, in_cluster, write_account


class Accounts:
    """The credential files of one candidate. Their tokens differ from those of the identities' kubeconfigs.

    The audit log names the token of each request, so it shows which of the two a program uses.

    Args:
        api: with an identity that may create tokens.
        parent: makes the folder for the folders of the identities.

    Attributes:
        bound_to: a Secret in the identities' namespace; tokens of processes that start from here on expire with it.
    """

    def __init__(self, api: Api, parent: Callable[[], Path]) -> None:
        self._api, self._parent = api, parent
        self.bound_to: Manifest | None = None
        self._laid_out: dict[Path, tuple[Identity, str]] = {}
        """By folder: the identity, and its current token."""

    def lay_out(self, identity: Identity) -> tuple[Mapping[str, Path], Mapping[str, str]]:
        """For a process that starts: its folder by the path at which the process sees it, and the matching environment.

        Both are empty if a pod could not use the server of the identity's kubeconfig.
        """
        folder = self._parent() / f"account-{identity.name}"

        def token() -> str:
            made = self._api.token(identity.namespace, identity.name, bound_to=self.bound_to)
            self._laid_out[folder] = identity, made
            return made

        environment = in_cluster(identity.kubeconfig, folder, identity.namespace, token)
        return ({IN_CLUSTER: folder}, environment) if environment else ({}, {})

    def replace_tokens(self) -> None:
        """Replace all tokens by new ones that are bound to nothing, as a kubelet does before they expire."""
        for folder, (identity, _) in self._laid_out.items():
            token = self._api.token(identity.namespace, identity.name)
            write_account(folder, {"token": token.encode()})
            self._laid_out[folder] = identity, token

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens that are in the files now."""
        return [token for _, token in self._laid_out.values()]

    @property
    def credentials(self) -> Sequence[str]:
        """The ids of these tokens in the audit log: `authentication.kubernetes.io/credential-id` of a user."""
        return [f"JTI={_claims(token)['jti']}" for token in self.tokens]


def _claims(token: str) -> Mapping[str, str]:
    """The payload of a JSON Web Token, unverified."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert isinstance(claims, dict)
    return claims
