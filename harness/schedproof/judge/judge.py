"""From a history to verdicts. Pure: the same records give the same verdicts, on any machine, at any time."""

from __future__ import annotations

import dataclasses
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schedproof.candidate.claims import Claims
from schedproof.candidate.profiles import OWN, profile_of
from schedproof.foundation.visible import visible_in
from schedproof.history.acts import RunCluster, Selected, Trouble, Unsupported
from schedproof.history.history import History
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import ANSWERED, AUDIT, OF_CANDIDATE, PREFERRED, Clause
from schedproof.judge.evidence import Evidence
from schedproof.judge.feature_gates import load_gates
from schedproof.judge.rulings.extender_calls import lost_calls
from schedproof.judge.rulings.lanes import lanes
from schedproof.judge.rulings.timeline import log_tails, timeline
from schedproof.judge.shown import Shown
from schedproof.judge.symptoms import symptoms
from schedproof.judge.verdict import JUDGE_RAISED, OUTDATED, Finding, Outcome, Verdict, invalid


def applies(clause: Clause, claims: Claims, cluster: RunCluster) -> Verdict | None:
    """The verdict that needs no trial: not claimed, or impossible on this cluster. None if it must be tried."""
    if unclaimed := why_unclaimed(clause, claims):
        return _verdict(clause, "not-claimed", unclaimed, "not-claimed")
    if lacks := _gate_off(clause, cluster):
        return _verdict(clause, "not-claimed", lacks, "not-in-this-kubernetes")
    if lacking := sorted(clause.needs - OF_CANDIDATE - set(cluster.capabilities)):
        summary = f"this cluster lacks the capability {', '.join(lacking)}"
        return _verdict(clause, "skipped", summary, "capability-missing")
    if withheld := sorted(clause.needs & cluster.withheld.keys()):
        return _verdict(clause, "skipped", cluster.withheld[withheld[0]], "candidate-not-started")
    if obstacle := clause.obstacle(claims, cluster):
        return _verdict(clause, "skipped", obstacle, "not-possible-here")
    return None


def _gate_off(clause: Clause, cluster: RunCluster) -> str:
    """That the feature of a clause is off in the cluster; "" if it is on, or the clause is about none."""
    if not (clause.gate and cluster.minor):
        return ""
    gate = load_gates()[clause.gate]
    if cluster.feature_gates.get(clause.gate, gate.is_on(cluster.minor)):
        return ""
    since = f"since {gate.since}" if gate.since else "in no version"
    return f"{clause.gate} is off on Kubernetes {cluster.minor}; it is on by default {since}"


def _verdict(
    clause: Clause, outcome: Outcome, summary: str, code: str, *, evidence: Evidence | None = None, depends_on: str = ""
) -> Verdict:
    return Verdict(
        clause=clause.id, level=clause.level, outcome=outcome, summary=summary, evidence=evidence or Evidence(),
        code=code, depends_on=depends_on,
    )  # fmt: skip


def dependent(clause: Clause, cause: str) -> Verdict:
    """The verdict on a clause that was not tried, because it would fail as another clause has."""
    summary = f"not tried: it depends on {cause}, which did not pass"
    return _verdict(clause, "skipped", summary, "depends-on-failed", depends_on=cause)


def unsupported(clause: Clause, lacks: Unsupported) -> Verdict:
    """The verdict on a clause that cannot be tried without what the candidate does not support."""
    summary = f"not tried: it needs {lacks.subject}, and {lacks.clause} is excluded or not claimed"
    return _verdict(clause, "skipped", summary, "depends-on-excluded", depends_on=lacks.clause)


_FACTS = frozenset({"call-unanswered", "query-refused", "query-without-result"})
"""Kinds of symptoms because of which traffic does not decide, whatever is tried."""
_NO_PREFERENCE = frozenset({"one-node", "inverted", "ignored"})
"""Patterns of a preference by which other clauses about it fail as well; others are right now and then."""


def shows_nothing_further(verdict: Verdict) -> bool:
    """Whether clauses that stand on this one would fail by what it has found: see `ANSWERED` and `PREFERRED`."""
    if verdict.clause in ANSWERED:
        return verdict.outcome == "failed" and verdict.code in ("call-failed", "call-too-slow")
    if verdict.clause not in PREFERRED or verdict.outcome not in ("failed", "invalid"):
        return False
    kinds = {symptom.kind for symptom in verdict.evidence.symptoms}
    if verdict.outcome == "invalid":
        return verdict.code == "metric-not-served" or "query-without-result" in kinds
    return bool(kinds & _FACTS) or verdict.evidence.pattern in _NO_PREFERENCE


