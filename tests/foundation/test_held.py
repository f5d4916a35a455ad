"""What processes hold, read from /proc: of a process of this test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from schedproof.foundation.processes.held import Held, held_by

HOLDER = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
kept = []
for line in sys.stdin:
    if line == "connection\\n":
        kept.append(socket.create_connection(listener.getsockname()))
        kept.append(listener.accept()[0])
    elif line == "file\\n":
        kept.append(open("/dev/null"))
    elif line == "thread\\n":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    elif line == "memory\\n":
        kept.append(b"x" * (32 << 20))
    print("done", flush=True)
"""


class Holder:
    """A process that takes what it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process, self._out, self.pid = process, process.stdout, process.pid
        self._out.readline()

    def held(self) -> Held:
        found = held_by([self.pid])
        assert found is not None
        return found

    def take(self, what: str) -> Held:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        self._out.readline()
        return self.held()


@pytest.fixture
def holder() -> Iterator[Holder]:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Holder(process)
        process.kill()


def known(number: int | None) -> int:
    assert number is not None
    return number


def test_each_measure_shows_what_a_process_takes(holder: Holder) -> None:
    before = holder.held()
    assert before.connections == 0  # a socket that listens is none
    assert known(before.descriptors) >= 4
    connected = holder.take("connection")
    assert (connected.connections, known(connected.descriptors)) == (2, known(before.descriptors) + 2)
    opened = holder.take("file")
    assert (opened.connections, opened.descriptors) == (2, known(connected.descriptors) + 1)
    assert holder.take("thread").threads == before.threads + 1
    assert holder.take("memory").memory >= before.memory + (32 << 20)


def test_processes_are_added_up_and_those_that_are_gone_do_not_count(holder: Holder) -> None:
    alone = holder.take("thread")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    twice = held_by([holder.pid, ended.pid, holder.pid])
    assert twice is not None
    assert (twice.threads, twice.connections) == (2 * alone.threads, 0)
    assert twice.descriptors == 2 * known(alone.descriptors)
    assert held_by([ended.pid]) is None
    assert held_by([]) is None


def test_the_other_end_of_a_connection_that_was_closed_still_counts(holder: Holder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
        accepted.close()
        before = held_by([os.getpid()])
        own.close()
        after = held_by([os.getpid()])
    assert before is not None
    assert after is not None
    assert known(before.connections) == known(after.connections) + 1
