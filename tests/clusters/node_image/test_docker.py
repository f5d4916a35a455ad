"""Failures of Docker are distinguished and reported with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedproof.clusters.kind.docker import DockerError, docker, image_present, require_docker
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError

INFO = {"ServerVersion": "20.10.24+dfsg1", "CgroupVersion": "1", "DockerRootDir": "/docker"}
DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
DENIED = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a `docker` on an otherwise empty PATH: a shell script."""

    def install(script: str) -> None:
        path = tmp_path / "docker"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    return install


def says(info: dict) -> str:
    return f"echo '{json.dumps(info)}'"


def test_the_version_cgroup_version_and_root_of_the_daemon_are_read(client):
    client(says(INFO))
    info = require_docker()
    assert (info.version, info.cgroup_version, info.root) == ("20.10.24+dfsg1", 1, Path("/docker"))


def test_without_a_docker_client_the_remedy_is_to_install_docker(client):
    with pytest.raises(HostError, match=r"docker is not on PATH[\s\S]*install Docker"):
        require_docker()


@pytest.mark.parametrize(
    "script",
    [
        f'echo "{DOWN}" >&2; exit 1',
        says({**INFO, "ServerErrors": [DOWN]}),
        'echo "failed to connect to the docker API at unix:///x; check if the daemon is running" >&2; exit 1',
        'echo "error during connect: Get x: dial tcp: lookup x: no such host" >&2; exit 1',
    ],
)
def test_a_daemon_that_is_down_is_recognized_with_new_and_old_clients(client, script):
    client(script)
    with pytest.raises(HostError, match=r"not running[\s\S]*fix: start it"):
        require_docker()


def test_a_user_without_access_to_docker_is_reported_with_a_remedy(client):
    client(f'echo "{DENIED}" >&2; exit 1')
    with pytest.raises(HostError, match=r"has no access[\s\S]*group docker"):
        docker("ps")


def test_a_daemon_that_is_too_old_is_refused_with_the_required_version(client):
    client(says({**INFO, "ServerVersion": "19.03.15"}))
    with pytest.raises(HostError, match=r"19\.03\.15[\s\S]*20\.10 or newer"):
        require_docker()


def test_a_failed_command_is_quoted_and_not_taken_for_a_missing_daemon(client):
    client('echo "pull: dial tcp: no such host" >&2; exit 1')
    with pytest.raises(DockerError, match=r"docker pull x failed: pull: dial tcp: no such host"):
        docker("pull", "x")
    assert not image_present("x")


def test_standard_input_reaches_docker_and_its_output_is_returned(client):
    client('read line; echo "$1 $line"')
    assert docker("load", stdin=b"archive\n") == "load archive\n"


def test_a_daemon_that_does_not_answer_is_an_error_at_the_deadline(client):
    client("kill -STOP $$")
    with pytest.raises(HostError, match="no time at all"):
        docker("ps", deadline=Deadline("no time at all", 0, "this test"))
