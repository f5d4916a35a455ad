"""The samples of a soak: when they are taken, of which processes, and when a soak ends before its time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from schedproof.recording import soak as module
from schedproof.recording.soak import Soak


class Attached:
    """What a soak asks of an attachment."""

    def __init__(self, **components: Sequence[int]) -> None:
        self.starts = 1
        self.components: dict[str, Sequence[int]] = components

    def pids(self) -> dict[str, Sequence[int]]:
        return self.components


class Looks:
    """A soak of ten minutes, looked at by a clock of its own."""

    def __init__(self, attached: Attached) -> None:
        self.now = 1000.0
        self.soak = Soak(600, clock=lambda: self.now)
        self._attached = attached

    def look(self, after: float, **counts: Any) -> bool:
        self.now += after
        return self.soak.look(self._attached, **{"worlds": 1, "pods": 5, **counts})


def test_samples_are_some_seconds_apart_and_say_when_and_after_how_much() -> None:
    looks = Looks(Attached(controller=[os.getpid()]))
    assert looks.look(0, worlds=2, pods=60)
    for number in range(10):
        assert looks.look(1, worlds=3 + number, pods=60 + number)
    seconds = [sample.seconds for sample in looks.soak.samples]
    assert seconds == [0, 3, 6, 9]
    assert [(sample.worlds, sample.pods) for sample in looks.soak.samples][:2] == [(2, 60), (5, 62)]
    assert (looks.soak.worlds, looks.soak.pods) == (12, 69)
    assert {sample.process for sample in looks.soak.samples} == {"controller"}
    assert all(sample.memory > 1 << 20 for sample in looks.soak.samples)


def test_the_user_is_told_each_minute() -> None:
    looks, told = Looks(Attached(controller=[])), list[str]()
    looks.soak.tell = told.append
    for number in range(1, 13):
        looks.look(11, worlds=number, pods=1000 * number)
    assert told == ["1 of 10 min: 7 worlds, 7,000 pods", "2 of 10 min: 12 worlds, 12,000 pods"]


def test_each_component_has_samples_and_what_has_ended_or_is_not_visible_has_none() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    looks = Looks(Attached(extender=[os.getpid()], scheduler=[os.getpid(), os.getppid()], gone=[ended.pid], hidden=[]))
    looks.look(0)
    assert [sample.process for sample in looks.soak.samples] == ["extender", "scheduler"]
    extender, scheduler = looks.soak.samples
    assert scheduler.memory > extender.memory


def test_a_candidate_that_was_started_again_is_sampled_anew() -> None:
    attached = Attached(controller=[os.getpid()])
    looks = Looks(attached)
    looks.look(0)
    looks.look(10)
    attached.starts = 2
    looks.look(1)
    looks.look(10)
    assert [sample.seconds for sample in looks.soak.samples] == [0, 10]


def test_a_soak_ends_before_the_memory_of_the_machine_does(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(Attached(controller=[os.getpid()]))
    monkeypatch.setattr(module, "available_memory", lambda: 4 << 30)
    assert looks.look(0)
    monkeypatch.setattr(module, "available_memory", lambda: 300 << 20)
    assert looks.look(0.5)  # no sample was due
    assert not looks.look(10)
    assert "only 300 MiB" in looks.soak.cut_short
    monkeypatch.setattr(module, "available_memory", lambda: None)
    assert not looks.look(0.5)
