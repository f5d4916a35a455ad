"""What processes of a candidate find where a pod has the credentials of its ServiceAccount."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.cluster import Identity
from schedproof.daemons.kubeconfig import IN_CLUSTER, in_cluster, write_account


class Accounts:
    """Of one candidate. A token in these files is another one than that of the identity's kubeconfig.

    The audit log names the token of each request, so that it shows which of the two a program uses.

    Args:
        api: as an identity that may ask for tokens.
        parent: makes the folder in which each identity's is.

    Attributes:
        bound_to: a Secret in the identities' namespace, with which the tokens of processes that start from here on end.
    """

    def __init__(self, api: Api, parent: Callable[[], Path]) -> None:
        self._api, self._parent = api, parent
        self.bound_to: Manifest | None = None
        self._laid_out: dict[Path, tuple[Identity, str]] = {}
        """By the folder, whose it is, and the token in it."""

    def lay_out(self, identity: Identity) -> tuple[Mapping[str, Path], Mapping[str, str]]:
        """For a process that starts: its folder by the path where it sees it, and the environment that goes with it.

        Both are empty where a pod could not be told what the identity's kubeconfig says.
        """
        folder = self._parent() / f"account-{identity.name}"

        def token() -> str:
            made = self._api.token(identity.namespace, identity.name, bound_to=self.bound_to)
            self._laid_out[folder] = identity, made
            return made

        environment = in_cluster(identity.kubeconfig, folder, identity.namespace, token)
        return ({IN_CLUSTER: folder}, environment) if environment else ({}, {})

    def replace_tokens(self) -> None:
        """Put new tokens, which are bound to nothing, in the place of all, as a kubelet does before they expire."""
        for folder, (identity, _) in self._laid_out.items():
            token = self._api.token(identity.namespace, identity.name)
            write_account(folder, {"token": token.encode()})
            self._laid_out[folder] = identity, token

    @property
    def tokens(self) -> Sequence[str]:
        """Those that are in the files now."""
        return [token for _, token in self._laid_out.values()]

    @property
    def credentials(self) -> Sequence[str]:
        """How the audit log names these tokens: `authentication.kubernetes.io/credential-id` of a user."""
        return [f"JTI={_claims(token)['jti']}" for token in self.tokens]


def _claims(token: str) -> Mapping[str, str]:
    """What a JSON Web Token says, unverified."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert isinstance(claims, dict)
    return claims
