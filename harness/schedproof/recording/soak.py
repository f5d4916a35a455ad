"""What a candidate's processes hold during a soak: sampled between worlds, when no pod of a world is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from schedproof.documents.part import Part
from schedproof.foundation.counted import counted
from schedproof.foundation.processes.held import held_by
from schedproof.foundation.processes.machine import available_memory

_SAMPLES = 240
"""About how many samples a soak has."""
_LEAST_SECONDS = 1.0
_LEAST_MEMORY = 512 << 20
"""Bytes of this machine that stay available. The record of a soak is kept in memory: some 60 MB for each minute."""


class SoakSample(Part):
    """What a process and its descendants held at a moment: sums over them."""

    seconds: float
    """Since the first sample."""
    worlds: int
    """How many worlds were over."""
    pods: int
    """How many pods had been created for the candidate."""
    process: str
    """A component of the candidate, such as its extender or its kube-scheduler."""
    memory: int
    """Bytes that are resident (VmRSS); shared pages count for each process."""
    descriptors: int | None
    """Null, as `connections`, if this user may not list them."""
    threads: int
    connections: int | None
    """TCP sockets that do not listen, also half closed ones."""


class Processes(Protocol):
    """What a soak asks of an attached candidate."""

    starts: int

    def pids(self) -> Mapping[str, Sequence[int]]: ...


class Soak:
    """Takes samples of one instance of a candidate.

    Args:
        seconds: for how long worlds are generated.
        clock: seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.samples: list[SoakSample] = []
        self.worlds = self.pods = 0
        """How many worlds and pods of the candidate there were until the last look."""
        self.cut_short = ""
        """Why it ended before its time; empty if it did not."""
        self.tell: Callable[[str], object] = lambda _: None
        """Takes a line for the user, each minute."""
        self._clock, self._minutes = clock, 0
        self._began: float | None = None
        self._next = 0.0
        self._instance = 0

    def look(self, attachment: Processes, *, worlds: int, pods: int) -> bool:
        """Take a sample if one is due, and return whether this machine has the memory to go on.

        A candidate that was started again is a new instance: sampling begins again.

        Args:
            attachment: the candidate.
            worlds: how many are over.
            pods: how many were created for the candidate.
        """
        now = self._clock()
        self.worlds, self.pods = worlds, pods
        if self._began is None or self._instance != attachment.starts:
            self._began, self._instance, self._next = now, attachment.starts, now
            self.samples.clear()
        minutes = int((now - self._began) // 60)
        if minutes > self._minutes:
            self.tell(f"{minutes} of {self.seconds / 60:g} min: {counted(worlds, 'world')}, {counted(pods, 'pod')}")
        self._minutes = minutes
        if now < self._next:
            return not self.cut_short
        self._next = now + max(_LEAST_SECONDS, self.seconds / _SAMPLES)
        for process, pids in attachment.pids().items():
            if (held := held_by(pids)) is not None:
                self.samples.append(
                    SoakSample(
                        seconds=round(now - self._began, 3), worlds=worlds, pods=pods, process=process,
                        memory=held.memory, descriptors=held.descriptors, threads=held.threads,
                        connections=held.connections,
                    )
                )  # fmt: skip
        free = available_memory()
        if free is not None and free < _LEAST_MEMORY:
            self.cut_short = f"the record has grown until only {free >> 20} MiB of this machine's memory were available"
        return not self.cut_short
