"""Run parts of the test suite, and summarise their results: `make test` runs `gate`, `make test-all` all parts.

When a part passes without uncommitted changes, the hash of that tree is written to build/passed/PART, and the part
is not run on the tree again without `--again`; an interrupted run therefore continues where it was. The output of a
part is in build/logs/PART.log. The last lines name the failures, and their reasons.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PYTHON = sys.executable
LAST_LINES = 30
"""Lines at the end of the output that describe failures."""


def tests(*arguments: str) -> tuple[str, ...]:
    """Return a pytest command that also shows the slowest tests."""
    return (PYTHON, "-m", "pytest", "--durations=10", *arguments)


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    """Return a command that is installed next to this Python."""
    return (str(Path(PYTHON).parent / name), *arguments)


DESCRIBED = "test_the_described_systems_pass_once_they_are_corrected"
SIDE_BY_SIDE = ("-n2", "--dist=worksteal")
CHECK = (
    tool("ruff", "check", "."),
    tool("ruff", "format", "--check", "."),
    tool("mypy"),
    tool("lint-imports", "--no-cache"),
    tests(
        "-m", "not live and not browser and not slow", "-nauto", "--maxprocesses=8", "--dist=worksteal",
        "--benchmark-disable",
    ),
)  # fmt: skip
PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "check": CHECK,
    "gate": (*CHECK, tests("tests/live", "tests/report", "-m", "(live or browser) and not slow", *SIDE_BY_SIDE)),
    "fast": (tests("-m", "slow and not live and not browser", *SIDE_BY_SIDE, "--benchmark-disable"),),
    "docs": (tool("mkdocs", "build", "--strict"),),
    "differential": (tests("tests/differential", "-m", "slow"),),
    "planted": (
        tests("tests/live/test_defects.py", "tests/live/test_unusual.py", "-m", "slow", "-k", f"not {DESCRIBED}"),
    ),
    "described": (tests("tests/live/test_defects.py", "-m", "slow", "-k", DESCRIBED),),
    # By file, because fixtures of a session or a module take minutes to start.
    "live": (tests("tests/live", "-m", "slow and not planted and not kind", "-n2", "--dist=loadfile"),),
    "kind": (tests("tests/live", "-m", "slow and kind"),),
    "bounds": ((str(ROOT / "tools" / "bounds"), "python3"),),
}
"""The commands of each part, in the order in which all parts run."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failed test or command, and the end of its output."""

    name: str
    output: str


@dataclasses.dataclass
class Outcome:
    """The result of a part."""

    part: str
    seconds: float = 0.0
    tests: int = 0
    failures: list[Failure] = dataclasses.field(default_factory=list)
    result: str = "passed"


def tree() -> str:
    """Return the hash of the committed tree; "" if there are uncommitted changes."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else "unknown"

    return "" if git("status", "--porcelain") else git("rev-parse", "HEAD^{tree}")


def passed(part: str) -> Path:
    """Return the file with the hash of the tree on which a part last passed."""
    return BUILD / "passed" / part


def run(part: str) -> Outcome:
    """Run a part's commands until one fails."""
    outcome = Outcome(part)
    began, before = time.monotonic(), tree()
    passed(part).unlink(missing_ok=True)
    log = BUILD / "logs" / f"{part}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    for command in PARTS[part]:
        junit = BUILD / "logs" / f"{part}.xml"
        junit.unlink(missing_ok=True)
        is_pytest = command[:3] == tests()[:3]
        extended = (*command, f"--junit-xml={junit}") if is_pytest else command
        try:
            status = _tee(extended, log)
        except KeyboardInterrupt:
            outcome.result = "interrupted"
            break
        found = _failures(junit, outcome) if junit.exists() else []
        if status != 0:
            # pytest's junit.xml lacks errors outside tests.
            end = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            outcome.failures += found or [Failure(shlex.join(_shown(command)), "\n".join(end))]
            outcome.result = "failed"
            break
    outcome.seconds = time.monotonic() - began
    if outcome.result == "passed" and before and tree() == before:
        passed(part).parent.mkdir(parents=True, exist_ok=True)
        passed(part).write_text(f"{before}\n")
    return outcome


def _shown(command: tuple[str, ...]) -> list[str]:
    return [Path(command[0]).name, *command[1:]]


def _tee(command: tuple[str, ...], log: Path) -> int:
    """Run a command, print its output, and append it to the log. An interrupt is passed on to the command."""
    line = f"$ {shlex.join(_shown(command))}\n"
    sys.stdout.write(line)
    sys.stdout.flush()
    # Let Python write bytecode, and pytest its rewritten assertions: hundreds of processes would do it again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["NO_MKDOCS_2_WARNING"] = "1"
    with log.open("ab") as kept:
        kept.write(line.encode())
        kept.flush()
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        with process:
            try:
                _copy(process.stdout, kept)
            except KeyboardInterrupt:
                # A terminal has sent the interrupt to the command as well, which now unwinds; other senders, such as
                # make, have not.
                process.send_signal(signal.SIGINT)
                _copy(process.stdout, kept)
                process.wait()
                raise
    return process.returncode


def _copy(source: IO[bytes], kept: IO[bytes]) -> None:
    for line in source:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        kept.write(line)


def _failures(junit: Path, outcome: Outcome) -> list[Failure]:
    """Return the failed tests of pytest's junit.xml, and add its number of tests to the outcome."""
    found = []
    for case in ET.parse(junit).iter("testcase"):  # noqa: S314 - our own pytest has just written it
        outcome.tests += case.find("skipped") is None
        for problem in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            found.append(Failure(name, problem.get("message") or problem.text or ""))
    return found


def summary(outcomes: list[Outcome]) -> str:
    """Return a table of the parts, and a few lines on each failure."""
    lines = [f"{'part':<14}{'time':>8}{'tests':>8}{'failed':>8}  result"]
    for outcome in outcomes:
        clock = "{}m{:02}s".format(*divmod(round(outcome.seconds), 60))
        lines.append(f"{outcome.part:<14}{clock:>8}{outcome.tests:>8}{len(outcome.failures):>8}  {outcome.result}")
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    if failures:
        each = max(1, (LAST_LINES - len(lines)) // len(failures) - 1)
        for failure in failures[:LAST_LINES]:
            shown = [line for line in failure.output.splitlines() if line.strip()][:each]
            lines += [f"FAILED {failure.name}", *(textwrap.shorten(f"    {line}", 200) for line in shown)]
        lines.append(f"logs: {BUILD / 'logs'}; evidence of failed live tests: {BUILD / 'failed'}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"parts to run, of {', '.join(PARTS)} (default: all except check)"
    )
    parser.add_argument("--again", action="store_true", help="also parts that have passed on this tree")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"unknown part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    shutil.rmtree(BUILD / "failed", ignore_errors=True)
    outcomes = []
    # The part `check` is the first half of the gate.
    for part in arguments.parts or [part for part in PARTS if part != "check"]:
        now = tree()
        if not arguments.again and now and passed(part).exists() and passed(part).read_text().strip() == now:
            outcomes.append(Outcome(part, result="passed before, on this tree"))
            continue
        outcomes.append(run(part))
        if outcomes[-1].result == "interrupted":
            break
    sys.stdout.write(f"\n{summary(outcomes)}\n")
    return 0 if all(one.result.startswith("passed") for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
