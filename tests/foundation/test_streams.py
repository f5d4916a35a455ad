"""Standard output that is not read, is full or closed: no traceback, and exit codes as documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLAUSES = f"{sys.executable} -m schedproof clauses"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)


def test_a_closed_pipe_ends_the_output_without_an_error() -> None:
    done = shell(f"{CLAUSES} | head -1; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0
    assert done.stdout.startswith("core/alive: ")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_standard_output_is_an_error() -> None:
    done = shell(f"{CLAUSES} > /dev/full")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_not_an_error(closed: str) -> None:
    done = shell(f"{CLAUSES} {closed}")
    assert done.returncode == 0
    assert done.stderr == ""


def test_an_error_with_no_standard_error_keeps_its_exit_code() -> None:
    assert shell(f"{sys.executable} -m schedproof judge {os.devnull} 2>&-").returncode == 2


@pytest.mark.parametrize(
    "options",
    ["--seed -5", "--seed=-5", "--seed 1.5", "--report ''", "--report="],
)
@pytest.mark.parametrize("command", ["run stock", "bench stock"])
def test_invalid_options_are_refused_before_anything_starts(command: str, options: str, tmp_path: Path) -> None:
    done = shell(f"cd {tmp_path}; {sys.executable} -m schedproof {command} {options}")
    assert done.returncode == 2
    assert "argument --" in done.stderr
    assert "fix: " in done.stderr
    assert not list(tmp_path.iterdir())
