"""The files of ServiceAccounts that a candidate's processes have, and their tokens."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.cluster import Identity
from schedproof.daemons.kubeconfig import IN_CLUSTER, write_kubeconfig
from schedproof.deploy.accounts import Accounts


class Apiserver:
    """Issues tokens whose ids count up."""

    def __init__(self) -> None:
        self.issued: list[Any] = []

    def token(self, _namespace: str, account: str, *, bound_to: Any = None) -> str:
        self.issued.append((account, bound_to))
        claims = base64.urlsafe_b64encode(json.dumps({"jti": f"{account}-{len(self.issued)}"}).encode())
        return f"head.{claims.decode().rstrip('=')}.signature"


@pytest.fixture
def apiserver() -> Apiserver:
    return Apiserver()


@pytest.fixture
def accounts(apiserver: Any, tmp_path: Path) -> Accounts:
    return Accounts(apiserver, lambda: tmp_path)


def identity(folder: Path, name: str, *, token: str = "the kubeconfig's") -> Identity:
    ca = folder / "ca.pem"
    ca.write_text("the authority")
    path = folder / f"{name}.kubeconfig"
    return Identity(
        name, write_kubeconfig(path, server="https://127.0.0.1:6443", ca=ca, user=name, token=token), "mine"
    )


def test_the_token_in_the_files_differs_from_that_of_the_kubeconfig(accounts: Accounts, tmp_path: Path) -> None:
    shown, environment = accounts.lay_out(identity(tmp_path, "it"))
    assert environment == {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert (shown[IN_CLUSTER] / "token").read_text() == accounts.tokens[0]
    assert accounts.credentials == ["JTI=it-1"]


def test_tokens_are_replaced_in_all_files_at_once(accounts: Accounts, tmp_path: Path) -> None:
    folders = [accounts.lay_out(identity(tmp_path, name))[0][IN_CLUSTER] for name in ("it", "other")]
    accounts.replace_tokens()
    assert accounts.credentials == ["JTI=it-3", "JTI=other-4"]
    assert [(folder / "token").read_text() for folder in folders] == accounts.tokens


def test_a_restarted_process_has_a_new_token(accounts: Accounts, tmp_path: Path) -> None:
    for _ in range(2):
        accounts.lay_out(identity(tmp_path, "it"))
    assert accounts.credentials == ["JTI=it-2"]


def test_tokens_at_the_start_are_bound_to_the_secret_and_later_tokens_are_not(
    accounts: Accounts, apiserver: Apiserver, tmp_path: Path
) -> None:
    secret = {"metadata": {"name": "ends", "uid": "1"}}
    accounts.bound_to = secret
    accounts.lay_out(identity(tmp_path, "it"))
    accounts.replace_tokens()
    assert apiserver.issued == [("it", secret), ("it", None)]


def test_a_kubeconfig_without_a_token_gives_no_files(accounts: Accounts, tmp_path: Path) -> None:
    assert accounts.lay_out(identity(tmp_path, "it", token="")) == ({}, {})
    assert accounts.credentials == []
