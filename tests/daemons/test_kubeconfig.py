"""The credentials of a kubeconfig as the files and variables that a pod has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedproof.daemons.kubeconfig import in_cluster, write_account, write_kubeconfig


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    ca = tmp_path / "ca.pem"
    ca.write_text("the authority")
    server = "https://127.0.0.1:6443"
    return write_kubeconfig(tmp_path / "it.kubeconfig", server=server, ca=ca, user="it", token="secret")


def files(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}


def test_credentials_of_a_kubeconfig_become_files_and_variables_of_a_pod(kubeconfig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "account"
    variables = in_cluster(kubeconfig, folder, "mine", lambda: "of its own")
    assert variables == {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert files(folder) == {"token": "of its own", "ca.crt": "the authority", "namespace": "mine"}
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir() if file.is_file()} == {0o600}


def test_a_token_is_replaced_as_a_kubelet_does_it(tmp_path: Path) -> None:
    """A file that was opened before keeps its content; all new content appears at once, with one folder."""
    write_account(tmp_path, {"token": b"first", "ca.crt": b"the authority"})
    before = (tmp_path / "..data").resolve()
    with (tmp_path / "token").open() as opened:
        write_account(tmp_path, {"token": b"second"})
        assert opened.read() == "first"
    assert files(tmp_path) == {"token": "second", "ca.crt": "the authority"}
    assert {file.name for file in tmp_path.iterdir()} == {
        "token", "ca.crt", "..data", (tmp_path / "..data").resolve().name,
    }  # fmt: skip
    assert not before.exists()


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("cluster", "server", "https://127.0.0.1:6443/k8s/clusters/one"),
        ("cluster", "server", "http://127.0.0.1:8080"),
        ("cluster", "insecure-skip-tls-verify", True),
        ("cluster", "proxy-url", "http://127.0.0.1:3128"),
        ("user", "token", None),
    ],
)
def test_a_kubeconfig_that_a_pod_could_not_use_gives_no_files(
    kubeconfig: Path, tmp_path: Path, part: str, field: str, value: object
) -> None:
    config = json.loads(kubeconfig.read_text())
    fields = config[f"{part}s"][0][part]
    fields[field] = value
    if value is None:
        del fields[field]
    kubeconfig.write_text(json.dumps(config))
    assert in_cluster(kubeconfig, tmp_path / "account", "mine", lambda: "of its own") == {}
    assert not (tmp_path / "account").exists()
