"""`core/random-worlds`: the placements in generated worlds; those in the smallest failing world count."""

from __future__ import annotations

import dataclasses

from schedproof.history.acts import WorldSearch
from schedproof.history.history import History
from schedproof.judge.clause import CHANGE_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence, SmallestWorld
from schedproof.judge.verdict import Finding, gives

_SHOWN = 700
"""Characters of a world in words; only the smallest worlds are shorter."""


@gives(also=[judge_placement])
def judge_worlds(history: History, case: str) -> Finding:
    """Every pod of every world was placed where it could run, and only if it could.

    Where a search has found a world that breaks this and made it smaller, the smallest was tried last, with all the
    time that the candidate claims: what became of its pods is the finding. Where all was right then, that of all pods
    counts: a pod that was once misplaced is so for good. Histories without a search are judged by all pods as well.

    The evidence `world` has the smallest: its `id`, what it is in `words`, the `file` that has it as YAML in the
    candidate's folder of the evidence, and how many `worlds` were tried.
    """
    search = next(reversed(list(history.of(WorldSearch, case))), None)
    if search is None or not search.id:
        finding = judge_placement(history, case)
        tried = f"{search.worlds} worlds: " if search is not None and finding.outcome == "passed" else ""
        return dataclasses.replace(finding, summary=f"{tried}{finding.summary}")
    finding = judge_placement(history, case, only=frozenset(search.pods) or None)
    if finding.outcome == "passed":
        finding = judge_placement(history, case)
    if finding.outcome == "passed":
        return finding
    words = search.words if len(search.words) <= _SHOWN else f"{search.words[:_SHOWN]}..."
    sometimes = "" if search.steady else ", not each time"
    shown = SmallestWorld(id=search.id, words=words, file=search.file, worlds=search.worlds)
    return dataclasses.replace(
        finding,
        summary=f"{finding.summary} (in a world of {words}{sometimes}; again: schedproof replay {search.id})",
        evidence=finding.evidence | Evidence(world=shown),
    )


CLAUSES = (
    Clause(
        "core/random-worlds",
        "In generated clusters, every pod is bound to a feasible node, and stays pending only if there is none.",
        "Kubernetes: the default Filter plugins", judge_worlds, needs=CHANGE_NODES, stands_on=STEERED,
        hint=(
            "Compare the decision's table with the pod of the smallest world: each row says which rule excludes the "
            "node, if any. Repeat it with `schedproof replay ID`; its YAML is for kubectl."
        ),
    ),
)  # fmt: skip
