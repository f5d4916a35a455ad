"""Why a program does not start, and the fix."""

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
def test_the_reason_why_a_file_does_not_start_is_named_with_a_fix(
    tmp_path: Path, content: bytes, mode: int, why: str, fix: str
) -> None:
    program = tmp_path / "serve"
    program.write_bytes(content)
    program.chmod(mode)
    found = why_not_started("./serve", tmp_path, "/bin")
    assert why in found[0]
    assert fix in found[1]
    assert bool(why) == bool(found[0])


def test_folders_and_programs_that_are_not_on_path_are_refused_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "serve").touch()
    assert "is a folder" in why_not_started(".//", tmp_path, "/bin")[0]
    assert why_not_started("serve", tmp_path, "/nowhere") == ("there is no program 'serve' on PATH", "write ./serve")
    assert "there is no program './other' in" in why_not_started("./other", tmp_path, "/bin")[0]
