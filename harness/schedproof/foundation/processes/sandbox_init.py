"""Process 1 of a sandbox. Started as a script with `python -I -S`; standard library only.

The outer half of this script enters fresh namespaces and forks; the inner half is process 1 of the
new PID namespace. It starts what the harness asks for and reports what ends. When the harness goes
away, however it goes, the control socket reads end-of-file: process 1 ends everything, removes
the scratch directory and exits, and the kernel reclaims the namespaces with all that is in them.
With the argument `here` it enters none: it ends the process groups of its commands, and no command can be contained.

Protocol, one JSON object per packet of a SOCK_SEQPACKET socket pair:
  to us: {"id", "op": "spawn", "argv", "env", "cwd", "log", "fds": [target numbers], "netns": bool,
          "hostname", "contained": bool, "hidden": [folders], "kept": [paths], "shown": {path: folder}}, with
          the descriptors attached in the order of `fds`, the netns last
         {"id", "op": "signal", "pid", "signal"}
  from us: {"hello": {"scratch", "user_namespace"}} or {"failed": text, "step": name} once;
           {"id", "pid"} or {"id", "errno", "text"}; {"exited": pid, "status": waitpid status}

A contained command has a PID namespace of its own, within ours. The pid that is told is that of its process 1, which is
this script too (`hold`): what it is signalled, it hands on to the command, and with it everything ends that the command
has forked, wherever that has gone. It has a mount namespace of its own too, in which `hidden` folders are empty but for
what is `kept` (`conceal`), and folders are `shown` at other paths too (`show`); and of root's capabilities only those
that a container gets (`drop_capabilities`): it cannot undo that.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import json
import os
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER = 0x00020000, 0x04000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 1, 23, 24, 47, 4
CAPABILITY_VERSION_3 = 0x20080522
CONTAINER_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 29, 31))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, AUDIT_WRITE, SETFCAP:
what Docker gives a container, less MKNOD (the disk as a file) and SYS_CHROOT. Without SYS_ADMIN, what is mounted over a
folder stays there, in namespaces of the command's own making too: mounts that come from a parent are locked."""
PACKET = 1 << 20
LOG_HEAD, LOG_TAIL = 8 << 20, 24 << 20
"""Bytes of a log that are kept from its beginning and from its end."""
_STEP = 1 << 20
_LOOK_EVERY = 100
"""Milliseconds. In that time a program can print 200 MB into memory that the kernel has not yet written to disk."""
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_with_parent(number: signal.Signals) -> None:
    """Have the kernel send this process the signal when its parent ends, however it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags))


def setns(descriptor: int, kind: int) -> None:
    _check(_libc.setns(descriptor, kind))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def enter_namespaces(*, as_root: bool) -> Iterator[str]:
    """Enter new PID, mount and network namespaces; yields the name of each step before it."""
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


def mount_proc() -> None:
    """Mount /proc for programs that look up themselves: they expect their own PID namespace there.

    If the host's /proc has masks over it (inside a container) the kernel refuses: then the outer /proc stays, in which
    /proc/self still resolves.
    """
    _libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)


def conceal(hidden: list[str], kept: list[str]) -> None:
    """Mount an empty folder over each `hidden` folder, in which only the `kept` paths are visible.

    In the mount namespace of the calling process, which must be its own.
    """
    # Opened before they are out of sight, and mounted again from there.
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in kept}
    for folder in filter(os.path.isdir, hidden):  # another run's may have gone in the meantime
        _check(_libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0700"))
    for path, descriptor in opened.items():
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        _check(_libc.mount(f"/proc/self/fd/{descriptor}".encode(), os.fsencode(path), None, MS_BIND, None))
        os.close(descriptor)


def show(folder: str, path: str) -> None:
    """Make `folder` visible at `path` too, which need not exist; other mount namespaces see nothing of it.

    In the mount namespace of the calling process, which must be its own. If a folder above `path` would have to be
    changed, an empty folder is mounted over it in which its contents are mounted again.
    """
    path = os.path.realpath(path)
    above = path
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    source = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    if above != path:
        held = []
        for entry in os.scandir(above):
            # One that has ended meanwhile is no loss.
            with contextlib.suppress(FileNotFoundError):
                held.append((entry.path, os.open(entry.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)))
        _check(_libc.mount(b"tmpfs", os.fsencode(above), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0755"))
        for name, descriptor in held:
            _mount_again(descriptor, name)
        os.makedirs(path)
    _check(_libc.mount(f"/proc/self/fd/{source}".encode(), os.fsencode(path), None, MS_BIND, None))
    os.close(source)


def _mount_again(descriptor: int, path: str) -> None:
    """Mount at `path`, which does not exist, what was opened (O_PATH); closes the descriptor."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink("", dir_fd=descriptor), path)
    else:
        if stat.S_ISDIR(mode):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        _check(_libc.mount(f"/proc/self/fd/{descriptor}".encode(), os.fsencode(path), None, MS_BIND | MS_REC, None))
    os.close(descriptor)


