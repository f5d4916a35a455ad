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
with slots.take(int(sys.argv[2])) as held:
    print(len(held), flush=True)
    sys.stdin.read()
"""
SOON = Deadline("slot free", 0.5, "tests see that it is not")


@pytest.fixture(autouse=True)
def _two_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    monkeypatch.setattr(slots, "fitting_jobs", lambda: 2)


def holder(count: int) -> subprocess.Popen[str]:
    """A process that holds so many slots until its standard input ends."""
    command = [sys.executable, "-c", HOLDER, str(Path(slots.__file__).parent), str(count)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == f"{count}\n"
    return process


def test_there_are_as_many_as_fit_and_no_more_are_waited_for() -> None:
    with slots.take(10) as held:
        assert len(held) == 2


def test_a_request_for_more_than_are_free_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SLOT_FREE", SOON)
    with holder(1) as process:
        with slots.take(1) as held:
            assert len(held) == 1
        with pytest.raises(DeadlineExceededError, match="1 of 2 slots are free"), slots.take(2):
            pass
        process.communicate()
    with slots.take(2) as held:
        assert len(held) == 2


def test_a_killed_holder_has_none() -> None:
    with holder(2) as process:
        process.kill()
    with slots.take(2) as held:
        assert len(held) == 2


def test_a_child_that_inherits_a_slot_holds_it_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SLOT_FREE", SOON)
    with slots.take(2) as held:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=held)
    with pytest.raises(DeadlineExceededError), slots.take(1):
        pass
    child.communicate(b"\n")
    with slots.take(1) as held:
        assert len(held) == 1
