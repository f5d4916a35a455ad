"""A sandbox for processes that cannot outlive the harness.

All children of the harness live in one PID namespace per cluster. Its process 1 is `sandbox_init.py`; it ends, and the
kernel with it ends everything inside, when the control socket to the harness closes: on `close()`, on a crash, and on
SIGKILL alike.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.foundation.deadlines import SANDBOX_REPLY
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.last_words import cause_of_end
from schedproof.foundation.processes.process_tree import below, children, namespace_pids
from schedproof.foundation.redaction import SECRETS
from schedproof.foundation.visible import visible
from schedproof.foundation.waiting import NotYet, wait_for

_INIT = Path(__file__).with_name("sandbox_init.py")
_KILLED = "check whether its process 1 was killed from outside, for example because memory ran out: see `dmesg`"
_PACKET = 1 << 20
_DUMP = 1 << 20
"""Bytes: a panic is followed by all goroutines."""
_FLAG = re.compile(r"^I\d{4} .*\] FLAG: --.*\n", re.MULTILINE)


class CommandNotStartedError(SchedproofError):
    """The operating system could not execute the command at all."""


@dataclasses.dataclass(frozen=True)
class Command:
    """What to start.

    `fds` maps descriptor numbers in the child to ours. `netns` is an open descriptor of a network namespace.
    `listen_fds` announces `fds` by systemd's socket activation protocol. The environment is exactly `env`:
    proxies and certificate bundles of the caller would redirect loopback traffic. `contained` gives it a PID namespace
    of its own: whatever it forks, daemons too, ends with it. It then sees of the scratch directories of all sandboxes
    that are there, and of the folders that are `hidden` (also by `Sandbox.hide`), only the paths that are `kept`; and
    at each path of `shown`, which need not be there, a folder that is kept. Of root's capabilities it has no more than
    a container has.
    """

    name: str
    argv: tuple[str, ...]
    log: Path
    cwd: Path
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fds: Mapping[int, int] = dataclasses.field(default_factory=dict)
    listen_fds: bool = False
    netns: int | None = None
    hostname: str = ""
    contained: bool = False
    hidden: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    shown: Mapping[str, Path] = dataclasses.field(default_factory=dict)


class Process:
    """A process in the sandbox. Exactly one owner stops it."""

    def __init__(self, sandbox: Sandbox, command: Command, pid: int, log_begins: int) -> None:
        self._sandbox = sandbox
        self._log_begins = log_begins
        self.command = command
        self.pid = pid
        """Its pid inside the sandbox; of a contained command, that of its namespace's process 1."""
        self.exit_code: int | None = None
        """None while it runs; negative signal number if a signal ended it."""
        self._outside_pid = 0

    def outside_pid(self) -> int:
        """Its pid outside the sandbox, looked up once; 0: it is gone."""
        if self.exit_code is not None:
            return 0
        self._outside_pid = self._outside_pid or self._find_outside()
        return self._outside_pid

    def _find_outside(self) -> int:
        depth = len(namespace_pids(self._sandbox.outer_pid))
        for init in children(self._sandbox.outer_pid):
            for pid in children(init):
                if namespace_pids(pid)[depth : depth + 1] == [self.pid]:
                    return pid
        return 0

    def log_tail(self, lines: int = 12) -> str:
        """The last lines that it printed, for people."""
        return last_lines(self.command.log, lines)

    def cause(self) -> str:
        """Why it ended, according to its log; empty if the log does not say."""
        return cause_of_end(last_lines(self.command.log, 10_000, since=self._log_begins, most=_DUMP))

    def exit_error(self) -> CandidateError | None:
        """`waiting.Watched`: why waiting for it is pointless."""
        if self.exit_code is None:
            return None
        how = f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"
        cause = self.cause()
        return CandidateError(
            f"{self.command.name} ended with {how}{f': {cause}' if cause else ''}\n"
            f"  command: {' '.join(self.command.argv)}\n"
            f"  last log lines:\n{_indent(self.log_tail())}",
            remedy=f"read {self.command.log}",
        )

    def signal(self, number: int) -> None:
        if self.exit_code is None:
            self._sandbox.request({"op": "signal", "pid": self.pid, "signal": number})

    def wait(self, seconds: float) -> bool:
        """Whether it ended within `seconds`."""
        with self._sandbox.changed:
            return self._sandbox.changed.wait_for(lambda: self.exit_code is not None, timeout=seconds)

    def stop(self, grace: float) -> None:
        """SIGTERM to its process group, then after `grace` seconds SIGKILL; to all that it has forked, if contained."""
        self._group(signal.SIGTERM)
        if not self.wait(grace):
            self._group(signal.SIGKILL)
            self.wait(SANDBOX_REPLY.seconds)

    def freeze(self) -> None:
        """Stop it and all its descendants, until `thaw`."""
        self._each(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue it after `freeze`."""
        self._each(signal.SIGCONT)

    def _each(self, number: int) -> None:
        # From outside: process 1 of its namespace cannot hand on what it does not live to see.
        for pid in (*below(self.outside_pid()),):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _group(self, number: int) -> None:
        if self.command.contained:
            self.signal(number)  # process 1 of its namespace hands it on to the group
        elif self.exit_code is None:
            self._sandbox.request({"op": "signal", "pid": -self.pid, "signal": number})


class Sandbox:
    """Start, watch and end processes inside fresh PID and mount namespaces.

    Args:
        namespaces: whether to create these. Without them, nothing can be `contained`, and what its processes have
            forked ends with the harness's own PID namespace: that of a container, for example.

    Raises:
        HostError: the machine does not allow it; says what is missing and what to do.
    """

    def __init__(self, *, namespaces: bool = True) -> None:
        self.changed = threading.Condition()
        self._replies: dict[int, dict[str, Any]] = {}
        self._processes: dict[int, Process] = {}
        self._early_exits: dict[int, int] = {}
        self._next_id = 0
        self._hidden: set[Path] = set()
        self._sending = threading.Lock()
        self._closed = False
        import tempfile

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        with theirs:
            # Its own session: Ctrl-C on the terminal reaches the harness alone, which then closes us.
            self._outer = subprocess.Popen(
                (
                    sys.executable,
                    "-I",
                    "-S",
                    str(_INIT),
                    str(theirs.fileno()),
                    tempfile.gettempdir(),
                    *(() if namespaces else ("here",)),
                ),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            self.scratch = self._hello()
        except BaseException:  # Ctrl-C too: it ends once it reads end-of-file from us
            self._control.close()
            self._outer.wait()
            raise
        """A directory for sockets, data and credentials; process 1 removes it at the end."""
        self._reader = threading.Thread(target=self._read, name="sandbox-reader", daemon=True)
        self._reader.start()

    @property
    def outer_pid(self) -> int:
        """The child of the harness, whose child is process 1."""
        return self._outer.pid

    def _hello(self) -> Path:
        self._control.settimeout(SANDBOX_REPLY.seconds)
        try:
            packet = self._control.recv(_PACKET)
        except TimeoutError:
            packet = b""
        self._control.settimeout(None)
        message: dict[str, Any] = (
            json.loads(packet) if packet else {"failed": "it ended with no output", "step": "start"}
        )
        if "hello" in message:
            return Path(message["hello"]["scratch"])
        raise HostError(
            f"this machine does not allow creating a {message['step']}: {message['failed']}",
            remedy=namespace_remedy(),
        )

    def _read(self) -> None:
        while True:
            try:
                packet = self._control.recv(_PACKET)
            except OSError:
                packet = b""
            with self.changed:
                if not packet:
                    for process in self._processes.values():
                        process.exit_code = -9 if process.exit_code is None else process.exit_code
                    self._closed = True
                    self.changed.notify_all()
                    return
                message = json.loads(packet)
                if "exited" in message:
                    code = os.waitstatus_to_exitcode(message["status"])
                    # The message of its exit may arrive before `spawn` has read the reply about its start.
                    if message["exited"] in self._processes:
                        self._processes.pop(message["exited"]).exit_code = code
                    else:
                        self._early_exits[message["exited"]] = code
                else:
                    self._replies[message["id"]] = message
                self.changed.notify_all()

    def request(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Send one message to process 1 and return its reply."""
        with self._sending:
            self._next_id += 1
            identity = self._next_id
            packet = json.dumps({**message, "id": identity}).encode()
            try:
                socket.send_fds(self._control, [packet], list(descriptors))
            except OSError as error:
                raise HostError(f"the sandbox does not accept a request: {error}", remedy=_KILLED) from error

        def reply() -> dict[str, Any]:
            if identity in self._replies:
                return self._replies.pop(identity)
            if self._closed:
                raise HostError("the sandbox has ended", remedy=_KILLED)
            raise NotYet

        return wait_for(reply, SANDBOX_REPLY, what="process 1 of the sandbox to respond", wake=self.changed)

    def spawn(self, command: Command) -> Process:
        """Start a command.

        Raises:
            CommandNotStartedError: it does not exist or cannot be executed.
        """
        make_private(command.log.parent)
        log_begins = command.log.stat().st_size if command.log.exists() else 0
        descriptors = [*command.fds.values(), *(() if command.netns is None else (command.netns,))]
        reply = self.request(
            {
                "op": "spawn", "argv": command.argv, "env": dict(command.env), "cwd": str(command.cwd),
                "log": str(command.log), "fds": list(command.fds), "netns": command.netns is not None,
                "hostname": command.hostname, "listen_fds": command.listen_fds,
                "contained": command.contained, "hidden": self._hidden_from(command),
                "kept": [str(path) for path in (*command.kept, *command.shown.values())],
                "shown": {path: str(folder) for path, folder in command.shown.items()},
            },
            descriptors,
        )  # fmt: skip
        if "errno" in reply:
            raise CommandNotStartedError(f"{command.name}: cannot start {command.argv[0]!r}: {reply['text']}")
        process = Process(self, command, reply["pid"], log_begins)
        with self.changed:
            if process.pid in self._early_exits:
                process.exit_code = self._early_exits.pop(process.pid)
            else:
                self._processes[process.pid] = process
        return process

    def hide(self, folder: Path) -> None:
        """Hide a folder from all contained commands that start from here on; they see what is `kept` for them."""
        self._hidden.add(folder)

    def _hidden_from(self, command: Command) -> list[str]:
        """The folders that a contained command cannot see, each once, except the folder in which it is started."""
        if not command.contained:
            return []
        own, cwd = self.scratch.resolve(), command.cwd.resolve()
        hidden: list[Path] = []
        for folder in sorted(map(Path.resolve, {*_scratch_directories(own.parent), *self._hidden, *command.hidden})):
            inside_another = any(folder.is_relative_to(outer) for outer in hidden)
            if folder.is_dir() and not inside_another and (folder == own or not cwd.is_relative_to(folder)):
                hidden.append(folder)
        return [str(folder) for folder in hidden]

    def close(self) -> None:
        """End everything inside, and return when it is gone. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._outer.wait()
        self._reader.join()
        self._control.close()


def namespace_remedy() -> str:
    """The fix if namespaces are refused: names the setting that forbids them."""
    if os.geteuid() == 0:
        return (
            "root lacks CAP_SYS_ADMIN here: start the container with --privileged, "
            "or with --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined"
        )
    for setting, forbidding, allowing in (
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("user/max_user_namespaces", "0", "15000"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ):
        path = Path("/proc/sys") / setting
        with contextlib.suppress(OSError):
            if path.read_text().strip() == forbidding:
                return f"as root: sysctl -w {setting.replace('/', '.')}={allowing}; or run as root"
    return "run as root, or outside a container that forbids user namespaces (seccomp, AppArmor)"


def _scratch_directories(parent: Path) -> list[Path]:
    """The scratch directories of all sandboxes, of this run and of others."""
    # Of those of other users access() says no, where a look at them would raise.
    return [folder for folder in parent.glob("schedproof-*") if os.access(folder / ".owner", os.F_OK)]


def last_lines(log: Path, lines: int, *, since: int = 0, most: int = 16_384) -> str:
    """The last lines of a log, for people: without secrets, terminal control characters, and the flags that Kubernetes'
    own programs list at their start.

    Args:
        log: the file.
        lines: how many, at most.
        since: the offset in the file at which they begin, at the earliest.
        most: how many bytes are read.
    """
    try:
        size = log.stat().st_size
        with log.open("rb") as file:
            file.seek(max(since, size - most))
            text = _FLAG.sub("", file.read().decode(errors="replace"))
    except OSError as error:
        return f"(no log: {error})"
    return "\n".join(visible(SECRETS.redact(text.replace("\r\n", "\n"))).splitlines()[-lines:])


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
