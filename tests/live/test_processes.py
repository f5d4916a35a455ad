"""Processes that a candidate forks belong to it: they end with its trial, and their crashes are reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CANDIDATES = Path(__file__).parents[2] / "fixtures" / "candidates"


def test_a_daemon_ends_with_its_candidate_and_before_the_next_candidate_starts(shell: Shell) -> None:
    daemon = CANDIDATES / "unusual" / "leaves-a-daemon"
    command = shell.start("schedproof", "run", str(daemon), "stock", "--clause", "core/binds", "--report", "report")
    command.says("attaching leaves-a-daemon: done")
    running = [entry for entry in shell.processes() if _is_daemon(entry)]
    command.says("attaching stock: done")
    left = [entry for entry in running if entry.exists() and _is_daemon(entry)]
    ended = command.ends()
    assert len(running) == 2, ended.printed  # the controller, and its daemon
    assert not left, ended.printed
    assert ended.code == 0, ended.printed


def _is_daemon(entry: Path) -> bool:
    try:
        return b"leaves_a_daemon.py" in (entry / "cmdline").read_bytes()
    except OSError:
        return False
