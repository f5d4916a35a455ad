"""The wheel, built from this checkout and installed, for tests of what users get."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "harness/README.md")
"""What is read first: in the repository, and in a package index."""


def build(folder: Path) -> Path:
    """Build the wheel into a folder. Needs no network: hatchling is installed with this Python."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    _done(command, cwd=ROOT, env=None)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Installed:
    """A virtual environment with the wheel. It has the dependencies of this Python: nothing is downloaded."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        self.env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PYTEST_"))}
        (self.packages,) = folder.glob("lib/python*/site-packages")
        # Folders in a .pth file are searched last; .pth files in them, as of an editable install, are not read.
        (self.packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        _done([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], cwd=folder, env=self.env)

    def run(self, *argv: str, cwd: Path, code: int = 0) -> str:
        """Run an installed command, such as `schedproof`; return its output."""
        return _done([str(self.python.parent / argv[0]), *argv[1:]], cwd=cwd, env=self.env, code=code)


def first_commands(page: str) -> list[list[str]]:
    """The commands of the block of a page that contains `schedproof init`, as words."""
    blocks = re.findall(r"^```console\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    (first,) = (block for block in blocks if "$ schedproof init" in block)
    return [line.split("#")[0].split()[1:] for line in first.splitlines() if line.startswith("$ ")]


def _done(argv: list[str], *, cwd: Path, env: dict[str, str] | None, code: int = 0) -> str:
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{argv}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
