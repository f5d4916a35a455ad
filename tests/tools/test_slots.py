"""Slots are shared by processes; the end of its holder frees a slot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import slots

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError

HOLDER = """
import sys

sys.path.insert(0, sys.argv[1])
import slots

slots.fitting_jobs = lambda: 2
with slots.take():
    print("held", flush=True)
    sys.stdin.read()
"""
SOON = Deadline("slot free", 0.5, "tests see that none is")


@pytest.fixture(autouse=True)
def _two_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    monkeypatch.setattr(slots, "fitting_jobs", lambda: 2)


def holder() -> subprocess.Popen[str]:
    """A process that holds a slot until its standard input ends."""
    command = [sys.executable, "-c", HOLDER, str(Path(slots.__file__).parent)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_process_waits_while_all_slots_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SLOT_FREE", SOON)
    with holder() as first, holder() as second:
        with pytest.raises(DeadlineExceededError, match="all 2 slots are taken"), slots.take():
            pass
        first.communicate()
        with slots.take():
            pass
        second.communicate()


def test_a_killed_process_frees_its_slot() -> None:
    with holder() as first, holder() as second:
        first.kill()
        with slots.take():
            pass
        second.communicate()