def why_unclaimed(clause: Clause, claims: Claims) -> str:
    """Why a clause does not apply to a candidate with these claims; empty if it does."""
    profile = profile_of(clause.id)
    if profile not in (*claims.profiles, OWN):
        return f"the profile {profile} is not claimed"
    if missing := sorted(clause.features - set(claims.features)):
        return f"the feature {', '.join(missing)} is not claimed"
    return clause.unclaimed(claims)


def judge(history: History, clause_id: str) -> Verdict:
    """The verdict on one clause that was tried in this history. Its quotes have secrets removed."""
    return Verdict.model_validate(visible_in(_judge(history, clause_id).model_dump(exclude_unset=True)))


def _judge(history: History, clause_id: str) -> Verdict:
    clause = CATALOGUE[clause_id]
    if (verdict := applies(clause, history.claims, history.run.cluster)) is not None:
        return verdict
    of_run = Shown.of(history)
    if clause_id not in history.cases and (waits_for := of_run.waits_for(clause)):
        return dependent(clause, waits_for)
    finding = _unfinished(history, clause)
    if finding is not None:
        return _verdict(clause, finding.outcome, finding.summary, finding.code)
    finding = _safely(clause, history.up_to_end("" if clause.last else clause_id), of_run)
    if finding.outcome == "passed" and not clause.last and history.ended_early(clause_id):
        # The judge must find what was missed. Where it does not, its record is not all that was to be tried.
        finding = invalid("cut-short", "a deadline was missed, and the rest of the trial was skipped", finding.evidence)
    finding = _unless_lost(history, clause, finding)
    if finding.outcome == "invalid" and of_run.broken_by not in ("", clause_id):
        return dependent(clause, of_run.broken_by)
    if finding.outcome != "failed" and (lacks := next(history.of(Unsupported, clause_id), None)) is not None:
        return unsupported(clause, lacks)
    verdict = _verdict(clause, finding.outcome, finding.summary, finding.code, evidence=finding.evidence)
    return _beside_exclusion(history, verdict)


def _beside_exclusion(history: History, verdict: Verdict) -> Verdict:
    """The verdict, if candidate.yaml excludes its clause."""
    exclusion = next((e for e in history.exclusions if e.clause == verdict.clause), None)
    if exclusion is None:
        return verdict
    if exclusion.until is not None and history.day > exclusion.until:
        if verdict.outcome != "failed":
            return verdict
        return verdict.model_copy(update={"summary": f"its exclusion ended on {exclusion.until}: {verdict.summary}"})
    if verdict.outcome == "failed":
        summary = f"excluded ({exclusion.reason}): {verdict.summary}"
        return verdict.model_copy(update={"outcome": "excluded", "summary": summary})
    if verdict.outcome == "passed":
        summary = f"holds, but candidate.yaml excludes it ({exclusion.reason}): remove the exclusion"
        return verdict.model_copy(update={"summary": summary, "code": OUTDATED, "stale": True})
    return verdict


def _unless_lost(history: History, clause: Clause, finding: Finding) -> Finding:
    """The finding; `invalid` if it rests on a part of the record that is lost.

    That no request or event was found proves nothing if the apiserver could not write all of them to its audit log. A
    finding about calls of an extender rests on each of them in full.
    """
    gap = ""
    if finding.outcome == "passed" and clause.last and clause.needs >= AUDIT and (count := history.lost_requests):
        gap = f"the apiserver could not write {count} events to its audit log"
    elif finding.outcome in ("passed", "failed") and profile_of(clause.id) == "extender":
        gap = lost_calls(history, None if clause.last else clause.id)
    return invalid("record-incomplete", gap, finding.evidence) if gap else finding


