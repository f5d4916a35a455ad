"""Process 1 of a sandbox. Started as a script with `python -I -S`; standard library only.

The outer half of this script enters fresh namespaces and forks; the inner half is process 1 of the
new PID namespace. It starts what the harness asks for and reports what ends. When the harness goes
away, however it goes, the control socket reads end-of-file: process 1 ends everything, removes
the scratch directory and exits, and the kernel reclaims the namespaces with all that is in them.

Protocol, one JSON object per packet of a SOCK_SEQPACKET socket pair:
  to us: {"id", "op": "spawn", "argv", "env", "cwd", "log", "fds": [target numbers], "netns": bool,
          "hostname"}, with the descriptors attached in the order of `fds`, the netns last
         {"id", "op": "signal", "pid", "signal"}
  from us: {"hello": {"scratch", "user_namespace"}} or {"failed": text, "step": name} once;
           {"id", "pid"} or {"id", "errno", "text"}; {"exited": pid, "status": waitpid status}
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER = 0x00020000, 0x04000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
PACKET = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags))


def setns(descriptor: int, kind: int) -> None:
    _check(_libc.setns(descriptor, kind))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def enter_namespaces(*, as_root: bool) -> Iterator[str]:
    """Go where PID, mount and network namespaces of our own are to be had; yields the name of each step before it."""
    uid, gid = os.getuid(), os.getgid()
    if not as_root:
        yield "user namespace"
        unshare(CLONE_NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {uid} 1")
        _write("/proc/self/gid_map", f"0 {gid} 1")
    yield "mount and PID namespaces"
    unshare(CLONE_NEWNS | CLONE_NEWPID)
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))


class Init:
    """The reaper, the starter of processes, and the one who turns off the light."""

    def __init__(self, control: socket.socket, parent_directory: str) -> None:
        self.control = control
        # TMPDIR is the harness's; the name is what `schedproof clean` looks for.
        self.scratch = tempfile.mkdtemp(prefix="schedproof-", dir=parent_directory)
        # Held as long as we live: a scratch directory with no holder is what a power cut left.
        self.lock = os.open(os.path.join(self.scratch, ".owner"), os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def send(self, message: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(message).encode())

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        reading, writing = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                self._become(request, descriptors)
            except OSError as error:
                os.write(writing, json.dumps([error.errno, str(error)]).encode())
            finally:
                os._exit(127)
        os.close(writing)
        # The pipe closes at exec: no bytes means that the command runs.
        failure = b""
        while part := os.read(reading, 4096):
            failure += part
        os.close(reading)
        if failure:
            os.waitpid(pid, 0)
            number, text = json.loads(failure)
            self.send({"id": request["id"], "errno": number, "text": text})
        else:
            self.send({"id": request["id"], "pid": pid})

    def _become(self, request: dict[str, Any], descriptors: list[int]) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        # An ignored signal would stay ignored across exec.
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        given = list(descriptors)
        if request.get("netns"):
            setns(given.pop(), CLONE_NEWNET)
        if request.get("hostname"):
            unshare(CLONE_NEWUTS)
            # 64 bytes is the kernel's limit (__NEW_UTS_LEN); node names may be longer.
            socket.sethostname(request["hostname"][:64])
        os.chdir(request["cwd"])
        log = os.open(request["log"], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        # First out of the way of every target number, then into place.
        floor = max([2, *request["fds"]]) + 1
        safe = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, floor) for fd in (null, log, log, *given)]
        for source, target in zip(safe, (0, 1, 2, *request["fds"]), strict=True):
            os.dup2(source, target)
        env = request["env"]
        if request.get("listen_fds"):
            # systemd's socket activation protocol, sd_listen_fds(3)
            env = {**env, "LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(request["fds"]))}
        os.execvpe(request["argv"][0], request["argv"], env)

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.send({"exited": pid, "status": status})

    def serve(self) -> None:
        woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(woken, select.POLLIN)
        self.send({"hello": {"scratch": self.scratch}})
        while True:
            for descriptor, _ in poller.poll():
                if descriptor == woken:
                    os.read(woken, 4096)
                    self.reap()
                    continue
                packet, descriptors, _, _ = socket.recv_fds(self.control, PACKET, 32)
                if not packet:
                    return
                request = json.loads(packet)
                if request["op"] == "spawn":
                    self.spawn(request, descriptors)
                    for fd in descriptors:
                        os.close(fd)
                else:
                    # The pid is ours to signal: only we reap, so it cannot have been reused.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(request["pid"], request["signal"])
                    self.send({"id": request["id"]})

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        shutil.rmtree(self.scratch, ignore_errors=True)


def main() -> int:
    control = socket.socket(fileno=int(sys.argv[1]))
    parent_directory = sys.argv[2]
    os.set_inheritable(control.fileno(), False)
    step = "start"
    try:
        for entered in enter_namespaces(as_root=os.geteuid() == 0):
            step = entered
    except OSError as error:
        control.sendall(json.dumps({"failed": str(error), "step": step}).encode())
        return 1
    pid = os.fork()
    if pid:
        control.close()
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) & 0x7F
    # Should the outer half be killed, process 1 dies at once, and everything with it.
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Programs that look themselves up in /proc expect their own PID namespace there. Where the
    # host's /proc has masks over it (inside a container) the kernel refuses: then the host's
    # stays, in which /proc/self still resolves.
    _libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    init = Init(control, parent_directory)
    try:
        init.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the harness died between two messages: the same end
    finally:
        init.end()
    return 0


if __name__ == "__main__":
    os._exit(main())
