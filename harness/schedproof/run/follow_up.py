"""What is found out after a case: why its pods were not bound, and which clauses need not be tried any more."""

from __future__ import annotations

from schedproof.foundation.progress import Progress
from schedproof.history.acts import Broken, LeftOut, Unblocked
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.judge.clause import RETRIED, STEERED, TRIED_AGAIN
from schedproof.judge.judge import shows_nothing_further
from schedproof.judge.shown import Shown
from schedproof.judge.verdict import Verdict
from schedproof.stimulus.case import Case
from schedproof.stimulus.outside import binds_pods, unbound
from schedproof.stimulus.trial import Trial
from schedproof.stimulus.variation import KINDS


def explain(case: Case, verdict: Verdict, progress: Progress) -> bool:
    """Find out why pods of a case stayed unbound, and return whether the record says more than the verdict's.

    If so, the case is closed.
    """
    if verdict.outcome not in ("failed", "invalid") or CATALOGUE[case.clause].last:
        return False
    return leave_out(case, progress) or unblock(case, progress)


def leave_out(case: Case, progress: Progress) -> bool:
    """Find out whether pods of a case stayed unbound because of how they were varied, and return whether so.

    This is recorded, and pods created later are without these kinds of variation. The case is closed.
    """
    trial = case.trial
    kinds = trial.to_look_into(case.pods.unbound_variations)
    if not kinds:
        return False
    case.close()
    found = unbound(trial, kinds) if binds_pods(trial, case.clause) else []
    if found:
        trial.recorder.add(LeftOut(case=case.clause, kinds={kind: KINDS[kind] for kind in found}))
        progress.note(
            f"{trial.candidate.name} binds plain pods, but not all pods with {', '.join(found)} "
            f"({case.clause}): later clauses create pods without them"
        )
    return bool(found)


def unblock(case: Case, progress: Progress) -> bool:
    """Find out whether nothing is bound because of the pods that wait for the whole run, and return whether so.

    This is recorded, and no pod waits so from then on. The clause about such pods is still tried. The case is closed.
    """
    trial = case.trial
    if case.clause != BINDS or not trial.shown.binds_nothing or trial.attachment.ended:
        return False
    if trial.look_into_record(late=True):
        return False
    case.close()
    if _binds_plain(case):  # it was late
        return False
    trial.end_waiting()
    blocked = binds_pods(trial, case.clause, freed=True)
    if blocked:
        trial.recorder.add(Unblocked(case=case.clause))
        progress.note(f"{trial.candidate.name} binds pods only without pods that fit on no node ({BINDS})")
        try_no_more(trial, case.clause)
    return blocked


def learn(trial: Trial, verdict: Verdict, progress: Progress) -> None:
    """Record which clauses need not be tried, as they would fail by what this clause has shown."""
    clause, shown = verdict.clause, trial.shown
    seen = {symptom.kind for symptom in verdict.evidence.symptoms}
    if clause == BINDS and "process-ended" not in seen and _suspects(verdict, shown):
        try_no_more(trial, clause)
    ignored = (clause in STEERED and "ignores-selectors" in shown.habits) or (
        clause in RETRIED | TRIED_AGAIN and "never-retried" in seen
    )
    is_broken = (ignored and verdict.outcome == "failed") or shows_nothing_further(verdict)
    if is_broken and not trial.keep_going:
        trial.recorder.add(Broken(case=clause, basic=True))
        why = next((symptom.text for symptom in verdict.evidence.symptoms), verdict.summary)
        progress.note(f"{clause}: {why.partition('; ')[0]}; clauses that depend on it are not tried")


def close(case: Case, verdict: Verdict | None) -> None:
    """Close a case, and find out whether its candidate binds anything, if the verdict leaves that open.

    A clause may have failed for a reason of its own: plain pods tell, now that the world is calm.
    """
    trial = case.trial
    in_doubt = verdict is not None and _suspects(verdict, trial.shown)
    case.close()
    if in_doubt and not (trial.keep_going or trial.shown.broken_by or _binds_plain(case)):
        try_no_more(trial, case.clause)


def try_no_more(trial: Trial, clause: str) -> None:
    """Try no further clauses: they would fail by the same cause. What is judged over all of the run is judged."""
    if not trial.shown.broken_by and not trial.keep_going:
        trial.recorder.add(Broken(case=clause))


def _suspects(verdict: Verdict, shown: Shown) -> bool:
    """Whether the candidate may bind nothing, by a verdict."""
    if verdict.outcome not in ("failed", "invalid") or not CATALOGUE[verdict.clause].needs_bindings:
        return False
    return bool(shown.binds_nothing) or any(symptom.kind == "process-ended" for symptom in verdict.evidence.symptoms)


def _binds_plain(case: Case) -> bool:
    """Whether the candidate binds plain pods after the case; found out once."""
    known = case.trial.shown.binds_plain
    return binds_pods(case.trial, case.clause) if known is None else known
