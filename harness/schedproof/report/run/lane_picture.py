"""The lanes of a case as pictures of report.html: shapes along the time, which can be told apart without colours.

Each lane is an SVG of its own, 1,000 wide, which is stretched to the room there is; what is written stands beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedproof.foundation.counted import counted

WIDTH = 1000
_HEIGHT = 100
"""Of the load's curves."""
_LEAST = 3
"""Of a shape that has a length."""
_NODES = 8
_STEPS = 8
"""How many values of a load are listed, at most."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """An event: from `x` on, `width` wide (0: a mark)."""

    kind: str
    x: int
    width: int
    text: str
    """What it is about; "" where its lane tells it."""


@dataclasses.dataclass(frozen=True)
class _Lane:
    name: str
    kind: str
    text: str
    """What it came to."""
    told: str
    """The picture in words."""
    shapes: tuple[Shape, ...]
    ticks: str
    """A path: what was answered."""


@dataclasses.dataclass(frozen=True)
class _Load:
    """Of one node, over the time."""

    node: str
    path: str
    """An area, `_HEIGHT` high at the most that any node has."""
    quietest: str
    """The part of it in which no node receives less."""
    text: str
    told: str
    """The picture in words."""


@dataclasses.dataclass(frozen=True)
class LanePicture:
    """What `templates/run/lanes.html` shows."""

    seconds: float
    load: tuple[_Load, ...]
    scale: str
    """What the whole height of the load stands for."""
    lanes: tuple[_Lane, ...]
    requests: tuple[Mapping[str, Any], ...]
    more: str
    """What has no lane; "" where all has one."""

    @property
    def ticks(self) -> list[str]:
        """Moments along the time, evenly spread."""
        return [f"{self.seconds * place / 4:.3g} s" for place in range(5)]


def lane_picture(lanes: Mapping[str, Any]) -> LanePicture:
    """Of what `judge.lanes.lanes` has."""
    seconds = max(lanes["seconds"], 0.001)
    most = max((rate for load in lanes["load"] for rate in load["traffic"].values()), default=0)
    return LanePicture(
        lanes["seconds"],
        tuple(_load(lanes["load"], most, seconds)),
        f"0 to {most:,.0f} B/s",
        tuple(_lane(lane, seconds) for lane in lanes["lanes"]),
        tuple(lanes["requests"]),
        counted(lanes["more"], "more pod") if lanes["more"] else "",
    )


def _load(loads: Sequence[Mapping[str, Any]], most: float, seconds: float) -> Iterator[_Load]:
    """What each node receives, step by step; the same again where it is the quietest."""
    nodes = sorted({node for load in loads for node in load["traffic"]})
    ends = [*(_x(load["at"], seconds) for load in loads[1:]), WIDTH]
    for node in nodes[:_NODES]:
        path, quietest = "", ""
        for load, end in zip(loads, ends, strict=True):
            rate, x = load["traffic"].get(node), _x(load["at"], seconds)
            if rate is None or end <= x:
                continue
            step = f"M{x} {_HEIGHT}V{round(_HEIGHT * (1 - rate / most)) if most else _HEIGHT}H{end}V{_HEIGHT}"
            path += step
            if rate == min(load["traffic"].values()):
                quietest += step
        rates = [load["traffic"][node] for load in loads if node in load["traffic"]]
        least, top = (f"{rate:,.0f}" for rate in (min(rates), max(rates)))
        told = ", then ".join(f"{rate:,.0f}" for rate in rates[:_STEPS]) + (", ..." if len(rates) > _STEPS else "")
        yield _Load(node, path, quietest, f"{least} B/s" if least == top else f"{least} to {top} B/s", told)


def _lane(lane: Mapping[str, Any], seconds: float) -> _Lane:
    ticks, shapes = "", []
    for event in lane["events"]:
        x, end = _x(event["at"], seconds), _x(event["until"], seconds)
        if event["kind"] == "answered" and end - x <= _LEAST:
            ticks += f"M{x} 5V11"
        else:
            width = max(_LEAST, end - x) if event["until"] > event["at"] else 0
            told = lane["kind"] == "pod" and event["kind"] in ("waits", "bound")
            shapes.append(Shape(event["kind"], x, width, "" if told else f"{_when(event)}: {event['text']}"))
    text = lane["text"] or _came_to(lane)
    if lane["more"]:
        text += f", {lane['more']} more"
    return _Lane(lane["name"], lane["kind"], text, _told(lane, text), tuple(shapes), ticks)


def _came_to(lane: Mapping[str, Any]) -> str:
    """What the events of a lane come to, beside its picture."""
    events = lane["events"]
    if lane["kind"] == "harness":
        return str(events[0]["text"]) if len(events) == 1 else counted(len(events), "time")
    refused = sum(event["kind"] == "refused" for event in events)
    counts = {"refused or failed": refused, "answered": len(events) - refused}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _told(lane: Mapping[str, Any], text: str) -> str:
    """For those that do not see it; all of its events are in the timeline below."""
    if lane["kind"] != "pod":
        return f"{lane['name']}: {text}"
    return f"{lane['name']}: " + "; ".join(f"{_when(event)}: {event['text']}" for event in lane["events"][:4])


def _when(event: Mapping[str, Any]) -> str:
    at, until = event["at"], event["until"]
    return f"{at:.2f} s" if until - at < 0.005 else f"{at:.2f} to {until:.2f} s"


def _x(at: float, seconds: float) -> int:
    return round(WIDTH * min(at, seconds) / seconds)
