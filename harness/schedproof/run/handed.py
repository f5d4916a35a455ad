"""The run that pytest gets from its caller, read before it started: the command line, or a worker's controller."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pytest loads this module in every run, also where no scheduler is tried
    from schedproof.run.events import Handler
    from schedproof.run.launch import KeptCluster
    from schedproof.run.request import RunRequest

WORKER_INPUT = "schedproof"
"""The key of pytest-xdist's workerinput under which a controller sends a pickled RunRequest."""


@dataclasses.dataclass(frozen=True, eq=False)  # a plugin of pytest, which keeps plugins in a set
class Handed:
    """A run, its outputs, and the cluster that outlives it, if any. A plugin of pytest without hooks."""

    request: RunRequest
    outputs: Sequence[Handler]
    kept: KeptCluster | None = None
