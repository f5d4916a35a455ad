"""A scheduler that is built already: its version of Kubernetes, and the clusters that suit it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from schedproof.binaries.go_build_info import build_info, kubernetes_of
from schedproof.candidate.kinds import PluginSpec
from schedproof.deploy.plugin_build.program import Program, program_of

MODULES = (
    "path\tsigs.k8s.io/scheduler-plugins/cmd/scheduler\n"
    "mod\tsigs.k8s.io/scheduler-plugins\tv0.34.7\th1:a=\n"
    "dep\tk8s.io/api\tv0.34.7\th1:b=\n"
    "dep\tk8s.io/kubernetes\tv1.34.7\th1:c=\n"
)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def go_program(modules: str) -> bytes:
    """A file with the build information of Go 1.18 and newer, behind a constant that looks like its beginning."""
    magic = b"\xff Go buildinf:"
    framed = b"\0" * 16 + modules.encode() + b"\0" * 16
    header = (magic + bytes([8, 2])).ljust(32, b"\0")
    texts = b"".join(varint(len(text)) + text for text in (b"go1.26.8", framed))
    return b"\x7fELF" + magic + bytes([8, 2]) + b"\x05other" + b"." * 90 + header + texts + b"rest"


@pytest.mark.parametrize(
    ("modules", "version"),
    [
        (MODULES, "v1.34.7"),
        (MODULES.replace("dep\tk8s.io/kubernetes\tv1.34.7\th1:c=\n", ""), "v1.34.7"),
        ("mod\tk8s.io/kubernetes\tv1.36.3\th1:=\n", "v1.36.3"),
        ("dep\tk8s.io/kubernetes\tv1.13.0\n=>\tk8s.io/kubernetes\tv1.35.2\th1:=\n", "v1.35.2"),
        ("dep\tk8s.io/api\tv0.0.0\n=>\tk8s.io/api\tv0.35.1\th1:=\n", "v1.35.1"),
        ("mod\tk8s.io/kubernetes\t(d)\nbuild\t-ldflags=-X k8s.io/component-base/version.gitVersion=v1.7.2", "v1.7.2"),
        ("mod\texample.com/scheduler\tv1.2.3\n", None),
        ("dep\tk8s.io/kubernetes\tv0.0.0-2025\n", None),
    ],
)  # fmt: skip
def test_the_version_is_that_of_the_modules_or_what_the_linker_was_told(
    tmp_path: Path, modules: str, version: str | None
) -> None:
    program = tmp_path / "scheduler"
    program.write_bytes(go_program(modules))

    assert build_info(program) == modules
    assert kubernetes_of(build_info(program)) == version


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\xff Go buildinf:", b"\xff Go buildinf:\x08\x02" + b"\xff" * 40]
)
def test_other_files_have_no_build_information(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)

    assert build_info(tmp_path / "other") == ""


def test_a_program_that_is_not_go_is_asked(tmp_path: Path) -> None:
    program = tmp_path / "scheduler"
    program.write_text("#!/bin/sh\necho Kubernetes v1.35.4\n")
    program.chmod(0o755)
    found = program_of(PluginSpec(binary=str(program)))

    assert found == Program("v1.35.4", hashlib.sha256(program.read_bytes()).hexdigest())
    assert "v1.35.4" in str(found)
    assert f"sha256:{found.digest}" in str(found)


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nexit 1\n", "#!/nowhere\n", "#!/bin/sh\necho 'Kubernetes v0.0.0-master'\n"]
)
def test_a_program_that_does_not_tell_its_version_suits_all(tmp_path: Path, text: str) -> None:
    program = tmp_path / "scheduler"
    program.write_text(text)
    program.chmod(0o755)
    found = program_of(PluginSpec(binary=str(program)))

    assert found is not None
    assert (found.kubernetes, found.unsuited("1.36")) == ("", "")


def test_what_the_harness_builds_or_cannot_read_is_no_program(tmp_path: Path) -> None:
    specs = (PluginSpec(binary="kube-scheduler"), PluginSpec(package="/a"), PluginSpec(binary=str(tmp_path / "none")))

    assert [program_of(spec) for spec in specs] == [None, None, None]


@pytest.mark.parametrize(
    ("minor", "told"), [("1.33", "newer than"), ("1.34", ""), ("1.35", ""), ("1.36", "2 minor versions older than")]
)
def test_an_unsupported_skew_is_told_with_what_is_supported(minor: str, told: str) -> None:
    text = Program("v1.34.7", "").unsuited(minor)

    assert told in text
    assert bool(text) == bool(told)
    if text:
        assert "--kubernetes 1.34" in text
        assert "--kubernetes 1.35" in text
