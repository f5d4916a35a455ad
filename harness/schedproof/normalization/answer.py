"""The questions to a scorer and its answers. Plain data, as a history keeps it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Protocol

Readings = tuple[tuple[str, float | None], ...]
"""Node and bytes per second, in the order in which the question has the nodes. None: the node has no sample."""

Case = tuple[Readings, ...]
"""Questions, asked one after the other; most cases have one."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The scores for one question, or why there are none.

    `scores`: (node, score) as answered, in that order; duplicates and unknown nodes are kept.
    `crash`: the last log lines of a scorer that the question ended (a panic, an exit, an uncaught exception).
    `refusal`: an error instead of scores, from a scorer that keeps running.
    `filtered`: nodes that it excludes before any scoring.
    `raw`: the scores before normalization, if the surface shows them.
    """

    scores: tuple[tuple[str, float], ...] = ()
    crash: str = ""
    refusal: str = ""
    filtered: tuple[str, ...] = ()
    raw: tuple[tuple[str, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; `from_dict` is its inverse."""
        return {
            "scores": [[node, _to_json(score)] for node, score in self.scores],
            "crash": self.crash,
            "refusal": self.refusal,
            "filtered": list(self.filtered),
            "raw": [[node, _to_json(score)] for node, score in self.raw],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Answer:
        return cls(
            scores=tuple((node, _from_json(score)) for node, score in data["scores"]),
            crash=data["crash"],
            refusal=data["refusal"],
            filtered=tuple(data["filtered"]),
            raw=tuple((node, _from_json(score)) for node, score in data["raw"]),
        )


class Surface(Protocol):
    """A way to put questions to a candidate's scoring.

    `fewest` and `most` are the numbers of nodes that one question may have. `nodes` are the names to use, in order;
    empty if any names will do. `waited`: the seconds spent so far waiting for answers, and for the scorer to get the
    readings.
    """

    name: str
    fewest: int
    most: int
    nodes: tuple[str, ...]

    @property
    def waited(self) -> float: ...

    def ask(self, readings: Readings) -> Answer: ...

    def close(self) -> None: ...


class SurfaceAround:
    """A `Surface` that asks another one; a subclass does something of its own in `ask`."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self.name, self.nodes = surface.name, surface.nodes
        self.fewest, self.most = surface.fewest, surface.most

    @property
    def waited(self) -> float:
        return self._surface.waited

    def ask(self, readings: Readings) -> Answer:
        return self._surface.ask(readings)

    def close(self) -> None:
        self._surface.close()


def readings_to_json(readings: Readings) -> list[list[Any]]:
    """JSON has no NaN and no infinities: they become strings."""
    return [[node, _to_json(reading)] for node, reading in readings]


def readings_from_json(data: list[list[Any]]) -> Readings:
    return tuple((node, _from_json(reading)) for node, reading in data)


def case_to_json(case: Case) -> list[list[list[Any]]]:
    """Each of its questions by `readings_to_json`."""
    return [readings_to_json(readings) for readings in case]


def case_from_json(data: list[list[list[Any]]]) -> Case:
    return tuple(readings_from_json(readings) for readings in data)


def _to_json(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def _from_json(value: float | str | None) -> Any:
    return float(value) if isinstance(value, str) else value
