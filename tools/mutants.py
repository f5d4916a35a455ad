"""Mutation testing: whether the fast tests of a room fail if its code is changed. `make mutants` runs it.

A random sample of the changes that cosmic-ray can make (an operator, a number, a comparison, `not`, a `break`, a
decorator, ...) is applied, one at a time, to a copy of the checkout; the room's own tests judge each, up to the
first failure. A change that passes all tests survives, and is printed.

usage: mutants.py PYTHON [--room ROOM]... [--sample N] [--seed N]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkItem

ROOMS = {
    "oracle": ("oracle", ["tests/oracle", "tests/benchmark/test_placement.py"]),
    "judge": ("judge", ["tests/judge"]),
    "history": ("history", ["tests/judge"]),
    "compare": ("benchmark/compare", ["tests/benchmark/compare", "tests/benchmark/test_comparing.py"]),
}
"""The changed package, and the tests that should fail."""

SLOW = 3
"""Timeout as a multiple of the tests' unchanged duration: a change may make a loop endless."""


def main() -> int:
    """Try the rooms of the command line, and print the surviving changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="the Python interpreter that runs the tests")
    parser.add_argument("--room", action="append", choices=ROOMS, help="a room to try; may be repeated (default: all)")
    parser.add_argument(
        "--sample", type=int, default=300, help="number of changes for each room (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    options = parser.parse_args()
    python = Path.cwd() / options.python
    with tempfile.TemporaryDirectory(prefix="schedproof-mutants-") as folder:
        copy_checkout(Path(folder))
        os.chdir(folder)
        scores = [try_room(room, python, options.sample, options.seed) for room in options.room or ROOMS]
    show("\n".join(["", *scores]))
    return 0


def show(text: str) -> None:
    """Print immediately: a run takes hours."""
    print(text, flush=True)  # noqa: T201 - a program's output


def copy_checkout(folder: Path) -> None:
    """Copy all files that are not ignored by git, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and Path(name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, folder / name)


def try_room(room: str, python: Path, sample: int, seed: int) -> str:
    """Try changes of a room one after the other, and return a line with the score."""
    package, patterns = ROOMS[room]
    tests = [str(path) for pattern in patterns for path in sorted(Path().glob(pattern))]
    options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-m", "not live and not browser"]
    command = ["env", "PYTHONPATH=harness", str(python), "-m", "pytest", *options, *tests]
    timeout = SLOW * unchanged(command)
    everything = list(mutations(Path("harness/schedproof") / package))
    chosen = random.Random(seed).sample(everything, min(sample, len(everything)))  # noqa: S311 - to be drawn again
    survivors = 0
    for number, item in enumerate(chosen, start=1):
        result = mutate_and_test(item.mutations, shlex.join(command), timeout)
        if result.test_outcome is TestOutcome.INCOMPETENT:
            raise SystemExit(f"cosmic-ray could not apply a change: {result.output}")
        if result.test_outcome is TestOutcome.SURVIVED:
            survivors += 1
            show(f"\n{room}: no test fails with this change:\n{result.diff}")
        sys.stderr.write(f"{room}: {number} of {len(chosen)} tried, {survivors} survived\n")
    killed = len(chosen) - survivors
    return f"{room}: {killed} of {len(chosen)} killed ({killed / len(chosen):.0%}), of {len(everything)}; seed {seed}"


def unchanged(command: list[str]) -> float:
    """Return the seconds that the tests take without a change; they must pass. This also compiles what they import."""
    begin = time.monotonic()
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise SystemExit("the tests fail without any change: fix them first")
    return time.monotonic() - begin


def mutations(package: Path) -> Iterator[WorkItem]:
    """Yield every change that cosmic-ray can make, except in annotations, which tests do not evaluate."""
    files = sorted(path for path in package.rglob("*.py") if path.name != "__init__.py")
    unread = {path: list(annotations(path)) for path in files}
    with use_db("mutants.sqlite", WorkDB.Mode.create) as database:
        init(files, database, {})
        items = sorted(database.work_items, key=lambda item: repr(where(item.mutations[0])))
    for item in items:
        change = item.mutations[0]
        if not any(begin <= change.start_pos < end for begin, end in unread[change.module_path]):
            yield item


def where(change: MutationSpec) -> tuple[object, ...]:
    """Return the identity of a change: job ids are random."""
    return str(change.module_path), change.operator_name, change.occurrence


def annotations(path: Path) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the begin and end of each annotation, as (line from 1, column from 0)."""
    for node in ast.walk(ast.parse(path.read_text())):
        found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
        for annotation in found:
            if isinstance(annotation, ast.AST):
                yield (annotation.lineno, annotation.col_offset), (annotation.end_lineno, annotation.end_col_offset)


if __name__ == "__main__":
    sys.exit(main())