def drop_capabilities() -> None:
    """Keep only `CONTAINER_CAPABILITIES`, permanently: also after the exec of a program by root."""
    number = 0
    while (there := _libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0)) >= 0:
        if there and not CONTAINER_CAPABILITIES >> number & 1:
            _check(_libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0))
        number += 1
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable, for capabilities 0 to 31 and then for the others.
    held = (ctypes.c_uint32 * 6)()
    _check(_libc.capget(header, held))
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)(*(word & CONTAINER_CAPABILITIES for word in held[:3]))))


def hold(become: Callable[[], None], ended: int, hidden: list[str], kept: list[str], shown: dict[str, str]) -> None:
    """Be process 1 of a PID namespace for one command; does not return.

    Reaps what the command leaves behind, hands signals from outside on to the command's process group, and exits when
    the command does: the kernel then ends whatever else is in the namespace.

    Args:
        become: executes the command in the calling process.
        ended: where the command's waitpid status is written, as decimal digits.
        hidden: as for `conceal`.
        kept: as for `conceal`.
        shown: path to folder; see `show`.

    Raises:
        OSError: nothing was started.
    """
    signal.set_wakeup_fd(-1)
    every = signal.valid_signals()
    # A blocked signal waits until it is asked for, whatever would be done about it otherwise.
    signal.pthread_sigmask(signal.SIG_BLOCK, every)
    unshare(CLONE_NEWNS)
    mount_proc()
    conceal(hidden, kept)
    for path, folder in shown.items():
        show(folder, path)
    command = os.fork()
    if command == 0:
        become()
    # Closed descriptors show the harness that the command started, or ended.
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor != ended:  # not standard input, output, error
            with contextlib.suppress(OSError):  # the descriptor of listdir is closed already
                os.close(descriptor)
    while True:
        received = signal.sigwaitinfo(every)
        if received.si_signo == signal.SIGCHLD:
            for pid, status in reaped():
                if pid == command:
                    os.write(ended, str(status).encode())
                    os._exit(0)
        elif received.si_pid == 0:  # from the kernel or a process outside; signals from inside are ignored
            with contextlib.suppress(ProcessLookupError):
                os.kill(-command, received.si_signo)


