"""`schedproof run --watch`: a candidate is broken and fixed while the cluster is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CLAUSE = "extender/prioritize-range"


def test_failed_clauses_are_tried_again_until_they_pass(shell: Shell) -> None:
    assert shell.schedproof("init", "extender", "mine").code == 0
    source, descriptor = shell.work / "mine" / "extender.py", shell.work / "mine" / "candidate.yaml"
    _edit(source, "MAX_SCORE = 10 ", "MAX_SCORE = 100 ")
    command = shell.start("schedproof", "run", "mine", "--watch", f"--clause={CLAUSE}", "--report=report")
    command.says(f"to try the clauses that did not pass ({CLAUSE}) again")
    assert "\nFAILED: 1 of 6 claimed clauses" in command.so_far.out
    shell.watch()
    # A file that cannot be read ends nothing.
    sound = descriptor.read_text()
    descriptor.write_text(sound.replace("spec:", "spek:"))
    command.says("did you mean spec?")
    descriptor.write_text(sound)
    command.says("\nFAILED: 1 of 1 claimed clauses")
    _edit(source, "MAX_SCORE = 100 ", "MAX_SCORE = 10 ")
    command.says("to try everything again")
    assert "\nPASSED: 1 of 1 claimed clauses" in command.so_far.out
    assert command.so_far.err.count("starting an embedded cluster of 4 nodes: done") == 1
    command.interrupt()
    assert command.ends().code == 0, command.so_far.printed
    shell.expect_nothing_left()


def _edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
