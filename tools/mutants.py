"""Mutation testing: do the fast tests of a room notice when its code is changed? `make mutants` runs it.

Of the changes that cosmic-ray knows (an operator, a number, a comparison, `not`, a `break`, a decorator, ...) a random
sample is made, one at a time, in a copy of the checkout; each is judged by the room's own tests, up to the first that
fails. A change that none of them notices survives, and is shown.

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
"""The package that is changed, and the tests that should notice."""

SLOW = 3
"""How many times longer than without a change tests may take: a change may make a loop endless."""


def main() -> int:
    """Try the rooms that are asked for, and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="the interpreter that runs the tests")
    parser.add_argument("--room", action="append", choices=ROOMS, help="only these (default: all)")
    parser.add_argument("--sample", type=int, default=300, help="changes for each room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
    options = parser.parse_args()
    python = Path.cwd() / options.python
    with tempfile.TemporaryDirectory(prefix="schedproof-mutants-") as folder:
        copy_checkout(Path(folder))
        os.chdir(folder)
        scores = [try_room(room, python, options.sample, options.seed) for room in options.room or ROOMS]
    tell("\n".join(["", *scores]))
    return 0


def tell(text: str) -> None:
    """At once: it takes hours."""
    print(text, flush=True)  # noqa: T201 - a program's output


def copy_checkout(folder: Path) -> None:
    """All files that git would keep, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and Path(name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, folder / name)


def try_room(room: str, python: Path, sample: int, seed: int) -> str:
    """Change one thing after the other; returns a line with the score."""
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
            raise SystemExit(f"cosmic-ray could not try a change: {result.output}")
        if result.test_outcome is TestOutcome.SURVIVED:
            survivors += 1
            tell(f"\n{room}: a change that no test notices:\n{result.diff}")
        sys.stderr.write(f"{room}: {number} of {len(chosen)} tried, {survivors} survived\n")
    killed = len(chosen) - survivors
    return f"{room}: {killed} of {len(chosen)} killed ({killed / len(chosen):.0%}), of {len(everything)}; seed {seed}"


def unchanged(command: list[str]) -> float:
    """Seconds that the tests take. They must pass, and what they import is compiled by that."""
    begin = time.monotonic()
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise SystemExit("the tests fail without any change: mend them first")
    return time.monotonic() - begin


def mutations(package: Path) -> Iterator[WorkItem]:
    """Every change that cosmic-ray can make, but for those of annotations, which nothing reads when tests run."""
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
    """What tells it from all others: job ids are random."""
    return str(change.module_path), change.operator_name, change.occurrence


def annotations(path: Path) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations begin and end; lines from 1, columns from 0."""
    for node in ast.walk(ast.parse(path.read_text())):
        found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
        for one in found:
            if isinstance(one, ast.AST):
                yield (one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset)


if __name__ == "__main__":
    sys.exit(main())
