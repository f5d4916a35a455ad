"""Draws decisions and scores for report.html: a row for each node, a bar for each number."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedproof.oracle.resources import amount_of
from schedproof.report.run.decision_rows import pod_looks
from schedproof.report.run.decisions import scorers

Row = Mapping[str, Any]


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


def decision_picture(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Add `columns`, and the nodes as `rows`, to a decision of `judge.rulings.evidence.decision_table`, for
    `templates/run/evidence.html`.

    Free amounts are shown if they matter to the decision: of resources that a node lacks; of all requested resources if
    every node has enough, there is no traffic to decide by, and the chosen node is not infeasible.
    """
    nodes = decision["nodes"]
    scores = scorers(decision)
    columns = [
        *_traffic(nodes),
        *(_scores(scorer, nodes) for scorer in scores.shown),
        *(_free(resource, nodes) for resource in _resources(nodes)),
    ]
    rows = [
        {
            "node": row["node"],
            "feasible": row["feasible"],
            "chosen": row["chosen"],
            "expected": row["expected"],
            "right": row["chosen"] and _is_right(row, nodes),
            "why": "; ".join(row["reasons"]),
            "bars": [column.bars[place] for column in columns],
        }
        for place, row in enumerate(nodes)
    ]
    alike = ", ".join(f"{name} {score}" for name, score in scores.alike.items())
    return {**decision, "looks": pod_looks(decision), "columns": columns, "alike": alike, "rows": rows}


def scoring_picture(scoring: Mapping[str, Any]) -> dict[str, Any]:
    """Add bars for each node's reading and scores to a search of `judge.scored`."""
    # Reports of earlier versions lack `holds`.
    return {
        "holds": False,
        **scoring,
        "questions": [{**question, **_scored(question, scoring["of"])} for question in scoring["questions"]],
    }


def _scored(question: Mapping[str, Any], of: str) -> dict[str, Any]:
    readings = [_length(row["reading"]) for row in question["nodes"]]
    scores = [_length(row["scores"][0]) if row["scores"] else 0.0 for row in question["nodes"]]
    columns = [
        _column(of, readings, [row["reading"] for row in question["nodes"]]),
        _column("score", scores, [", ".join(map(str, row["scores"])) or "none" for row in question["nodes"]]),
    ]
    rows = [
        {"node": row["node"], "bars": [column.bars[place] for column in columns]}
        for place, row in enumerate(question["nodes"])
    ]
    return {"columns": columns, "rows": rows}


def _is_right(row: Row, nodes: Sequence[Row]) -> bool:
    """Whether a chosen node is feasible, and expected if the decision has expected nodes."""
    return bool(row["feasible"] and (row["expected"] or not any(other["expected"] for other in nodes)))


def _traffic(nodes: Sequence[Row]) -> Iterator[Column]:
    known = [row["traffic"] for row in nodes]
    if any(rate is not None for rate in known):
        texts = ["no reading" if rate is None else f"{rate:,.0f}" for rate in known]
        yield _column("traffic B/s", [None if rate is None else _length(rate) for rate in known], texts)


def _scores(scorer: str, nodes: Sequence[Row]) -> Column:
    scores = [row["scores"].get(scorer) for row in nodes]
    texts = ["" if score is None else f"{score:,}" for score in scores]
    return _column(f"score {scorer}", [None if score is None else _length(score) for score in scores], texts)


def _column(head: str, lengths: Sequence[float | None], texts: Sequence[str]) -> Column:
    most = max(filter(None, lengths), default=0.0)
    bars = tuple(
        Bar(text, "" if length is None or not most else _percent(length, most))
        for text, length in zip(texts, lengths, strict=True)
    )
    return Column(head, f"0 to {_number(most)}" if most else "", bars)


def _resources(nodes: Sequence[Row]) -> list[str]:
    """Return the resources whose free amount to show, ordered by name, `pods` last."""
    rooms = [room for row in nodes if (room := row.get("room"))]
    names = sorted({name for room in rooms for name in room}, key=lambda name: (name == "pods", name))
    lacking = [name for name in names if any(_lacks(room[name]) for room in rooms if name in room)]
    misplaced = any(row["chosen"] and not row["feasible"] for row in nodes)
    if lacking or misplaced or any(row["traffic"] is not None for row in nodes):
        return lacking
    return [name for name in names if name != "pods"] or names


def _lacks(room: Row) -> bool:
    return bool(room["asked"] > room["free"])


def _free(resource: str, nodes: Sequence[Row]) -> Column:
    rooms = [(row.get("room") or {}).get(resource) for row in nodes]
    known = [room for room in rooms if room is not None]
    most = max(room[name] for room in known for name in ("total", "asked"))
    shown = functools.partial(amount_of, resource)
    return Column(
        f"{resource} free", f"0 to {shown(most)}; asked for: {shown(known[0]['asked'])}",
        tuple(_room(room, most, shown) for room in rooms),
    )  # fmt: skip


def _room(room: Row | None, most: float, shown: Callable[[int], str]) -> Bar:
    if room is None:
        return Bar("")
    return Bar(
        f"{shown(room['free'])} of {shown(room['total'])}", _percent(max(0, room["free"]), most),
        _percent(room["asked"], most), _lacks(room),
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
