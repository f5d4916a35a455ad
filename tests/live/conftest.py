"""A user's shell: commands with folders of their own, and a look at what they leave behind."""

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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import slots

from schedproof.binaries.resolve import resolve
from schedproof.clusters.kind import cluster as kind
from schedproof.clusters.kind.docker import docker, require_docker
from schedproof.clusters.node_image.image_choice import obtain_images
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.progress import ConsoleProgress
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KUBERNETES = "1.36"
SAYS = Deadline("command says", 900, "a cluster starts in 4 s on an idle machine; who has ended says so at once")
ENDS = Deadline("command ends", 1800, "the longest of them judge two candidates in some minutes on an idle machine")
LONG_RUNS = {
    "kept": ("stock", "least-traffic-extender"),
    # Their core is kube-scheduler's, which is tried there.
    "broken": (
        "defects/stock-claims-network", "defects/constant-scores", "--clause=core/binds", "--profile=network-aware",
    ),
}  # fmt: skip
_NS_GET_PARENT = 0xB702
"""<linux/nsfs.h>: a descriptor of the PID namespace that this one is in."""
FAILED = Path(__file__).parents[2] / "build" / "failed"
ALL_SLOTS = 1_000
_TAIL = 40
"""Lines: a conclusion, and the verdicts before it."""
NOTHING_LEFT = Deadline("nothing left", 60, "the kernel ends some processes, then process 1 removes some MB")


@dataclasses.dataclass(frozen=True)
class Ended:
    """A command that has ended: what a user sees of it."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What tells why it failed comes first: who prints this may cut it off."""
        lines = self.out.splitlines(keepends=True)
        cut, tail = "".join(lines[:-_TAIL]), "".join(lines[-_TAIL:])
        return (
            f"exit code {self.code}\n--- standard error\n{self.err}"
            f"--- end of standard output\n{tail}--- standard output before that\n{cut}"
        )


class Running:
    """A command that may still run; its output goes to files."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path, inherited: Sequence[int] = ()
    ) -> None:
        self._files = log.with_suffix(".out"), log.with_suffix(".err")
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            # Its own process group, as a shell's job has.
            self.process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, process_group=0,
                # A CI server may have started us with signals ignored, which children inherit.
                preexec_fn=_mind_signals,
                pass_fds=inherited,
            )  # fmt: skip

    @property
    def so_far(self) -> Ended:
        code = self.process.poll()
        out, err = (file.read_text(errors="replace") for file in self._files)
        return Ended(0 if code is None else code, out, err)

    def exit_error(self) -> SchedproofError | None:
        if self.process.poll() is None:
            return None
        return SchedproofError(f"{self.process.args} has ended\n{self.so_far.said}")

    def says(self, text: str, deadline: Deadline = SAYS) -> None:
        """Wait until it has printed `text`."""

        def probe() -> None:
            if text not in self.so_far.out + self.so_far.err:
                raise NotYet(self.so_far.said)

        wait_for(probe, deadline, what=f"{text!r} to be printed", watching=(self,))

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends SIGINT to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ends(self, deadline: Deadline = ENDS) -> Ended:
        """Wait for its end."""

        def probe() -> None:
            if self.process.poll() is None:
                raise NotYet(self.so_far.said)

        wait_for(probe, deadline, what="the command to end")
        return self.so_far


def _mind_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Shell:
    """Starts commands. Whatever they start is known by the folders that only they have."""

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

    def start(self, *argv: str, inherited: Sequence[int] = ()) -> Running:
        """Begin a Python module as a command; it has the descriptors `inherited` until it ends."""
        log = self.home / f"command-{len(self.commands)}"
        command = Running([*self.prefix, self.python, "-m", *argv], self.work, self.env, log, inherited)
        self.commands.append(command)
        return command

    def schedproof(self, *arguments: str, deadline: Deadline = ENDS) -> Ended:
        return self.start("schedproof", *arguments).ends(deadline)

    def report(self, folder: str = "report") -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.work / folder / "report.json").read_text())
        return content

    def processes(self) -> list[Path]:
        """The /proc entries of those whose command line, environment or folder mention our home."""
        mark = f"{self.home}/".encode()
        return [
            entry
            for entry in Path("/proc").glob("[0-9]*")
            if entry.name != str(os.getpid()) and any(mark in part for part in _identity(entry))
        ]

    def watch(self) -> None:
        """Note the PID namespaces of what runs now: `left` looks for processes in them that hide their identity."""
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
        """What of ours is still on this machine, other than evidence."""
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
    """The inode numbers of a process's PID namespace and of those that it is in, up to ours."""
    found = set()
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
        file = opened.enter_context((entry / "ns" / "pid").open("rb"))
        while True:
            found.add(os.fstat(file.fileno()).st_ino)
            # Not permitted beyond our own.
            file = opened.enter_context(os.fdopen(fcntl.ioctl(file, _NS_GET_PARENT), "rb"))
    return found


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of kind clusters are skipped where there is no Docker, and say so. CI must not get away with that."""
    if not item.get_closest_marker("kind"):
        return
    if obstacle := _no_docker():
        if "SCHEDPROOF_REQUIRE_KIND" in os.environ:
            pytest.fail(f"SCHEDPROOF_REQUIRE_KIND is set: {obstacle}")
        pytest.skip(f"kind clusters are not tried here: {obstacle}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Of a test that failed, what its commands printed and reported stays in build/failed."""
    report = yield
    if report.failed:
        kept = FAILED / re.sub(r"[^\w.-]+", "-", item.nodeid.rpartition("/")[2])
        shutil.rmtree(kept, ignore_errors=True)
        for number, shell in enumerate(_shells_of(item)):
            shutil.copytree(
                shell.home,
                kept / str(number),
                symlinks=True,
                ignore_dangling_symlinks=True,
                copy_function=_copy_if_there,
                ignore=shutil.ignore_patterns("tmp"),
            )
    return report


