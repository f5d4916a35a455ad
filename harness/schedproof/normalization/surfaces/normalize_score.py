"""The NormalizeScore of a compiled plugin as a surface: it gets raw scores instead of readings.

The raw scores are between those which the plugin's own Score returns for as many nodes: a plugin that bounds them
there may do anything beyond (upstream's DefaultNormalizeScore overflows int64 from 2^63/100 on).
"""

from __future__ import annotations

import dataclasses

from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.promises import NORMALIZE_SCORE
from schedproof.normalization.surfaces.plugin import PluginSurface

_STEP = 1e6
"""Bytes per second from one node to the next; the first is idle."""
_HUGE = 1e18


class NormalizeScoreSurface:
    """Asks the plugin of another surface, which closes it."""

    name = NORMALIZE_SCORE
    fewest, most = 1, 16
    nodes: tuple[str, ...] = ()

    def __init__(self, plugin: PluginSurface) -> None:
        self._plugin = plugin
        self._given: dict[int, list[Answer]] = {}
        """By number of nodes: whole answers, with the raw scores."""

    @property
    def waited(self) -> float:
        return self._plugin.waited

    @property
    def is_offered(self) -> bool:
        """Whether NormalizeScore alone gives the same result for raw scores as in a scheduling cycle.

        If it depends on state that PreScore left in the cycle, it cannot be asked alone.
        """
        whole = self._whole(4)[0]
        return bool(whole.raw) and self._normalized(whole.raw).scores == whole.scores

    def ask(self, readings: Readings) -> Answer:
        """Return what becomes of these values as raw scores: whole numbers within the range of Score."""
        whole = self._whole(len(readings))
        given = [int(score) for answer in whole for _, score in answer.raw]
        if not given:
            return whole[0]
        low, high = min(given), max(given)
        return self._normalized(tuple((node, min(max(int(value or 0.0), low), high)) for node, value in readings))

    def close(self) -> None:
        pass

    def _whole(self, count: int) -> list[Answer]:
        if count not in self._given:
            ramps = [[step * number for number in range(count)] for step in (_STEP, _HUGE)]
            questions = [tuple((f"node-{n}", value) for n, value in enumerate(ramp, start=1)) for ramp in ramps]
            self._given[count] = [self._plugin.ask(question) for question in questions]
        return self._given[count]

    def _normalized(self, raw: tuple[tuple[str, float], ...]) -> Answer:
        asked = tuple((node, int(score)) for node, score in raw)
        return dataclasses.replace(self._plugin.normalize(asked), raw=asked)
