"""How often a candidate is asked, so that choosing at random does not pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

from schedproof.judge.clauses.network.preference import RANDOM_LIMIT


class Chance:
    """Of a chooser at random, among `nodes` nodes."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    def probes(self, phases: int) -> int:
        """So many probes in each of `phases` phases that a chooser at random passes them all too rarely to matter."""
        return self.probes_among([self._nodes] * phases)

    def probes_among(self, choices: Sequence[int]) -> int:
        """The same, for phases with so many nodes to choose from."""
        return math.floor(math.log(RANDOM_LIMIT) / -sum(map(math.log, choices))) + 1

    def enough_for_all(self, nodes: int) -> int:
        """So many pods that by chance each of these nodes gets one, but for a chance too small to matter."""
        return math.floor(math.log(RANDOM_LIMIT / nodes) / math.log(1 - 1 / nodes)) + 1
