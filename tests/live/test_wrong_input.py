"""Wrong input: exit code 2, a message with what is wrong, where, and what to do, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Ended, Running, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

STOCK = Path(__file__).parents[2] / "fixtures" / "candidates" / "stock" / "candidate.yaml"


def expect_refused(ended: Ended, *texts: str) -> None:
    assert ended.code == 2, ended.printed
    for text in (*texts, "\n  fix: "):
        assert text in ended.err + ended.out, f"{text!r} is not in\n{ended.printed}"
    assert "Traceback" not in ended.printed, ended.printed


# -- what is seen before anything is started


def test_a_typo_in_candidate_yaml_is_refused_with_a_suggestion(shell: Shell) -> None:
    (shell.work / "candidate.yaml").write_text(STOCK.read_text().replace("schedulerName:", "schedulrName:"))
    ended = shell.schedproof("run", "candidate.yaml")
    expect_refused(ended, "candidate.yaml:6:3: spec.schedulrName: unknown field", "did you mean schedulerName?")
    assert list(shell.work.iterdir()) == [shell.work / "candidate.yaml"]


WRONG = {
    "no-such-candidate": ("candidate 'no-such-candidate' not found", "schedproof candidates"),
    "stock --clause core/bind": ("no clause 'core/bind'", "did you mean core/binds, "),
    "stock --profile network": ("no clauses of a profile 'network'", "network-aware"),
    "stock --clause network/flip": ("stock is not judged by network/flip", "claim it in spec.claims"),
    "stock --profile normalization": ("does not claim the profile normalization", "spec.claims.profiles"),
    "stock --cluster embeded": ("--cluster embeded", "embedded"),
    "stock --cluster-file none.yaml": ("none.yaml", "clusters/embedded.yaml"),
    "stock --nodes 0": ("--nodes", "from 1, found 0"),
    "stock --binary kube-scheduler=./none": ("kube-scheduler", "none, which does not exist"),
    "stock --binary kube-schedule=./none": ("'kube-schedule'", "kube-scheduler"),
    "stock stock": ("two candidates have the same name", "metadata.name"),
    "stock --report a-file/report": ("cannot keep evidence in", "a-file/report: Not a directory"),
}
"""What a user types after `schedproof run`, and what the answer must say."""


@pytest.mark.parametrize("typed", WRONG)
def test_an_invalid_option_is_refused_with_a_fix(shell: Shell, typed: str) -> None:
    (shell.work / "a-file").touch()
    expect_refused(shell.schedproof("run", *typed.split()), *WRONG[typed])
    assert not list(shell.work.glob("schedproof-results/*/cluster"))


def test_an_option_that_is_not_a_number_is_refused(shell: Shell) -> None:
    ended = shell.schedproof("run", "stock", "--nodes", "many")
    assert ended.code == 2, ended.printed
    assert "argument --nodes: " in ended.err
    assert "many" in ended.err


def test_a_setting_without_an_existing_binary_is_refused(shell: Shell) -> None:
    shell.env["SCHEDPROOF_BINARY_KUBE_SCHEDULER"] = str(shell.work / "none")
    expect_refused(shell.schedproof("run", "stock"), "SCHEDPROOF_BINARY_KUBE_SCHEDULER", "does not exist")


def test_a_folder_without_a_history_is_refused(shell: Shell) -> None:
    expect_refused(shell.schedproof("judge", "."), "no history in .")


def test_zero_jobs_are_refused(shell: Shell) -> None:
    expect_refused(shell.schedproof("run", "stock", "--jobs", "0"), "--jobs")


def test_several_jobs_on_an_existing_cluster_are_refused(shell: Shell) -> None:
    options = (
        "--cluster",
        "existing",
        "--kubeconfig",
        "none.yaml",
        "--prometheus",
        "http://127.0.0.1:1",
        "--jobs",
        "2",
    )
    expect_refused(shell.schedproof("run", "stock", *options), "cannot be shared")


# -- candidates that cannot be brought up


@pytest.fixture(scope="module")
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module", autouse=True)
def broken(shells: Any, taken_port: int) -> dict[str, tuple[Shell, Running]]:
    """A run of each, all at once and first of all: one of them takes its whole deadline."""
    python = ["{python}", "-c"]
    extenders = {
        "no-such-command": {"command": ["./no-such-program", "{port}"]},
        "exits-at-once": {"command": [*python, "import sys; sys.exit('no licence found')", "{port}"]},
        "never-ready": {
            "command": [*python, "print('warming up', flush=True); import signal; signal.pause()", "{port}"]
        },
        "busy-port": {"command": [*python, "import signal; signal.pause()"], "port": taken_port},
    }
    commands = {}
    for name, extender in extenders.items():
        shell = shells()
        document = {
            "apiVersion": "schedproof/v1",
            "kind": "Candidate",
            "metadata": {"name": name},
            "spec": {"schedulerName": name, "extender": {**extender, "config": {"filterVerb": "filter"}}},
        }
        (shell.work / "candidate.yaml").write_text(json.dumps(document))
        # A healthy one beside it is judged all the same.
        options = ("--clause", "core/binds", "--report", "report")
        commands[name] = (shell, shell.start("schedproof", "run", "candidate.yaml", "stock", *options))
    return commands


def test_a_port_in_use_is_reported(broken: dict[str, tuple[Shell, Running]], taken_port: int) -> None:
    _expect_not_brought_up(*broken["busy-port"], f"spec.extender.port wants port {taken_port} on 127.0.0.1", "in use")


def test_a_command_that_does_not_exist_is_reported(broken: dict[str, tuple[Shell, Running]]) -> None:
    _expect_not_brought_up(
        *broken["no-such-command"], "cannot start './no-such-program'", "No such file", "spec.extender.command in"
    )


def test_a_command_that_exits_at_once_is_judged(broken: dict[str, tuple[Shell, Running]]) -> None:
    """It is judged like a process that ends later, and like a compiled scheduler that ends at its start."""
    shell, command = broken["exits-at-once"]
    ended = command.ends()
    assert ended.code == 1, ended.printed
    candidate, stock = shell.report()["candidates"]
    alive, binds = (
        {entry["id"]: entry for entry in candidate["clauses"]}[name] for name in ("core/alive", "core/binds")
    )
    assert (alive["outcome"], alive["code"]) == ("failed", "does-not-start")
    assert "no licence found" in alive["summary"]
    assert (binds["outcome"], binds["depends_on"]) == ("skipped", "core/alive")
    assert {clause["outcome"] for clause in stock["clauses"]} <= {"passed", "not-claimed"}


def _expect_not_brought_up(shell: Shell, command: Running, *texts: str) -> None:
    ended = command.ends()
    expect_refused(ended, "did not start", *texts)
    candidate, stock = shell.report()["candidates"]
    for text in texts:
        assert text in candidate["error"]
    outcomes = {clause["id"]: clause["outcome"] for clause in stock["clauses"]}
    assert outcomes["core/binds"] == "passed"
    assert set(outcomes.values()) <= {"passed", "not-claimed"}
    shell.expect_nothing_left()


# -- no room for the evidence

FILL_UP = """
import os, pathlib, subprocess, sys

