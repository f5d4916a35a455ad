"""Draws the lanes of a case for report.html: shapes on a time axis, which differ in more than colour.

Each lane is a separate SVG, 1,000 units wide, which is stretched to the available width; its text stands beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from schedproof.foundation.counted import counted
from schedproof.judge.evidence import Lane, LaneEvent, Lanes, Load, RequestCount

WIDTH = 1000
_HEIGHT = 100
"""Height of the load's curves."""
_LEAST = 3
"""Minimum width of a shape that has a duration."""
_NODES = 8
_STEPS = 8
"""The most values of a load that are listed."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """An event that begins at `x` and is `width` wide (0: a mark)."""

    kind: str
    x: int
    width: int
    text: str
    """Its title; "" if the title of its lane describes it."""


@dataclasses.dataclass(frozen=True)
class _Lane:
    name: str
    kind: str
    text: str
    """A summary of its events."""
    title: str
    """A description of the picture, for screen readers."""
    shapes: tuple[Shape, ...]
    ticks: str
    """The path of short answered requests."""


@dataclasses.dataclass(frozen=True)
class _Load:
    """The load of a node over time."""

    node: str
    path: str
    """The path of an area; `_HEIGHT` is the largest load of any node."""
    quietest: str
    """The part of the area during which no node has less load."""
    text: str
    title: str
    """A description of the picture, for screen readers."""


@dataclasses.dataclass(frozen=True)
class LanePicture:
    """The content of `templates/run/lanes.html`."""

    seconds: float
    load: tuple[_Load, ...]
    scale: str
    """The range of values that the height of a load represents."""
    lanes: tuple[_Lane, ...]
    requests: tuple[RequestCount, ...]
    more: str
    """How many pods have no lane; "" if all have one."""

    @property
    def ticks(self) -> list[str]:
        """Labels of the time axis, evenly spaced."""
        return [f"{self.seconds * place / 4:.3g} s" for place in range(5)]


def lane_picture(lanes: Lanes) -> LanePicture:
    """Draw the lanes of a case."""
    seconds = max(lanes.seconds, 0.001)
    most = max((rate for load in lanes.load for rate in load.traffic.values()), default=0)
    return LanePicture(
        lanes.seconds,
        tuple(_load(lanes.load, most, seconds)),
        f"0 to {most:,.0f} B/s",
        tuple(_lane(lane, seconds) for lane in lanes.lanes),
        tuple(lanes.requests),
        counted(lanes.more, "more pod") if lanes.more else "",
    )


def _load(loads: Sequence[Load], most: float, seconds: float) -> Iterator[_Load]:
    """Yield the load of each node as steps, and the steps during which it is the quietest."""
    nodes = sorted({node for load in loads for node in load.traffic})
    ends = [*(_x(load.at, seconds) for load in loads[1:]), WIDTH]
    for node in nodes[:_NODES]:
        path, quietest = "", ""
        for load, end in zip(loads, ends, strict=True):
            rate, x = load.traffic.get(node), _x(load.at, seconds)
            if rate is None or end <= x:
                continue
            step = f"M{x} {_HEIGHT}V{round(_HEIGHT * (1 - rate / most)) if most else _HEIGHT}H{end}V{_HEIGHT}"
            path += step
            if rate == min(load.traffic.values()):
                quietest += step
        rates = [load.traffic[node] for load in loads if node in load.traffic]
        least, top = (f"{rate:,.0f}" for rate in (min(rates), max(rates)))
        title = ", then ".join(f"{rate:,.0f}" for rate in rates[:_STEPS]) + (", ..." if len(rates) > _STEPS else "")
        yield _Load(node, path, quietest, f"{least} B/s" if least == top else f"{least} to {top} B/s", title)


def _lane(lane: Lane, seconds: float) -> _Lane:
    ticks, shapes = "", []
    for event in lane.events:
        x, end = _x(event.at, seconds), _x(event.until, seconds)
        if event.kind == "answered" and end - x <= _LEAST:
            ticks += f"M{x} 5V11"
        else:
            width = max(_LEAST, end - x) if event.until > event.at else 0
            is_titled = lane.kind == "pod" and event.kind in ("waits", "bound")
            shapes.append(Shape(event.kind, x, width, "" if is_titled else f"{_when(event)}: {event.text}"))
    text = lane.text or _came_to(lane)
    if lane.more:
        text += f", {lane.more} more"
    return _Lane(lane.name, lane.kind, text, _title(lane, text), tuple(shapes), ticks)


def _came_to(lane: Lane) -> str:
    """Summarise the events of a lane, for the text beside its picture."""
    events = lane.events
    if lane.kind == "harness":
        return events[0].text if len(events) == 1 else counted(len(events), "time")
    refused = sum(event.kind == "refused" for event in events)
    counts = {"refused or failed": refused, "answered": len(events) - refused}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _title(lane: Lane, text: str) -> str:
    """Describe a lane for screen readers; the timeline below it has all events."""
    if lane.kind != "pod":
        return f"{lane.name}: {text}"
    return f"{lane.name}: " + "; ".join(f"{_when(event)}: {event.text}" for event in lane.events[:4])


def _when(event: LaneEvent) -> str:
    return f"{event.at:.2f} s" if event.until - event.at < 0.005 else f"{event.at:.2f} to {event.until:.2f} s"


def _x(at: float, seconds: float) -> int:
    return round(WIDTH * min(at, seconds) / seconds)
