"""Which processes exist, and which belong together, for real processes that wait for the end of their input."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedproof.foundation.processes.process_table import family, host_pids
from schedproof.foundation.processes.process_tree import named_below
from schedproof.foundation.processes.sandbox import Command, Sandbox

from .running import AWAIT, SAY, running


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox()) as opened:
        yield opened


def test_a_daemonized_worker_belongs_to_the_family_of_its_ancestor():
    code = """
import os, sys
if os.fork() == 0:
    if os.fork():
        os._exit(0)
    sys.stdin.read()
    os._exit(0)
os.wait()
print("ready", flush=True)
sys.stdin.read()
"""
    with running(code) as process:
        orphans = family(process.pid) - {process.pid}
        assert len(orphans) == 1
        assert f"PPid:\t{process.pid}\n" not in Path(f"/proc/{orphans.pop()}/status").read_text()


def test_any_name_of_a_process_is_read():
    """The name is in parentheses in /proc/PID/stat, and may contain any character."""
    with running("open('/proc/self/comm', 'w').write(') R 1 (')\n" + SAY + AWAIT) as process:
        assert family(process.pid) == {process.pid}
        assert process.pid in family(os.getpid())


def test_descendants_are_found_by_name():
    # An echo: a parent goes on before its child's exec has changed the name.
    code = """
import subprocess, sys
with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
    child.stdin.write(b"ready\\n")
    print(child.stdout.readline().decode(), end="", flush=True)
    sys.stdin.read()
"""
    with running(code) as process:
        found = named_below([process.pid], ["cat", "dog"])
        assert list(found) == ["cat"]
        assert found["cat"] in family(process.pid) - {process.pid}


def test_processes_of_a_sandbox_are_found_under_their_host_pids(sandbox: Sandbox, tmp_path):
    command = Command("sleep", ("sleep", "1000"), tmp_path / "log", tmp_path, {"PATH": os.environ["PATH"]})
    process = sandbox.spawn(command)
    try:
        pids = host_pids(sandbox.outer_pid)
        assert set(pids) == {1, process.pid}
        assert Path(f"/proc/{pids[process.pid]}/comm").read_text() == "sleep\n"
        assert set(pids.values()) < family(os.getpid())
    finally:
        process.stop(5)
    assert set(host_pids(sandbox.outer_pid)) == {1}


def test_a_process_that_created_no_pid_namespace_has_no_host_pids():
    with running(SAY + AWAIT) as process:
        assert host_pids(process.pid) == {}
    assert host_pids(process.pid) == {}
