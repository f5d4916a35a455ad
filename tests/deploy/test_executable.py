"""Why a program does not start is told with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.deploy.executable import why_not_started


@pytest.mark.parametrize(
    ("content", "mode", "why", "fix"),
    [
        (b"#!/bin/sh\n", 0o644, "is not executable", "chmod +x"),
        (b"#!/nowhere/python3\n", 0o755, "/nowhere/python3", "first line"),
        (b"#!/bin/sh\r\n", 0o755, "carriage return", "sed"),
        (b"#!\n", 0o755, "first line should name", "first line"),
        (b"print(1)\n", 0o755, "without #!", "#!/usr/bin/env"),
        (b"#!/bin/sh\n", 0o755, "", ""),
    ],
)
def test_a_file_that_does_not_start(tmp_path: Path, content: bytes, mode: int, why: str, fix: str) -> None:
    program = tmp_path / "serve"
    program.write_bytes(content)
    program.chmod(mode)
    told = why_not_started("./serve", tmp_path, "/bin")
    assert why in told[0]
    assert fix in told[1]
    assert bool(why) == bool(told[0])


def test_folders_and_programs_that_are_not_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "serve").touch()
    assert "is a folder" in why_not_started(".//", tmp_path, "/bin")[0]
    assert why_not_started("serve", tmp_path, "/nowhere") == ("there is no program 'serve' on PATH", "write ./serve")
    assert "there is no program './other' in" in why_not_started("./other", tmp_path, "/bin")[0]
