"""The content of a candidate's image, and what is refused before Docker is called."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.kinds import CommandSpec
from schedproof.clusters.kind.docker import DockerError
from schedproof.deploy import image
from schedproof.foundation.errors import CandidateError, UsageError

CANDIDATE = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: mine}
spec:
  schedulerName: mine
  controller: {command: ["{python}", "{here}/run.py"]}
"""


class Docker:
    """Keeps the build contexts that it is given."""

    def __init__(self) -> None:
        self.built: dict[str, bytes] = {}

    def __call__(self, *argv: str, stdin: bytes = b"", **_: Any) -> str:
        assert argv[0] == "build"
        self.built[argv[argv.index("-t") + 1]] = stdin
        return ""

    def present(self, ref: str) -> bool:
        return ref in self.built


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Docker:
    played = Docker()
    monkeypatch.setattr(image, "docker", played)
    monkeypatch.setattr(image, "image_present", played.present)
    return played


def candidate(folder: Path, more: str = "") -> Candidate:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "candidate.yaml").write_text(CANDIDATE + more)
    (folder / "run.py").write_text("print('up')\n")
    return load_candidate(folder)


def command_of(candidate: Candidate) -> CommandSpec:
    assert isinstance(candidate.spec, CommandSpec)
    return candidate.spec


def contents(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def test_files_keep_their_paths_and_caches_and_hidden_files_are_left_out(tmp_path: Path, docker: Docker) -> None:
    mine = candidate(tmp_path / "mine")
    for name in (".venv/bin/python", "__pycache__/run.pyc", ".secret"):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text("x")
    ref = image.command_image(mine, command_of(mine), "base:1")
    packed = contents(docker.built[ref])
    assert packed.pop("Dockerfile").startswith(b"FROM base:1\n")
    assert set(packed) == {f"files{tmp_path}/mine/{name}" for name in ("candidate.yaml", "run.py")}


def test_the_tag_depends_on_the_content_so_nothing_is_built_twice(tmp_path: Path, docker: Docker) -> None:
    mine = candidate(tmp_path / "mine")
    refs = [image.command_image(mine, command_of(mine), "base:1") for _ in range(2)]
    (tmp_path / "mine" / "run.py").write_text("print('changed')\n")
    refs.append(image.command_image(mine, command_of(mine), "base:1"))
    refs.append(image.command_image(mine, command_of(mine), "base:2"))
    assert refs[0] == refs[1]
    assert len(set(refs)) == len(docker.built) == 3


@pytest.mark.parametrize(("head", "base"), [(b"\x7fELF...", "scratch"), (b"\x7fELF../lib64/ld-linux", "base:1")])
def test_a_dynamically_linked_scheduler_has_a_base_image_with_a_c_library(
    tmp_path: Path, docker: Docker, head: bytes, base: str
) -> None:
    (tmp_path / "kube-scheduler").write_bytes(head)
    packed = contents(docker.built[image.scheduler_image(tmp_path / "kube-scheduler", "base:1")])
    assert packed["files/kube-scheduler"] == head
    assert packed["Dockerfile"].startswith(f"FROM {base}\n".encode())


def test_a_command_outside_of_its_image_is_refused_with_the_context_to_set(tmp_path: Path) -> None:
    (tmp_path / "shared.py").touch()
    mine = candidate(tmp_path / "mine")
    image.check_paths(
        mine, command_of(mine), (f"{tmp_path}/mine/run.py", "/usr/bin/env", "--x=/nowhere/at-all", "word")
    )
    for text in (f"{tmp_path}/mine/../shared.py", f"--rules={tmp_path}/shared.py"):
        with pytest.raises(UsageError, match=r"shared\.py") as caught:
            image.check_paths(mine, command_of(mine), (text,))
        assert "spec.image.context" in caught.value.remedy
    wider = candidate(tmp_path / "mine", "  image: {context: ..}\n")
    image.check_paths(wider, command_of(wider), (f"{tmp_path}/shared.py",))


def test_a_configured_image_must_exist(tmp_path: Path, docker: Docker) -> None:
    mine = candidate(tmp_path / "mine", "  image: {ref: 'mine:1'}\n")
    with pytest.raises(UsageError, match="no image mine:1") as caught:
        image.own_image(mine)
    assert "docker pull mine:1" in caught.value.remedy
    docker.built["mine:1"] = b""
    assert image.own_image(mine) == "mine:1"


def test_a_dockerfile_that_does_not_build_is_a_candidate_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: str, **__: Any) -> str:
        raise DockerError("unknown instruction: RNU")

    monkeypatch.setattr(image, "docker", refuses)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Dockerfile").touch()
    mine = candidate(tmp_path / "mine", "  image: {dockerfile: Dockerfile}\n")
    with pytest.raises(CandidateError, match="RNU"):
        image.own_image(mine)
