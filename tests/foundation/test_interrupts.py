"""Signals that end a run raise KeyboardInterrupt where that does no harm."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

from schedproof.foundation.processes import interrupts
from schedproof.foundation.processes.interrupts import interrupt, is_importing

IMPORTING = types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename="<frozen importlib._bootstrap>"))
BEGIN = """
import signal, types
from schedproof.foundation.processes.interrupts import interrupt, interrupt_by
interrupt_by(signal.SIGTERM)
class Half:
    def __del__(self):
        raise AttributeError("half made")
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True, check=False)


def test_outside_of_an_import_an_interrupt_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_interrupted", False)  # and back, for the tests that follow
    assert not is_importing(sys._getframe())
    with pytest.raises(KeyboardInterrupt):
        interrupt(15, sys._getframe())


def test_frames_of_the_import_machinery_are_recognized() -> None:
    assert is_importing(IMPORTING)  # type: ignore[arg-type]


def test_during_an_import_an_interrupt_is_raised_shortly_afterwards() -> None:
    done = run(
        "importing = types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename='<frozen importlib._bootstrap>'))\n"
        "interrupt(signal.SIGTERM, importing)\n"
        "print('not at once', flush=True)\n"
        "try:\n    signal.pause()\nexcept KeyboardInterrupt:\n    print('later')\n"
    )
    assert (done.returncode, done.stdout) == (0, "not at once\nlater\n"), done.stderr


def test_errors_of_objects_that_an_interrupt_left_half_made_are_not_printed() -> None:
    done = run(
        "Half()\nprint('before')\n"
        "try:\n    signal.raise_signal(signal.SIGTERM)\nexcept KeyboardInterrupt:\n    Half()\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("half made") == 1
