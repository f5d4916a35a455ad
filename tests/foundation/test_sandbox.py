"""Processes in the sandbox end with it, and processes that a contained command forks end with the command."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedproof.benchmark.measure.usage import Meter
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.processes.process_table import family, host_pids
from schedproof.foundation.processes.sandbox import Command, CommandNotStartedError, Process, Sandbox
from schedproof.foundation.processes.sandbox_init import LOG_HEAD, LOG_TAIL
from schedproof.foundation.waiting import NotYet, wait_for

SOON = Deadline("test", 60, "what these processes do takes milliseconds")

DAEMON = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("daemon", flush=True)
    while True:
        signal.pause()
os.wait()
"""
"""Double-forks a daemon that does not mind SIGTERM."""
LIVES = "import signal\nprint('ready', flush=True)\nsignal.pause()\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox()) as opened:
        yield opened


@pytest.fixture
def run(sandbox: Sandbox, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(code: str, *, contained: bool = True) -> Process:
        argv = (sys.executable, "-S", "-c", code)
        log = tmp_path / f"{len(started)}.log"
        started.append(sandbox.spawn(Command("it", argv, log, tmp_path, contained=contained)))
        return started[-1]

    yield start
    for process in started:
        process.stop(0)


def wait_printed(process: Process, text: str) -> None:
    """Wait until it has printed `text`."""

    def probe() -> None:
        if text not in process.log_tail():
            raise NotYet(process.log_tail())

    wait_for(probe, SOON, what=f"{text!r} to be printed")


def inside(sandbox: Sandbox, process: Process) -> set[int]:
    """The host's pids of a contained command and of all processes that it has forked."""
    holder = host_pids(sandbox.outer_pid).get(process.pid, 0)
    return family(holder) - {holder}


@pytest.mark.parametrize("contained", [True, False])
@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("", 0),
        ("raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    ],
)
def test_the_exit_code_of_a_command_is_reported(
    run: Callable[..., Process], code: str, exit_code: int, *, contained: bool
) -> None:
    process = run(code, contained=contained)
    assert process.wait(SOON.seconds)
    assert process.exit_code == exit_code


def test_a_contained_command_that_cannot_be_executed_is_an_error(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(CommandNotStartedError, match="no-such-program"):
        sandbox.spawn(Command("it", (str(tmp_path / "no-such-program"),), tmp_path / "log", tmp_path, contained=True))


def test_a_contained_command_sees_its_own_namespace(run: Callable[..., Process]) -> None:
    process = run("import os\nprint(os.getpid(), sorted(name for name in os.listdir('/proc') if name.isdecimal()))")
    assert process.wait(SOON.seconds)
    own, _, listed = process.log_tail().partition(" ")
    # Where a container's masks over /proc forbid another one, there are more.
    assert own == "2"
    assert f"'{own}'" in listed


def test_sigterm_reaches_the_command_which_may_handle_it(run: Callable[..., Process]) -> None:
    process = run(f"import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n{LIVES}")
    wait_printed(process, "ready")
    process.stop(SOON.seconds)
    assert process.exit_code == 5


def test_a_command_that_ignores_sigterm_is_killed_together_with_its_daemons(
    sandbox: Sandbox, run: Callable[..., Process]
) -> None:
    process = run(f"{DAEMON}signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{LIVES}")
    wait_printed(process, "ready")
    wait_printed(process, "daemon")
    pids = inside(sandbox, process)
    assert len(pids) == 2
    process.stop(0)
    assert process.exit_code == -signal.SIGKILL
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_daemon_ends_with_the_command_that_left_it_behind(sandbox: Sandbox, run: Callable[..., Process]) -> None:
    process = run(f"{DAEMON}{LIVES.replace('pause()', 'sigwait([signal.SIGUSR1])')}")
    wait_printed(process, "ready")
    wait_printed(process, "daemon")
    pids = inside(sandbox, process)
    process.signal(signal.SIGUSR1)  # ends by itself
    assert process.wait(SOON.seconds)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_signal_to_pid_1_from_inside_does_not_end_the_command(run: Callable[..., Process]) -> None:
    process = run("import os, signal\nos.kill(1, signal.SIGTERM)\nprint('ready', flush=True)\nsignal.pause()\n")
    wait_printed(process, "ready")
    process.stop(SOON.seconds)
    assert process.exit_code == -signal.SIGTERM


BURNS = """
import os, signal, time
def burn(*_):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    print("burned", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGUSR1, burn)
    print("daemon", flush=True)
    while True:
        signal.pause()
os.wait()
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
"""


def test_cpu_time_of_forked_processes_is_counted_and_that_of_the_holder_is_not(
    sandbox: Sandbox, run: Callable[..., Process]
) -> None:
    process = run(BURNS + LIVES)
    wait_printed(process, "ready")
    wait_printed(process, "daemon")
    holder = host_pids(sandbox.outer_pid)[process.pid]
    meter, both = Meter({"it": holder}, holders=[holder]), Meter({"it": holder})
    for pid in inside(sandbox, process):
        os.kill(pid, signal.SIGUSR1)
    wait_printed(process, "burned")
    used = meter.read()["it"]
    assert used.cpu >= 0.25
    assert 0 < used.peak < both.read()["it"].peak


def test_a_contained_command_sees_only_its_own_files_in_folders_of_the_harness(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    evidence, temporary, kubeconfig = (
        tmp_path / "evidence",
        sandbox.scratch / "tmp-1",
        sandbox.scratch / "own.kubeconfig",
    )
    for folder in (evidence, temporary, sandbox.scratch / "etcd"):
        folder.mkdir()
    (sandbox.scratch / "etcd" / "db").write_text("data")
    (sandbox.scratch / "admin.kubeconfig").write_text("key")
    kubeconfig.write_text("its own")
    (evidence / "history.jsonl").write_text("{}")
    code = f"""
import ctypes, os, pathlib
scratch, evidence = pathlib.Path({str(sandbox.scratch)!r}), pathlib.Path({str(evidence)!r})
os.system(f"rm -rf {{scratch}}/* {{evidence}}/*")
print(sorted(path.name for path in scratch.iterdir()), list(evidence.iterdir()))
for folder in (scratch, evidence):
    assert ctypes.CDLL(None).umount2(bytes(folder), 2) == -1
assert os.system(f"unshare -rm umount -l {{scratch}} 2>/dev/null") != 0
print((scratch / "own.kubeconfig").read_text(), flush=True)
(scratch / "tmp-1" / "file").write_text("of its own")
"""
    argv = (sys.executable, "-S", "-c", code)
    process = sandbox.spawn(
        Command(
            "it", argv, evidence / "it.log", tmp_path, contained=True, hidden=(evidence,), kept=(kubeconfig, temporary)
        )
    )
    assert process.wait(SOON.seconds)
    assert process.log_tail().splitlines()[-2:] == ["['own.kubeconfig', 'tmp-1'] []", "its own"]
    assert process.exit_code == 0
    assert (sandbox.scratch / "etcd" / "db").read_text() == "data"
    assert (evidence / "history.jsonl").read_text() == "{}"
    assert (temporary / "file").read_text() == "of its own"


def test_files_that_are_created_later_in_a_hidden_folder_are_hidden_too(sandbox: Sandbox, tmp_path: Path) -> None:
    report, home = tmp_path / "report", tmp_path / "home"
    report.mkdir()
    home.mkdir()
    sandbox.hide(report)
    (report / "candidates").mkdir()
    argv = (sys.executable, "-S", "-c", f"import os\nprint(os.listdir({str(report)!r}))")
    process = sandbox.spawn(Command("it", argv, report / "candidates" / "2" / "log", home, contained=True))
    assert process.wait(SOON.seconds)
    assert process.log_tail() == "[]"


def test_the_working_directory_of_a_command_is_not_hidden_from_it(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    argv = (sys.executable, "-S", "-c", "import os\nprint(os.path.exists('file'))")
    process = sandbox.spawn(Command("it", argv, tmp_path / "log", tmp_path, contained=True, hidden=(tmp_path,)))
    assert process.wait(SOON.seconds)
    assert process.log_tail() == "True"


def test_of_a_large_log_only_the_beginning_and_the_end_are_stored(run: Callable[..., Process]) -> None:
    process = run("print('first')\nfor number in range(120 << 10):\n    print('x' * 1023)\nprint('last', flush=True)")
    assert process.wait(SOON.seconds)
    log = process.command.log
    assert log.stat().st_size > 120 << 20
    assert log.stat().st_blocks * 512 <= LOG_HEAD + LOG_TAIL + (2 << 20)
    with log.open("rb") as file:
        assert file.readline() == b"first\n"
    assert process.log_tail(1) == "last"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


KUBERNETES = r"""
print('I1121 15:32:33.234588   23219 flags.go:64] FLAG: --write-config-to=""')
print("I1121 15:32:33.394661   23219 serving.go:405] Generated self-signed cert")
print('E1121 15:32:33.394779   23219 run.go:72] "command failed" err="no \\"plugin\\" here"')
raise SystemExit(1)
"""
GO = r"""
print('I1121 15:32:33.234588   23219 main.go:5] started')
print('panic: assignment to entry in nil map [recovered, repanicked]\n\ngoroutine 1 [running]:')
for function, file in (
    ("panic({0x1, 0x2})", "/usr/local/go/src/runtime/panic.go:770 +0x132"),
    ("k8s.io/kubernetes/pkg/scheduler.Run(0x1)", "/go/pkg/mod/k8s.io/kubernetes/pkg/scheduler/scheduler.go:10 +0x1"),
    ("example.com/traffic.(*Plugin).Score(0x1)", "/src/traffic/scoring.go:12 +0x1d"),
):
    print(f"{function}\n\t{file}")
for number in range(2, 2000):
    print(f"\ngoroutine {number} [select]:\nk8s.io/client-go/tools/cache.run()")
raise SystemExit(2)
"""


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (KUBERNETES, 'no "plugin" here'),
        (GO, "panic: assignment to entry in nil map\n  in traffic.(*Plugin).Score (traffic/scoring.go:12)"),
        ("raise KeyError('node-1')", "KeyError: 'node-1'"),
        (r"print('Error: of before'); print('x\n' * 9); raise SystemExit(1)", ""),
    ],
    ids=["kubernetes", "go", "python", "none"],
)
def test_the_error_of_a_command_begins_with_the_cause_of_its_exit(
    run: Callable[..., Process], code: str, cause: str
) -> None:
    process = run(code)
    assert process.wait(SOON.seconds)
    assert process.cause() == cause
    error = str(process.exit_error())
    assert error.startswith(f"it ended with exit code {process.exit_code}{': ' if cause else ''}{cause}\n")
    assert "FLAG:" not in error.partition("last log lines")[2]


def test_output_of_an_earlier_process_is_not_the_cause_of_an_exit(sandbox: Sandbox, tmp_path: Path) -> None:
    for code, cause in (("raise KeyError('node-1')", "KeyError: 'node-1'"), ("raise SystemExit(3)", "")):
        process = sandbox.spawn(Command("it", (sys.executable, "-S", "-c", code), tmp_path / "log", tmp_path))
        assert process.wait(SOON.seconds)
        assert process.cause() == cause


@pytest.mark.parametrize("path", ["/var/run/secrets/schedproof.test/account", "/run/schedproof-test", ""])
def test_a_folder_is_mounted_at_any_path_for_a_single_command(sandbox: Sandbox, tmp_path: Path, path: str) -> None:
    path = path or str(tmp_path)  # which is there
    account = Path(tempfile.mkdtemp(dir=sandbox.scratch))
    (account / "token").write_text("its own")
    before = os.path.lexists(path)
    code = f"import os\nprint(open({path!r} + '/token').read(), len(os.listdir('/run')))"
    argv = (sys.executable, "-S", "-c", code)
    shown = sandbox.spawn(Command("it", argv, tmp_path / "log", Path("/"), contained=True, shown={path: account}))
    assert shown.wait(SOON.seconds)
    token, entries = shown.log_tail().rsplit(maxsplit=1)
    assert (token, shown.exit_code) == ("its own", 0)
    assert int(entries) >= len(list(Path("/run").iterdir()))
    assert os.path.lexists(path) == before


def test_folders_above_a_mounted_folder_keep_their_content(sandbox: Sandbox, tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "inner").mkdir(parents=True)
    (above / "file").write_text("text")
    (above / "link").symlink_to("file")
    account = Path(tempfile.mkdtemp(dir=sandbox.scratch))
    code = f"""
import os
os.chdir({str(above)!r})
print(sorted(os.listdir()), open("link").read(), os.readlink("link"), os.path.isdir("new/account"))
open("inner/written", "w").close()
"""
    argv = (sys.executable, "-S", "-c", code)
    shown = {f"{above}/new/account": account}
    process = sandbox.spawn(Command("it", argv, tmp_path / "log", Path("/"), contained=True, shown=shown))
    assert process.wait(SOON.seconds)
    assert process.log_tail() == "['file', 'inner', 'link', 'new'] text file True"
    assert (above / "inner" / "written").exists()
    assert not (above / "new").exists()


def test_without_namespaces_processes_end_with_it_too(tmp_path: Path) -> None:
    """As in the container of a pod, where none can be created."""
    opened = Sandbox(namespaces=False)
    with contextlib.closing(opened):
        process = opened.spawn(Command("it", (sys.executable, "-S", "-c", LIVES), tmp_path / "log", tmp_path))
        wait_printed(process, "ready")
        os.kill(process.pid, 0)  # the pid is that of this process's own namespace
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert not opened.scratch.exists()
