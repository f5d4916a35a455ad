"""Numbers of probes that a random choice does not pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

from schedproof.judge.clauses.network.preference import RANDOM_LIMIT


class Chance:
    """A random choice among `nodes` nodes."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    def probes(self, phases: int) -> int:
        """Return the number of probes in each of `phases` phases that a random choice passes too rarely to matter."""
        return self.probes_among([self._nodes] * phases)

    def probes_among(self, choices: Sequence[int]) -> int:
        """Return the same for phases with these numbers of nodes to choose from."""
        return math.floor(math.log(RANDOM_LIMIT) / -sum(map(math.log, choices))) + 1

    def enough_for_all(self, nodes: int) -> int:
        """Return the number of pods after which each of these nodes has one by chance, except too rarely to matter."""
        return math.floor(math.log(RANDOM_LIMIT / nodes) / math.log(1 - 1 / nodes)) + 1
