"""The time that a candidate could use: what was taken from it, and by how much that makes a wait longer."""

from __future__ import annotations

import os
import queue
import threading
from pathlib import Path

import pytest

from schedproof.foundation.errors import HostError
from schedproof.foundation.processes import cpu_waits
from schedproof.foundation.processes.cpu_waits import kept, most_kept, waits_of
from schedproof.stimulus import usable_time
from schedproof.stimulus.usable_time import KeptLog, UsableTime

SECOND = 1_000_000_000


def thread(proc: Path, pid: int, tid: int, schedstat: str) -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(schedstat)


def test_each_thread_of_each_process_is_read(tmp_path: Path) -> None:
    thread(tmp_path, 7, 7, f"123 {SECOND} 9\n")
    thread(tmp_path, 7, 8, f"123 {2 * SECOND} 9\n")
    thread(tmp_path, 9, 9, "0 0 0\n")
    assert waits_of([7, 9], tmp_path) == {(7, 7): 1.0, (7, 8): 2.0, (9, 9): 0.0}


def test_what_has_ended_or_is_not_told_is_left_out(tmp_path: Path) -> None:
    thread(tmp_path, 7, 7, "")
    assert waits_of([7, 8], tmp_path) == {}


def test_this_machine_tells_of_this_process() -> None:
    assert (os.getpid(), os.getpid()) in waits_of([os.getpid()])


def test_threads_wait_side_by_side() -> None:
    before = {(7, 7): 1.0, (7, 8): 5.0}
    assert kept(before, {(7, 7): 1.5, (7, 8): 5.2, (7, 9): 0.3}) == pytest.approx(0.5)
    assert kept(before, {}) == 0
    assert kept({}, {(7, 10): 0.25}) == 0.25, "a new thread has waited since it began"


class Machine:
    """One where processes are kept from running as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **pids: int) -> None:
        self.pids = pids
        self.waited = dict.fromkeys(pids.values(), 0.0)
        monkeypatch.setattr(usable_time, "waits_of", lambda here: {(pid, pid): self.waited[pid] for pid in here})
        self.usable = UsableTime(lambda: {name: [pid] for name, pid in self.pids.items()})


def test_the_links_of_a_chain_wait_after_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, candidate=1, etcd=2)
    interval = machine.usable.begin()
    assert interval.kept() == {}
    machine.waited = {1: 0.5, 2: 0.25}
    assert interval.kept() == {"candidate": 0.5, "etcd": 0.25}
    assert interval.extension(20) == 0.75


def test_a_wait_is_not_made_longer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, candidate=1)
    interval = machine.usable.begin()
    machine.waited = {1: 1000.0}
    assert interval.extension(2) == most_kept(2) == 4


def test_what_is_started_meanwhile_counts_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, etcd=2)
    interval = machine.usable.begin()
    machine.pids, machine.waited = {"candidate": 3}, {3: 0.5}
    assert interval.kept() == {"candidate": 0.5}


def test_time_passes_until_it_could_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, candidate=1)
    now, slept = [100.0], []

    def until(moment: float) -> None:
        slept.append(moment - now[0])
        machine.waited[1] += (moment - now[0]) / 2  # half of the time it could not run
        now[0] = moment

    monkeypatch.setattr(usable_time, "until", until)
    monkeypatch.setattr(usable_time.time, "monotonic", lambda: now[0])
    assert machine.usable.let_pass(2) == {"candidate": pytest.approx(2, abs=0.01)}
    assert now[0] == pytest.approx(104, abs=0.01)
    assert slept[0] == 2


def test_a_log_tells_of_what_was_kept_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usable_time, "_INTERVAL", 0.001)
    machine = Machine(monkeypatch, etcd=2)
    told: queue.Queue[tuple[float, dict[str, float]]] = queue.Queue()
    log = KeptLog(machine.usable, lambda seconds, kept: told.put((seconds, dict(kept))))
    machine.waited = {2: 0.5}
    seconds, kept = told.get(timeout=10)
    log.close()
    assert seconds > 0
    assert kept == {"etcd": 0.5}
    assert told.empty(), "nothing was kept since"


def test_a_log_ends_where_the_record_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usable_time, "_INTERVAL", 0.001)
    machine = Machine(monkeypatch, etcd=2)
    reached = threading.Event()

    def broken(_seconds: float, _kept: object) -> None:
        reached.set()
        raise HostError("no space", remedy="make some")

    log = KeptLog(machine.usable, broken)
    machine.waited = {2: 0.5}
    assert reached.wait(10)
    log.close()


def test_where_no_process_is_to_be_seen_time_passes_as_it_does() -> None:
    usable = UsableTime(dict)
    assert usable.begin().extension(20) == 0
    assert usable.let_pass(0.001) == {}
    assert cpu_waits.waits_of([]) == {}
