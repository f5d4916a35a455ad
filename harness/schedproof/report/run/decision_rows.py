"""Shows a decision as a table on a terminal, with a row for each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from schedproof.judge.evidence import Decision, NodeRow
from schedproof.oracle.resources import amount_of
from schedproof.report.run.decisions import scorers

if TYPE_CHECKING:
    from rich.table import Table

_WIDTHS = {"node": 40, "feasible": 100}
"""Maximum widths of node names, and of the reasons why a pod does not fit; longer text wraps."""


def decision_table(decision: Decision, *, rows: int = 0) -> Table:
    """Build the table of a decision.

    Args:
        decision: from a verdict's evidence.
        rows: how many nodes to show, without borders: the chosen node, then expected and feasible nodes; 0: all nodes,
            with borders.
    """
    from rich.table import Table
    from rich.text import Text

    nodes = _shown(decision.nodes, rows) if rows else decision.nodes
    shown = scorers(decision).shown
    # Text, not str: rich takes brackets ("zone In [a, b]") for markup.
    if rows:
        table = Table(box=None, pad_edge=False)
    else:
        table = Table(title=Text(decision_title(decision), style="table.title"), title_justify="left")
    columns = {
        "chosen": ["-->" if row.chosen else "" for row in nodes],
        "node": [row.node for row in nodes],
        "feasible": [_fits(row, unbound=not decision.chosen) for row in nodes],
        "traffic B/s": [f"{row.traffic:,.0f}" if row.traffic is not None else "" for row in nodes],
        **{f"score {scorer}": [f"{row.scores.get(scorer, '')}" for row in nodes] for scorer in shown},
        "expected": ["<--" if row.expected else "" for row in nodes],
    }
    known = {column: cells for column, cells in columns.items() if any(cells)}
    for column in known:
        justify: Literal["left", "right"] = "right" if column.startswith(("traffic", "score")) else "left"
        # rich narrows columns that may wrap before all others: on a narrow terminal, only reasons are cut.
        cut: Mapping[str, Any] = (
            {"no_wrap": column != "feasible", "overflow": "ellipsis"} if rows else {"overflow": "fold"}
        )
        table.add_column(Text(column), justify=justify, max_width=_WIDTHS.get(column), **cut)
    one_line: Mapping[str, Any] = {"no_wrap": True, "overflow": "ellipsis"} if rows else {}
    for cells in zip(*known.values(), strict=True):
        table.add_row(*(Text(cell, **one_line) for cell in cells))
    return table


def decision_title(decision: Decision) -> str:
    """Return the pod, its requests and looks, and the chosen node."""
    looks = pod_looks(decision)
    shown = f" ({looks})" if looks else ""
    return f"{decision.pod}{shown} -> {decision.chosen or 'nowhere'}, of {len(decision.nodes)} nodes"


def pod_looks(decision: Decision) -> str:
    """Return the pod's requests, as written in its manifest, and how the harness varied the manifest."""
    asks = ", ".join(filter(None, map(_amounts, decision.requests)))
    varied, needed = ", ".join(decision.varied), _amounts(decision.needed)
    before = [
        f"{'sidecar' if container.sidecar else 'init container'} {_amounts(container.requests)}"
        for container in decision.init
        if container.requests
    ]
    whole = needed if before or len([requests for requests in decision.requests if requests]) > 1 else ""
    parts = (asks and f"requests {asks}", *before, whole and f"in all {whole}", varied and f"varied: {varied}")
    return "; ".join(filter(None, parts))


def _amounts(requests: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in requests.items())


def _fits(row: NodeRow, *, unbound: bool) -> str:
    """Return whether a node is feasible, and why not; of a pod that was not bound, how much is free where it fits."""
    if not row.feasible:
        return "no: " + "; ".join(row.reasons)
    room = row.room or {} if unbound else {}
    free = [
        f"{name} {amount_of(name, one.free)} free of {amount_of(name, one.total)}"
        for name, one in room.items()
        if name != "pods"
    ]
    return f"yes: {', '.join(free)}" if free else "yes"


def _shown(nodes: Sequence[NodeRow], most: int) -> list[NodeRow]:
    """Return the `most` nodes that explain a decision best, in their original order."""
    telling = sorted(nodes, key=lambda row: (not row.chosen, not row.expected, not row.feasible))[:most]
    return [row for row in nodes if any(row is shown for shown in telling)]