def reaped() -> Iterator[tuple[int, int]]:
    """The children that have ended, and their waitpid status."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            yield pid, status


class GrowingLog:
    """A log that other processes write. All except its first and last bytes is freed on the disk.

    The file becomes sparse: its size and offsets stay, so that readers and writers are not affected. If the file system
    has no holes, nothing is freed.
    """

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._kept_from = LOG_HEAD

    def trim(self) -> None:
        end = (os.fstat(self.descriptor).st_size - LOG_TAIL) & -_STEP
        if end > self._kept_from:
            how = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
            begin, length = (ctypes.c_int64(number) for number in (self._kept_from, end - self._kept_from))
            _libc.fallocate64(self.descriptor, how, begin, length)
            self._kept_from = end

    def close(self) -> None:
        self.trim()
        os.close(self.descriptor)


class Init:
    """Process 1: it reaps children, starts processes, and is the last process to end."""

    def __init__(self, control: socket.socket, parent_directory: str, *, alone: bool) -> None:
        self.control = control
        self.alone = alone
        """Whether all other processes of its PID namespace are its own."""
        # TMPDIR is the harness's; the name is what `schedproof clean` looks for.
        self.scratch = tempfile.mkdtemp(prefix="schedproof-", dir=parent_directory)
        # Held as long as we live: a scratch directory with no holder is what a power cut left.
        self.lock = os.open(os.path.join(self.scratch, ".owner"), os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.holders: dict[int, int] = {}
        """The pid of a contained command's process 1, to the pipe that reports how the command ended."""
        self.logs: dict[int, GrowingLog] = {}
        """The running commands, by pid."""

    def send(self, message: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(message).encode())

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        try:
            log = GrowingLog(request["log"])
        except OSError as error:
            self.send({"id": request["id"], "errno": error.errno, "text": str(error)})
            return
        reading, writing = os.pipe2(os.O_CLOEXEC)
        status_pipe, ended = os.pipe2(os.O_CLOEXEC)
        contained = request.get("contained", False)
        if contained:
            unshare(CLONE_NEWPID)  # of children: the next one is process 1
        pid = os.fork()
        if pid == 0:
            try:
                if contained:
                    become = functools.partial(self._become, request, descriptors, log.descriptor)
                    hold(become, ended, request["hidden"], request["kept"], request["shown"])
                self._become(request, descriptors, log.descriptor)
            except OSError as error:
                os.write(writing, json.dumps([error.errno, str(error)]).encode())
            finally:
                os._exit(127)
        if contained:
            setns(self.namespace, CLONE_NEWPID)
        os.close(writing)
        os.close(ended)
        # The pipe closes at exec: no bytes means that the command runs.
        failure = b""
        while part := os.read(reading, 4096):
            failure += part
        os.close(reading)
        if failure:
            os.waitpid(pid, 0)
            number, text = json.loads(failure)
            log.close()
            self.send({"id": request["id"], "errno": number, "text": text})
        else:
            self.logs[pid] = log
            self.send({"id": request["id"], "pid": pid})
        if contained and not failure:
            self.holders[pid] = status_pipe
        else:
            os.close(status_pipe)

    def _become(self, request: dict[str, Any], descriptors: list[int], log: int) -> None:
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
        if request.get("contained"):
            drop_capabilities()
        os.execvpe(request["argv"][0], request["argv"], env)

    def reap(self) -> None:
        for pid, status in reaped():
            if pid in self.holders:
                status_pipe = self.holders.pop(pid)
                # Empty if process 1 of the command was killed, and the command with it.
                status = int(os.read(status_pipe, 32) or status)  # noqa: PLW2901
                os.close(status_pipe)
            if pid in self.logs:
                self.logs.pop(pid).close()
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
            for log in self.logs.values():
                log.trim()
            for descriptor, _ in poller.poll(_LOOK_EVERY if self.logs else None):
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
        for pid in (-1,) if self.alone else map(int.__neg__, self.logs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        shutil.rmtree(self.scratch, ignore_errors=True)


def main() -> int:
    control = socket.socket(fileno=int(sys.argv[1]))
    parent_directory, alone = sys.argv[2], "here" not in sys.argv[3:]
    os.set_inheritable(control.fileno(), False)
    step = "start"
    try:
        for entered in enter_namespaces(as_root=os.geteuid() == 0) if alone else ():
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
    end_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if alone:
        mount_proc()
    init = Init(control, parent_directory, alone=alone)
    try:
        init.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the harness died between two messages: the same end
    finally:
        init.end()
    return 0


if __name__ == "__main__":
    os._exit(main())
