"""From a history to verdicts. Pure: the same records give the same verdicts, on any machine, at any time."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import CLAUSE_PROFILES
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Verdict, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.candidates.claims import Claims
    from schedproof.history.history import History
    from schedproof.judge.clause import Clause

__all__ = ["applies", "judge", "judge_all"]


def applies(clause: Clause, claims: Claims, cluster: Mapping[str, Any]) -> Verdict | None:
    """The verdict that needs no trial: not claimed, or not possible on this cluster. None where it must be tried."""
    profile = CLAUSE_PROFILES[clause.id.partition("/")[0]]
    if profile not in claims.profiles:
        return Verdict(clause.id, clause.level, "not-claimed", f"the profile {profile} is not claimed")
    if missing := sorted(clause.features - set(claims.features)):
        return Verdict(clause.id, clause.level, "not-claimed", f"the feature {', '.join(missing)} is not claimed")
    if unclaimed := clause.unclaimed(claims):
        return Verdict(clause.id, clause.level, "not-claimed", unclaimed)
    if lacking := sorted(clause.needs - set(cluster["capabilities"])):
        return Verdict(clause.id, clause.level, "skipped", f"this cluster lacks the capability {', '.join(lacking)}")
    if obstacle := clause.obstacle(claims, cluster):
        return Verdict(clause.id, clause.level, "skipped", obstacle)
    return None


def judge(history: History, clause_id: str) -> Verdict:
    """The verdict on one clause that was tried in this history."""
    clause = CATALOGUE[clause_id]
    if (verdict := applies(clause, history.claims, history.run["cluster"])) is not None:
        return verdict
    if (obstacle := _unfinished(history, clause)) is not None:
        return Verdict(clause.id, clause.level, "invalid", obstacle)
    finding = clause.judge(history.up_to_end("" if clause.last else clause_id), clause_id)
    if finding.outcome == "passed" and not clause.last and history.ended_early(clause_id):
        # Whoever judges must find what was missed. Where he does not, what he saw is not all that was to be tried.
        finding = invalid("a deadline was missed, and the rest of the trial left out", **finding.evidence)
    verdict = Verdict(clause.id, clause.level, finding.outcome, finding.summary, finding.evidence)
    exclusion = next((e for e in history.exclusions if e.clause == clause_id), None)
    if exclusion is None:
        return verdict
    if verdict.outcome == "failed":
        summary = f"excluded ({exclusion.reason}): {verdict.summary}"
        return dataclasses.replace(verdict, outcome="excluded", summary=summary)
    if verdict.outcome == "passed":
        summary = f"holds, but candidate.yaml excludes it ({exclusion.reason}): remove the exclusion"
        return dataclasses.replace(verdict, summary=summary, stale=True)
    return verdict


def _unfinished(history: History, clause: Clause) -> str | None:
    """Why there is not enough of a record to judge."""
    if clause.last:
        # Watch and audit log arrive apart: only where both were read to the end does the one account for the other.
        return None if history.over else "holds over all of a run, and this one was cut off"
    if clause.id not in history.cases:
        return "was not tried: the run ended before its turn"
    if (trouble := next(history.of("trouble", clause.id), None)) is not None:
        return str(trouble["text"])
    return None if history.ended(clause.id) else "was cut off in the middle of its trial"


def judge_all(history: History) -> list[Verdict]:
    """Verdicts on everything that this run was to try, in its order."""
    return [judge(history, clause_id) for record in history.of("selected") for clause_id in record["clauses"]]
