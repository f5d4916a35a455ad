"""What becomes of a scheduler whose connections to the apiserver end: watches end with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.judge.clause import CHANGE_NODES, CUT_APISERVER, SEVERAL_NODES, Clause
from schedproof.judge.evidence import shown
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid

if TYPE_CHECKING:
    from schedproof.history.history import History

__all__ = ["CLAUSES", "judge_reconnect"]


def judge_reconnect(history: History, case: str) -> Finding:
    """After its connections had ended, pods were bound in time, and what had changed meanwhile was heeded."""
    cuts = [fault for fault in history.of("fault", case) if fault["line"] == "apiserver" and fault["on"]]
    finding = judge_placement(history, case)
    if finding.outcome == "failed":
        return failed(f"after its connections to the apiserver had ended: {finding.summary}", **finding.evidence)
    if not any(cut.get("connections") for cut in cuts):
        return invalid("no connection of the candidate's came through the line that was cut", **shown(history, case))
    return finding


CLAUSES = (
    Clause(
        "core/watch-reconnect", "When its connections to the apiserver end, it makes new ones, and goes on scheduling.",
        "Kubernetes API concepts: a watch may end at any time", judge_reconnect, needs=CUT_APISERVER | CHANGE_NODES,
    ),
    Clause(
        "controller/watch-reconnect",
        "What changed while the apiserver could not be reached is heeded afterwards: pods, nodes, what is gone.",
        "Kubernetes API concepts: after a watch has ended, resume from its last resourceVersion, or list again",
        judge_reconnect, needs=CUT_APISERVER | CHANGE_NODES | SEVERAL_NODES,
    ),
)  # fmt: skip