def _safely(clause: Clause, history: History, of_run: Shown) -> Finding:
    """The finding of a clause's judge. If a judge raises, only its own clause is unproved. `of_run`: see `symptoms`."""
    try:
        finding = clause.judge(history, clause.id)
        evidence = finding.evidence
        if not clause.last:  # of a whole run, its judge knows which case to show
            evidence = Evidence(logs=log_tails(history, clause.id)) | evidence
            if finding.outcome != "passed" and not evidence.timeline:
                evidence |= Evidence(timeline=timeline(history, clause.id))
        if finding.outcome in ("failed", "invalid"):
            seen = symptoms(history, clause.id, finding, of_run, whole_run=clause.last)
            evidence |= Evidence(symptoms=seen)
            if not clause.last:
                evidence |= Evidence(lanes=lanes(history, clause.id))
        return dataclasses.replace(finding, evidence=evidence)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return invalid(
            JUDGE_RAISED,
            f"its judge raised {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno}, in "
            f"{place.name}): a bug of schedproof; please report it, with the folder of this run",
        )


def _unfinished(history: History, clause: Clause) -> Finding | None:
    """Why the record is not enough for a verdict."""
    if clause.last:
        # Watch and audit log arrive apart: only where both were read to the end does the one account for the other.
        return (
            None
            if history.over
            else invalid("cut-short", "it is judged over a whole run, and this run was interrupted")
        )
    if clause.id not in history.cases:
        return invalid("cut-short", "it was not tried: the run ended before")
    if (trouble := next(history.of(Trouble, clause.id), None)) is not None:
        return invalid("harness-trouble", trouble.text)
    return None if history.ended(clause.id) else invalid("cut-short", "it was interrupted in the middle of its trial")


def judge_all(histories: Mapping[int, History]) -> list[Verdict]:
    """Verdicts on all clauses that a run was to try on a candidate, in its order.

    Args:
        histories: by instance; see `Verdict`.
    """
    records = [record for history in histories.values() for record in history.of(Selected)]
    order = dict.fromkeys(clause_id for record in records for clause_id in record.of_all_shards or record.clauses)
    selected = [clause_id for clause_id in order if any(clause_id in record.clauses for record in records)]

    def turn(clause_id: str) -> tuple[bool, float, int]:
        tried = [(n, history.cases.index(clause_id)) for n, history in histories.items() if clause_id in history.cases]
        return CATALOGUE[clause_id].last, *min(tried, default=(math.inf, 0))

    # In the order of the records, which are read once so; what is judged over all of each history is at its end.
    verdicts = {clause_id: _judge_together(histories, clause_id) for clause_id in sorted(selected, key=turn)}
    return [verdicts[clause_id] for clause_id in selected]


def _judge_together(histories: Mapping[int, History], clause_id: str) -> Verdict:
    clause = CATALOGUE[clause_id]
    tried = {number: history for number, history in histories.items() if clause.last or clause_id in history.cases}
    if not tried:
        # One instance has shown why it was not tried.
        untried = [judge(history, clause_id) for history in histories.values()]
        return next((verdict for verdict in untried if verdict.depends_on), untried[0])
    # What was interrupted on one instance, and tried on another after `--resume`, is judged there.
    complete = {n: one for n, one in tried.items() if (one.over if clause.last else one.ended(clause_id))}
    tried = complete or tried
    verdicts = [judge(history, clause_id).model_copy(update={"instance": n}) for n, history in tried.items()]
    return merge(verdicts, lambda: list(tried.values()))


def pool(histories: Sequence[History]) -> History:
    """The first history, with the requests of all: for clauses that are `pooled`."""
    first, *others = histories
    return History([first.run, *(record for history in others for record in history.requests()), *first.records[1:]])


_WORST_FIRST = ("failed", "invalid", "excluded", "passed", "skipped", "not-claimed")


def merge(verdicts: Sequence[Verdict], histories: Callable[[], Sequence[History]]) -> Verdict:
    """The verdict on a clause that several instances of a candidate were tried on: the worst, and its instance.

    Args:
        verdicts: of at least one instance.
        histories: reads the histories of these instances. For a clause that is `pooled` they are judged together, if
            an instance found a fault; the requests of the others can only refute it.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    worst = min(verdicts, key=lambda v: (_WORST_FIRST.index(v.outcome), v.stale, v.instance))
    if worst.outcome not in ("failed", "invalid", "excluded"):
        return worst.model_copy(update={"instance": 0})
    if CATALOGUE[worst.clause].pooled:
        return judge(pool(histories()), worst.clause)
    summary = f"instance {worst.instance} of {len(verdicts)}: {worst.summary}"
    return worst.model_copy(update={"summary": summary})
