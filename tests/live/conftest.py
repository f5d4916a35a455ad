"""A user's shell: commands with folders of their own, and a check of what they leave behind."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import slots

from schedproof.binaries.resolve import resolve
from schedproof.clusters.kind.docker import docker, require_docker
from schedproof.clusters.kind.registration import KIND
from schedproof.clusters.node_image.image_choice import obtain_images
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.progress import ConsoleProgress
from schedproof.foundation.waiting import NotYet, wait_for

KUBERNETES = "1.36"
SAYS = Deadline(
    "command says", 900, "a cluster starts in 4 s on an idle machine; a command that has ended is reported at once"
)
ENDS = Deadline("command ends", 1800, "the longest of them judge two candidates in some minutes on an idle machine")
SLOT = pytest.StashKey[contextlib.ExitStack]()
"""What of tools/slots.py this process holds."""
OPENED = pytest.StashKey[int]()
"""How many shells had been opened when a test began."""
_NS_GET_PARENT = 0xB702
"""<linux/nsfs.h>: a descriptor of the PID namespace that this one is in."""
FAILED = Path(__file__).parents[2] / "build" / "failed"
_TAIL = 40
"""Lines: a conclusion, and the verdicts before it."""
NOTHING_LEFT = Deadline("nothing left", 60, "the kernel ends some processes, then process 1 removes some MB")


@dataclasses.dataclass(frozen=True)
class Ended:
    """A command that has ended, as a user sees it."""

    code: int
    out: str
    err: str

    @property
    def printed(self) -> str:
        """Its output, with standard error first: pytest may truncate the rest."""
        lines = self.out.splitlines(keepends=True)
        cut, tail = "".join(lines[:-_TAIL]), "".join(lines[-_TAIL:])
        return (
            f"exit code {self.code}\n--- standard error\n{self.err}"
            f"--- end of standard output\n{tail}--- standard output before that\n{cut}"
        )


class Running:
    """A command that may still run; its output goes to files."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self._files = log.with_suffix(".out"), log.with_suffix(".err")
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            # Its own process group, as a shell's job has.
            self.process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, process_group=0,
                # A CI server may have started us with signals ignored, which children inherit.
                preexec_fn=_mind_signals,
            )  # fmt: skip

    @property
    def so_far(self) -> Ended:
        code = self.process.poll()
        out, err = (file.read_text(errors="replace") for file in self._files)
        return Ended(0 if code is None else code, out, err)

    def exit_error(self) -> SchedproofError | None:
        if self.process.poll() is None:
            return None
        return SchedproofError(f"{self.process.args} has ended\n{self.so_far.printed}")

    def says(self, text: str, deadline: Deadline = SAYS) -> None:
        """Wait until it has printed `text`."""

        def probe() -> None:
            if text not in self.so_far.out + self.so_far.err:
                raise NotYet(self.so_far.printed)

        wait_for(probe, deadline, what=f"{text!r} to be printed", watching=(self,))

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends SIGINT to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ends(self, deadline: Deadline = ENDS) -> Ended:
        """Wait for its end."""

        def probe() -> None:
            if self.process.poll() is None:
                raise NotYet(self.so_far.printed)

        wait_for(probe, deadline, what="the command to end")
        return self.so_far


