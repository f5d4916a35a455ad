"""A decision as a table at a terminal: a node a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from schedproof.report.run.decisions import scorers

if TYPE_CHECKING:
    from rich.table import Table

_WIDTHS = {"node": 40, "feasible": 100}
"""Columns of a node's name, and of the reasons why a pod does not fit, at most: more are on further lines."""


def decision_table(decision: Mapping[str, Any], *, rows: int = 0) -> Table:
    """What `judge.evidence.decision_table` has.

    Args:
        decision: one of a verdict's.
        rows: how many nodes to show, without lines between the columns: the chosen one, those expected, then feasible
            ones; 0: all, with lines.
    """
    from rich.table import Table
    from rich.text import Text

    nodes = _shown(decision["nodes"], rows) if rows else list(decision["nodes"])
    shown = scorers(decision).shown
    # Text, not str: what is in brackets ("zone In [a, b]") would be taken for markup.
    if rows:
        table = Table(box=None, pad_edge=False)
    else:
        table = Table(title=Text(decision_title(decision), style="table.title"), title_justify="left")
    columns = {
        "node": [row["node"] for row in nodes],
        "feasible": ["yes" if row["feasible"] else "no: " + "; ".join(row["reasons"]) for row in nodes],
        "traffic B/s": [f"{row['traffic']:,.0f}" if row["traffic"] is not None else "" for row in nodes],
        **{f"score {scorer}": [f"{row['scores'].get(scorer, '')}" for row in nodes] for scorer in shown},
        "expected": ["<--" if row["expected"] else "" for row in nodes],
        "chosen": ["<--" if row["chosen"] else "" for row in nodes],
    }
    known = {column: cells for column, cells in columns.items() if any(cells)}
    for column in known:
        justify: Literal["left", "right"] = "right" if column.startswith(("traffic", "score")) else "left"
        cut: Mapping[str, Any] = {"no_wrap": True, "overflow": "ellipsis"} if rows else {"overflow": "fold"}
        table.add_column(Text(column), justify=justify, max_width=_WIDTHS.get(column), **cut)
    for cells in zip(*known.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table


def decision_title(decision: Mapping[str, Any]) -> str:
    """The pod, what it asks for, and where it went."""
    asks = ", ".join(f"{name} {amount}" for requests in decision["requests"] for name, amount in requests.items())
    asked = f" (requests {asks})" if asks else ""
    return f"{decision['pod']}{asked} -> {decision['chosen'] or 'nowhere'}, of {len(decision['nodes'])} nodes"


def _shown(nodes: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """The nodes that explain a decision, in their order."""
    telling = sorted(nodes, key=lambda row: (not row["chosen"], not row["expected"], not row["feasible"]))[:most]
    return [row for row in nodes if any(row is one for one in telling)]
