"""Explains why the operating system does not start a program that a candidate names, and how to fix it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def program_problem(program: str, workdir: Path, search: str) -> tuple[str, str]:
    """What is wrong with a program's file, and the fix; two empty texts if nothing is.

    Args:
        program: the first word of a command.
        workdir: its working directory.
        search: $PATH.
    """
    file = _file_of(program, workdir, search)
    if file is None:
        fix = f"write ./{program}" if (workdir / program).is_file() else "install it, or name a file by its path"
        return f"there is no program {program!r} on PATH", fix
    if not file.exists():
        return f"there is no program {program!r} in {workdir}", "name a program on PATH, or a file by its path"
    if file.is_dir():
        return f"{file} is a folder", "name the program in it"
    if not os.access(file, os.X_OK):
        return f"{file} is not executable", f"chmod +x {file}"
    return _interpreter_problem(file)


def why_not_started(program: str, workdir: Path, search: str) -> tuple[str, str]:
    """As `program_problem`, of a program that could not be started: its file may be no program at all."""
    problem = program_problem(program, workdir, search)
    file = _file_of(program, workdir, search)
    if any(problem) or file is None or _interpreter_line(file) is not None:
        return problem
    why = "a script without #! in its first line, or built for another processor or C library"
    fix = "write such as #!/usr/bin/env python3 in its first line, or build it for this machine"
    return f"{file} is no program for this machine: {why}", fix


def _file_of(program: str, workdir: Path, search: str) -> Path | None:
    if "/" in program:
        return workdir / program
    found = shutil.which(program, path=search)
    return Path(found) if found is not None else None


def _interpreter_problem(file: Path) -> tuple[str, str]:
    line = _interpreter_line(file)
    if line is None:
        return "", ""
    if line.endswith("\r"):
        return f"the first line of {file} ends in a carriage return, as on Windows", f"sed -i 's/\\r$//' {file}"
    interpreter = line.split()[0] if line.split() else ""
    if not os.access(interpreter, os.X_OK):
        why = f"the interpreter of {file}, {interpreter or 'which its first line should name'}, does not exist"
        return why, "correct the first line (#!) of the file, or install that interpreter"
    return "", ""


def _interpreter_line(file: Path) -> str | None:
    """Return the text after `#!` in a script's first line; None if the file is no script."""
    with file.open("rb") as opened:
        first = opened.readline(256)
    return first[2:].rstrip(b"\n").decode(errors="replace") if first.startswith(b"#!") else None
