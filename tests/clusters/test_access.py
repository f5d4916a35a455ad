"""Kubeconfigs of users: the forms that are read, and the errors for those that cannot be used."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config

from schedproof.clusters.existing import access
from schedproof.clusters.existing.access import in_cluster, read_access
from schedproof.foundation.errors import UsageError


def config(*, current: str = "one", cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    return json.dumps(
        {
            "apiVersion": "v1", "kind": "Config", "current-context": current,
            "clusters": [
                {"name": "c", "cluster": {"server": "https://192.0.2.1:6443", **(cluster or {})}},
                {"name": "d", "cluster": {"server": "https://192.0.2.2:6443"}},
            ],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [
                {"name": "one", "context": {"cluster": "c", "user": "u"}},
                {"name": "two", "context": {"cluster": "d", "user": "u"}},
            ],
        }
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_the_current_or_the_named_context_is_read(file: Path, tmp_path: Path) -> None:
    file.write_text(config())
    assert read_access(file, "", tmp_path).url == "https://192.0.2.1:6443"
    assert read_access(file, "two", tmp_path).url == "https://192.0.2.2:6443"


def test_inline_credentials_are_written_only_to_files_of_the_run(file: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    pair = {"client-certificate-data": encoded("certificate"), "client-key-data": encoded("key")}
    file.write_text(config(cluster={"certificate-authority-data": encoded("authority")}, user=pair))
    access = read_access(file, "", scratch)
    assert [path and path.read_text() for path in (access.ca, access.certificate, access.key)] == [
        "authority", "certificate", "key",
    ]  # fmt: skip
    assert all(path and scratch in path.parents for path in (access.ca, access.certificate, access.key))
    assert access.authorization() == ""


def test_a_token_and_the_settings_of_the_connection_are_read(file: Path, tmp_path: Path) -> None:
    line = {"insecure-skip-tls-verify": True, "tls-server-name": "kubernetes"}
    file.write_text(config(cluster=line, user={"token": "secret"}))
    access = read_access(file, "", tmp_path)
    assert access.authorization() == "Bearer secret"
    assert access.line == line
    assert access.ca is None


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        (None, "", "cannot read the kubeconfig"),
        ("{", "", "is not a kubeconfig"),
        ("- a list", "", "is not a kubeconfig"),
        ("", "", "is empty"),
        (config(), "three", "has no context 'three'"),
        (config(current=""), "", "has no current context"),
        (config(user={"client-certificate": "/nowhere", "client-key": "/nowhere"}), "", "cannot be used"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named_with_a_remedy(
    file: Path, tmp_path: Path, text: str | None, context: str, expected: str
) -> None:
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=expected) as refused:
        read_access(file, context, tmp_path)
    assert str(file) in refused.value.message
    assert refused.value.remedy


def test_a_pod_uses_its_own_account_whose_token_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert not in_cluster()
    (tmp_path / "token").write_text("secret")
    (tmp_path / "ca.crt").write_text("authority")
    monkeypatch.setattr(access, "_ACCOUNT", tmp_path)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert in_cluster()
    found = read_access(None, "", tmp_path)
    assert found.url == "https://192.0.2.1:443"
    assert found.ca == tmp_path / "ca.crt"
    assert found.authorization().split() == ["bearer", "secret"]
