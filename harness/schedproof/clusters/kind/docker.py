"""Runs Docker's command line, with the context, socket and credentials of the user's `docker`."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from schedproof.foundation.deadlines import DOCKER_ANSWER, IMAGE_LOADED, Deadline
from schedproof.foundation.errors import HostError

_OLDEST = (20, 10)

# Messages of all client versions if the daemon is unreachable, with causes and remedies.
_UNREACHABLE = (
    (
        r"permission denied while trying to connect to the docker",
        "this user has no access to the Docker daemon",
        "run as root, or add the user to the group docker and log in again",
    ),
    (
        r"cannot connect to the docker daemon|failed to connect to the docker API|error during connect",
        "the Docker daemon is not running",
        "start it: systemctl start docker; in this project's checkout without systemd: .ci/docker start",
    ),
)


class DockerError(HostError):
    """A docker command failed; the message quotes its error output."""


@dataclasses.dataclass(frozen=True)
class DockerInfo:
    """Properties of the Docker daemon."""

    version: str
    cgroup_version: int
    root: Path
    """The folder of images and containers."""


def docker(*argv: str, stdin: bytes | None = None, deadline: Deadline = DOCKER_ANSWER) -> str:
    """Run `docker ARGV...`, and return its output.

    Raises:
        DockerError: its exit status was not 0.
        HostError: there is no docker client, no daemon, no permission, or no response in time.
    """
    command = ("docker", *argv)
    try:
        done = subprocess.run(
            command, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True, timeout=deadline.seconds, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise _no_client() from error
    except subprocess.TimeoutExpired as error:
        raise HostError(
            f"{shlex.join(command)} did not end in {deadline.seconds:g} s ({deadline.name})",
            remedy="check the daemon: run `docker info`, and read its log",
        ) from error
    if done.returncode != 0:
        raise _failed(command, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def require_docker() -> DockerInfo:
    """Return the properties of the daemon.

    Raises:
        HostError: no daemon can be used; has the reason and a remedy.
    """
    info: dict[str, Any] = json.loads(docker("info", "--format", "{{json .}}"))
    # Old clients exit with 0 if there is no daemon.
    if errors := info.get("ServerErrors"):
        raise _failed(("docker", "info"), "\n".join(errors))
    version = str(info["ServerVersion"])
    if _number(version) < _OLDEST:
        raise HostError(
            f"the Docker daemon is {version}, too old for kind",
            remedy=f"install Docker {'.'.join(map(str, _OLDEST))} or newer",
        )
    return DockerInfo(version, int(info.get("CgroupVersion") or 1), Path(info["DockerRootDir"]))


def image_present(reference: str) -> bool:
    """Whether the daemon has an image."""
    try:
        docker("image", "inspect", "--format", "{{.Id}}", reference)
    except DockerError:
        return False
    return True


def load_images(archive: Path) -> None:
    """Load the images of an archive into the daemon.

    Raises:
        DockerError: the daemon rejects it.
    """
    docker("load", "--quiet", "--input", str(archive), deadline=IMAGE_LOADED)


def _failed(command: tuple[str, ...], output: str) -> HostError:
    for pattern, what, remedy in _UNREACHABLE:
        if re.search(pattern, output, re.IGNORECASE):
            return HostError(f"{what}: {output.strip()}", remedy=remedy)
    return DockerError(f"{shlex.join(command)} failed: {output.strip() or 'no output'}")


def _no_client() -> HostError:
    return HostError(
        "docker is not on PATH, and kind clusters run in Docker",
        remedy="install Docker (apt-get install docker.io), or use the embedded cluster",
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