def _mind_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Shell:
    """Starts commands. Processes of a command are recognized by the folders that only this shell has."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.scratch, self.work = home / "tmp", home / "work"
        self.scratch.mkdir()
        self.work.mkdir()
        self.commands: list[Running] = []
        self.prefix: tuple[str, ...] = ()
        """What each command is started by, such as setpriv."""
        self.python = sys.executable
        # Nor do hundreds of runs write into the summary of the job that tests them.
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
        self.env |= {"TMPDIR": str(self.scratch), "COLUMNS": "200"}
        self._namespaces: dict[int, int] = {}
        """PID namespaces of ours: inode number to a descriptor. The number of one that has gone is given again."""

    def start(self, *argv: str) -> Running:
        log = self.home / f"command-{len(self.commands)}"
        command = Running([*self.prefix, self.python, "-m", *argv], self.work, self.env, log)
        self.commands.append(command)
        return command

    def schedproof(self, *arguments: str, deadline: Deadline = ENDS) -> Ended:
        return self.start("schedproof", *arguments).ends(deadline)

    def report(self, folder: str = "report") -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.work / folder / "report.json").read_text())
        return content

    def processes(self) -> list[Path]:
        """The /proc entries of processes whose command line, environment or working directory mention this shell's
        home.
        """
        mark = f"{self.home}/".encode()
        return [
            entry
            for entry in Path("/proc").glob("[0-9]*")
            if entry.name != str(os.getpid()) and any(mark in part for part in _identity(entry))
        ]

    def watch(self) -> None:
        """Note the PID namespaces of running processes: `left` looks for processes in them that hide their identity."""
        own = Path("/proc/self/ns/pid").stat().st_ino
        for entry in self.processes():
            with contextlib.suppress(OSError), (entry / "ns" / "pid").open("rb") as file:
                if (namespace := os.fstat(file.fileno()).st_ino) not in {own, *self._namespaces}:
                    self._namespaces[namespace] = os.dup(file.fileno())

    def forget(self) -> None:
        """Forget what `watch` noted."""
        while self._namespaces:
            os.close(self._namespaces.popitem()[1])

    def left(self) -> list[str]:
        """What this shell has left on this machine, other than evidence."""
        found = [f"process {entry.name}: {_identity(entry)[0].split(bytes(1))}" for entry in self.processes()]
        found += [
            f"process {entry.name} in a PID namespace of ours"
            for entry in Path("/proc").glob("[0-9]*")
            if _pid_namespaces(entry) & self._namespaces.keys()
        ]
        for device in Path("/sys/class/net").iterdir():
            # The addresses that the fabric gives; its own names may be anybody's.
            if (device / "address").read_text().startswith(("02:00:00:01:", "02:00:00:02:")):
                found.append(f"device {device.name}")
        for mount in Path("/proc/self/mountinfo").read_text().splitlines():
            if f"{self.home}/" in mount:
                found.append(f"mount {mount}")
        return found + [f"file {path}" for path in self.scratch.iterdir()]

    def expect_nothing_left(self) -> None:
        def probe() -> None:
            if left := self.left():
                raise NotYet("\n".join(left))

        wait_for(probe, NOTHING_LEFT, what="everything that the command started to go")

    def close(self) -> None:
        for command in self.commands:
            if command.process.poll() is None:
                command.process.kill()
                command.process.wait()


def _identity(entry: Path) -> tuple[bytes, ...]:
    parts = []
    for name in ("cmdline", "environ", "cwd"):
        try:
            file = entry / name
            parts.append(f"{file.readlink()}/".encode() if name == "cwd" else file.read_bytes())
        except OSError:  # it has ended, or is another user's
            parts.append(b"")
    return tuple(parts)


def _pid_namespaces(entry: Path) -> set[int]:
    """The inode numbers of a process's PID namespace and of its ancestors, up to this process's own."""
    found = set()
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
        file = opened.enter_context((entry / "ns" / "pid").open("rb"))
        while True:
            found.add(os.fstat(file.fileno()).st_ino)
            # Not permitted beyond our own.
            file = opened.enter_context(os.fdopen(fcntl.ioctl(file, _NS_GET_PARENT), "rb"))
    return found


_opened: list[Shell] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Take a slot before the first fixture of a module starts anything.

    Without Docker, tests of kind clusters are skipped with that reason, but fail in CI.
    """
    item.stash[OPENED] = len(_opened)
    is_kind = item.get_closest_marker("kind") is not None
    if is_kind and (obstacle := _no_docker()):
        if "SCHEDPROOF_REQUIRE_KIND" in os.environ:
            pytest.fail(f"SCHEDPROOF_REQUIRE_KIND is set: {obstacle}")
        pytest.skip(f"kind clusters are not tried here: {obstacle}")
    if SLOT not in item.config.stash:
        item.config.stash[SLOT] = contextlib.ExitStack()
        item.config.stash[SLOT].enter_context(slots.take())
    if is_kind:
        _prepare_kind()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free the slot once the fixtures of the module are gone."""
    if SLOT in item.config.stash and (nextitem is None or nextitem.path != item.path):
        item.config.stash[SLOT].close()
        del item.config.stash[SLOT]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep the output and reports of a failed test's commands in build/failed."""
    report = yield
    if report.failed:
        kept = FAILED / re.sub(r"[^\w.-]+", "-", item.nodeid.rpartition("/")[2])
        shutil.rmtree(kept, ignore_errors=True)
        given = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, tuple)]
        shells = {*_opened[item.stash[OPENED] :], *(part for pair in given for part in pair if isinstance(part, Shell))}
        for shell in shells:
            # What still runs may remove files meanwhile.
            with contextlib.suppress(OSError):
                shutil.copytree(shell.home, kept / shell.home.name, symlinks=True, ignore=shutil.ignore_patterns("tmp"))
    return report


