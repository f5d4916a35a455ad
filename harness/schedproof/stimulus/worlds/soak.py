"""What a candidate's processes hold during a soak: sampled between worlds, when no pod of a world is there."""

from __future__ import annotations

import time
from collections.abc import Callable

import pydantic

from schedproof.deploy.attachment import Attachment
from schedproof.foundation.processes.held import held_by

_SAMPLES = 240
"""About how many samples a soak has."""
_LEAST_SECONDS = 1.0


class SoakSample(pydantic.BaseModel):
    """What a process and its descendants held at a moment: sums over them."""

    model_config = pydantic.ConfigDict(frozen=True, use_attribute_docstrings=True)

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
        self._clock = clock
        self._began: float | None = None
        self._next = 0.0
        self._instance = 0

    def look(self, attachment: Attachment, *, worlds: int, pods: int) -> None:
        """Take a sample if one is due. A candidate that was started again is a new instance: sampling begins again.

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
        if now < self._next:
            return
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
