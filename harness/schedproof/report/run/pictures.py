"""Draws decisions and scores for report.html: a row for each node, a bar for each number."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence

from schedproof.judge.evidence import Decision, NodeRow, Question
from schedproof.oracle.resources import Room, amount_of
from schedproof.report.run.decision_rows import pod_looks
from schedproof.report.run.decisions import scorers


@dataclasses.dataclass(frozen=True)
class Bar:
    """A number of a node. Shares are percentages of the column's scale, such as `82%`."""

    text: str
    share: str = ""
    """The length of the bar; "" if there is none."""
    needed: str = ""
    """The position of the mark of the pod's request; "" if there is none."""
    short: bool = False
    """Whether the request exceeds the free amount."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of numbers: a bar for each node, all on the same scale."""

    head: str
    scale: str
    """The range that a full bar represents, with its unit."""
    bars: tuple[Bar, ...]


@dataclasses.dataclass(frozen=True)
class Picture:
    """A decision or a question, for `templates/run/evidence.html`. Each node has a bar in each column."""

    of: Decision | Question
    columns: Sequence[Column]
    looks: str = ""
    """See `pod_looks`."""
    alike: str = ""
    """The scores that are the same for all nodes."""

    @property
    def rows(self) -> list[tuple[object, list[Bar]]]:
        return [(node, [column.bars[place] for column in self.columns]) for place, node in enumerate(self.of.nodes)]


def decision_picture(decision: Decision) -> Picture:
    """Draw a decision.

    Free amounts are shown if they matter to the decision: of resources that a node lacks; of all requested resources if
    every node has enough, there is no traffic to decide by, and the chosen node is not infeasible.
    """
    nodes = decision.nodes
    scores = scorers(decision)
    columns = [
        *_traffic(nodes),
        *(_scores(scorer, nodes) for scorer in scores.shown),
        *(_free(resource, nodes) for resource in _resources(nodes)),
    ]
    alike = ", ".join(f"{name} {score}" for name, score in scores.alike.items())
    return Picture(decision, columns, pod_looks(decision), alike)


def question_picture(question: Question, of: str) -> Picture:
    """Draw each node's reading and scores; `of`: what the readings are."""
    nodes = question.nodes
    scores = [_length(row.scores[0]) if row.scores else 0.0 for row in nodes]
    columns = [
        _column(of, [_length(row.reading) for row in nodes], [row.reading for row in nodes]),
        _column("score", scores, [", ".join(map(str, row.scores)) or "none" for row in nodes]),
    ]
    return Picture(question, columns)


def _traffic(nodes: Sequence[NodeRow]) -> Iterator[Column]:
    known = [row.traffic for row in nodes]
    if any(rate is not None for rate in known):
        texts = ["no reading" if rate is None else f"{rate:,.0f}" for rate in known]
        yield _column("traffic B/s", [None if rate is None else _length(rate) for rate in known], texts)


def _scores(scorer: str, nodes: Sequence[NodeRow]) -> Column:
    scores = [row.scores.get(scorer) for row in nodes]
    texts = ["" if score is None else f"{score:,}" for score in scores]
    return _column(f"score {scorer}", [None if score is None else _length(score) for score in scores], texts)


def _column(head: str, lengths: Sequence[float | None], texts: Sequence[str]) -> Column:
    most = max(filter(None, lengths), default=0.0)
    bars = tuple(
        Bar(text, "" if length is None or not most else _percent(length, most))
        for text, length in zip(texts, lengths, strict=True)
    )
    return Column(head, f"0 to {_number(most)}" if most else "", bars)


def _resources(nodes: Sequence[NodeRow]) -> list[str]:
    """Return the resources whose free amount to show, ordered by name, `pods` last."""
    rooms = [room for row in nodes if (room := row.room)]
    names = sorted({name for room in rooms for name in room}, key=lambda name: (name == "pods", name))
    lacking = [name for name in names if any(_lacks(room[name]) for room in rooms if name in room)]
    misplaced = any(row.chosen and not row.feasible for row in nodes)
    if lacking or misplaced or any(row.traffic is not None for row in nodes):
        return lacking
    return [name for name in names if name != "pods"] or names


def _lacks(room: Room) -> bool:
    return room.asked > room.free


def _free(resource: str, nodes: Sequence[NodeRow]) -> Column:
    rooms = [(row.room or {}).get(resource) for row in nodes]
    known = [room for room in rooms if room is not None]
    most = max(amount for room in known for amount in (room.total, room.asked))
    shown = functools.partial(amount_of, resource)
    return Column(
        f"{resource} free", f"0 to {shown(most)}; asked for: {shown(known[0].asked)}",
        tuple(_room(room, most, shown) for room in rooms),
    )  # fmt: skip


def _room(room: Room | None, most: float, shown: Callable[[int], str]) -> Bar:
    if room is None:
        return Bar("")
    return Bar(
        f"{shown(room.free)} of {shown(room.total)}", _percent(max(0, room.free), most),
        _percent(room.asked, most), _lacks(room),
    )  # fmt: skip


def _length(value: str | float) -> float:
    """Return the length of a value's bar; 0 for negative values, NaN and infinities."""
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return number if 0 < number < math.inf else 0.0


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _percent(value: float, most: float) -> str:
    return f"{min(1.0, value / most) if most else 0:.0%}"