@functools.cache
def _no_docker() -> str:
    try:
        require_docker()
    except HostError as error:
        return str(error)
    return ""


@functools.cache
def _prepare_kind() -> None:
    """Build everything once, which takes minutes, before any test waits for it."""
    resolve(KIND.binaries, kubernetes=KUBERNETES, progress=ConsoleProgress())
    obtain_images(None, KUBERNETES, ConsoleProgress())


@pytest.fixture(scope="session")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Shell]]:
    """A factory of shells, each with a home of its own; ends what a failed test has left running in them."""

    def shell() -> Shell:
        _opened.append(Shell(tmp_path_factory.mktemp("shell")))
        return _opened[-1]

    yield shell
    for opened in _opened:
        opened.close()
        opened.forget()


@pytest.fixture(scope="session")
def kept(shells: Any) -> tuple[Shell, Ended]:
    """The ended run of candidates without defects. Its report is in the shell's folder `report`."""
    return _long_run(shells(), "stock", "least-traffic-extender")


@pytest.fixture(scope="session")
def broken(shells: Any) -> tuple[Shell, Ended]:
    """The ended run of candidates without a preference. Their core is kube-scheduler's, which is tried in `kept`."""
    candidates = ("defects/stock-claims-network", "defects/constant-scores")
    return _long_run(shells(), *candidates, "--clause=core/binds", "--profile=network-aware", "--keep-going", "-v")


def _long_run(shell: Shell, *arguments: str) -> tuple[Shell, Ended]:
    return shell, shell.schedproof("run", *arguments, "--report=report")


@pytest.fixture
def shell(shells: Any) -> Iterator[Shell]:
    """A shell that must leave nothing behind."""
    fresh = shells()
    yield fresh
    fresh.close()
    fresh.expect_nothing_left()
    fresh.forget()


@pytest.fixture
def docker_left_as_found() -> Iterator[None]:
    """Check that no container is left; nothing else may use Docker meanwhile."""
    before = set(docker("ps", "--all", "--format={{.Names}}").split())
    yield
    assert set(docker("ps", "--all", "--format={{.Names}}").split()) == before


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, str]]]:
    """Planted candidates, judged by tools/judge_defects.py: candidate to clause to its entry in report.json."""
    report = tmp_path_factory.mktemp("planted")
    tool = Path(__file__).parents[2] / "tools" / "judge_defects.py"
    command = [sys.executable, str(tool), "--quick", "--all", f"--report={report}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (report / "report.json").exists(), done.stdout + done.stderr
    # Candidates that need another cluster have a report of their own.
    documents = [json.loads(path.read_text()) for path in (report / "report.json", *report.glob("*/report.json"))]
    return {
        judged["name"]: {clause["id"]: clause for clause in judged["clauses"]}
        for document in documents
        for judged in document["candidates"]
    }