def _shells_of(item: pytest.Item) -> list[Shell]:
    """Those that a test has been given, also together with something that ended in them."""
    found: list[Shell] = []
    for value in getattr(item, "funcargs", {}).values():
        found += [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Shell)]
    return found


def _copy_if_there(source: str, target: str) -> None:
    # What still runs may remove it meanwhile.
    with contextlib.suppress(OSError):
        shutil.copyfile(source, target)


@functools.cache
def _no_docker() -> str:
    try:
        require_docker()
    except HostError as error:
        return str(error)
    return ""


@functools.cache
def _prepare_kind() -> None:
    """Have all that is built once: that takes minutes, which no test should have to wait for."""
    resolve(kind.BINARIES, kubernetes=KUBERNETES, progress=ConsoleProgress())
    obtain_images(None, KUBERNETES, ConsoleProgress())


@pytest.fixture(scope="module", autouse=True)
def _slot(request: pytest.FixtureRequest) -> Iterator[None]:
    """One for all that a process tries in a module: tests run one after the other."""
    with slots.take():
        of_kind = (item for item in request.session.items if item.get_closest_marker("kind"))
        if any(request.node in item.listchain() for item in of_kind) and not _no_docker():
            _prepare_kind()
        yield


@pytest.fixture(scope="session")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Shell]]:
    """Gives a shell with a home of its own at each call; ends what a failed test left running in it."""
    opened = []

    def shell() -> Shell:
        opened.append(Shell(tmp_path_factory.mktemp("shell")))
        return opened[-1]

    yield shell
    for one in opened:
        one.close()
        one.forget()


@pytest.fixture(scope="session", autouse=True)
def _long_runs(request: pytest.FixtureRequest, shells: Any) -> dict[str, tuple[Shell, Running]]:
    """Runs that several tests look at; begun before the first test, because they take more than a minute."""
    wanted = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    runs = {}
    for name, arguments in LONG_RUNS.items():
        if name in wanted:
            shell = shells()
            with slots.take() as slot:
                command = shell.start("schedproof", "run", *arguments, "--report", "report", inherited=slot)
            runs[name] = shell, command
    return runs


@pytest.fixture(scope="session")
def kept(_long_runs: dict[str, tuple[Shell, Running]]) -> tuple[Shell, Ended]:
    """The run of candidates that keep their promises, over. Its report is in the shell's folder `report`."""
    shell, command = _long_runs["kept"]
    return shell, command.ends()


@pytest.fixture(scope="session")
def broken(_long_runs: dict[str, tuple[Shell, Running]]) -> tuple[Shell, Ended]:
    """Likewise of those that have no preference."""
    shell, command = _long_runs["broken"]
    return shell, command.ends()


@pytest.fixture
def shell(shells: Any) -> Iterator[Shell]:
    """A shell that a test leaves as it found it."""
    one = shells()
    yield one
    one.close()
    one.expect_nothing_left()
    one.forget()


@pytest.fixture
def docker_left_as_found() -> Iterator[None]:
    """No container that was not there before; nothing else may use Docker meanwhile."""
    before = set(docker("ps", "--all", "--format={{.Names}}").split())
    yield
    assert set(docker("ps", "--all", "--format={{.Names}}").split()) == before


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, str]]]:
    """Planted candidates, judged by tools/judge_defects.py: candidate to clause to what report.json says of it."""
    report = tmp_path_factory.mktemp("planted")
    tool = Path(__file__).parents[2] / "tools" / "judge_defects.py"
    with slots.take(ALL_SLOTS) as held:
        # Two clusters each: most of the time is spent waiting for a candidate that does not do what it should.
        command = [sys.executable, str(tool), "--quick", "--all", f"--jobs={2 * len(held)}", f"--report={report}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (report / "report.json").exists(), done.stdout + done.stderr
    document = json.loads((report / "report.json").read_text())
    return {one["name"]: {clause["id"]: clause for clause in one["clauses"]} for one in document["candidates"]}
