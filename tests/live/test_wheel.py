"""The commands of the first page work for an installed wheel, outside of the repository, on a real cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..foundation.wheel import PAGES, Installed, build, first_commands

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CLAUSES = ("core/binds", "extender/prioritize-range")
"""Quick ones, of kube-scheduler's part and of the extender's own."""


def test_a_new_extender_passes_with_the_installed_wheel(shell: Shell, tmp_path: Path) -> None:
    installed = Installed(tmp_path / "venv", build(tmp_path))
    shell.python = str(installed.python)
    shell.env = {name: text for name, text in shell.env.items() if not name.startswith("PYTHON")}
    commands = first_commands(PAGES[0])
    (init,) = (argv for argv in commands if argv[:2] == ["schedproof", "init"])
    (run,) = (argv for argv in commands if argv[:2] == ["schedproof", "run"])
    assert shell.start(*init).ends().code == 0
    shell.work /= init[-1]
    ended = shell.start(*run, *(f"--clause={clause}" for clause in CLAUSES), "--report=report").ends()
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    assert {entry["id"]: entry["outcome"] for entry in judged["clauses"] if entry["id"] in CLAUSES} == dict.fromkeys(
        CLAUSES, "passed"
    )