mount, size, when, *command = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mount], check=True)
harness = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
for line in harness.stderr:
    sys.stderr.write(line)
    if when and when in line:
        with open(pathlib.Path(mount, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(65536)):
                    pass
            except OSError as full:
                sys.stderr.write(f"{full}\\n")
sys.exit(harness.wait())
"""
"""Mounts a small file system where the report is to be, and fills it once the harness has printed something."""


@pytest.fixture
def small_disk(shell: Shell) -> Shell:
    """A shell whose commands may mount `disk` in their working directory, invisible to other processes."""
    (shell.work / "disk").mkdir()
    (shell.work / "fill_up.py").write_text(FILL_UP)
    unshare = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    tried = subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", str(shell.work / "disk")], capture_output=True)
    if tried.returncode:
        pytest.skip(f"this machine forbids private mounts: {tried.stderr.decode().strip()}")
    shell.prefix = unshare
    return shell


def _run_on_disk(shell: Shell, size: str, *, full_when: str) -> Ended:
    command = (sys.executable, "-m", "schedproof", "run", "stock", "--report", "disk/report")
    return shell.start("fill_up", "disk", size, full_when, *command).ends()


def test_a_disk_that_is_too_small_is_refused_at_the_start(small_disk: Shell) -> None:
    expect_refused(_run_on_disk(small_disk, "1m", full_when=""), "only 1 MiB", "disk/report", "64 MiB", "--report")


@pytest.mark.parametrize("moment", ["starting an embedded cluster", "attaching stock ...", "attaching stock: done"])
def test_a_disk_that_fills_up_during_a_run_is_reported(small_disk: Shell, moment: str) -> None:
    ended = _run_on_disk(small_disk, "66m", full_when=moment)
    assert "No space left on device" in ended.err.partition(moment)[2]
    expect_refused(ended, "disk/report", "free some space")


# -- last, because it takes its whole deadline


def test_a_command_that_does_not_become_ready_is_reported(broken: dict[str, tuple[Shell, Running]]) -> None:
    _expect_not_brought_up(
        *broken["never-ready"], "did not become ready: waited 60 s (candidate ready)", "/healthz", "warming up"
    )
