"""The way of a run: a cluster starts, candidates are attached in turn, clauses are tried and judged.

A front end, such as pytest, has the stimuli. It calls `plan` once, `try_clause` for each clause, and `finish`. What
happens goes to the outputs, as events.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import time
from collections.abc import Generator, Iterable, Iterator, Sequence

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.errors import SchedproofError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import applies, dependent, judge
from schedproof.judge.own import is_own
from schedproof.judge.verdict import Verdict
from schedproof.run import follow_up
from schedproof.run.durations import Durations
from schedproof.run.events import Ended, Event, Finished, Handler, Judged, Planned
from schedproof.run.result import CandidateResult
from schedproof.run.session import Session
from schedproof.stimulus.case import Case
from schedproof.stimulus.context import CaseOver
from schedproof.stimulus.last_round import last_round
from schedproof.stimulus.trial import Trial, describe_cluster


@dataclasses.dataclass(frozen=True)
class Begun:
    """A case that waits for its stimulus.

    `hopeless`: it has no running candidate that may bind its pods, and is judged without a stimulus.
    """

    case: Case
    hopeless: bool


class Engine:
    """Tries clauses on the candidates of a session, and reports what happens to the outputs."""

    def __init__(self, session: Session, outputs: Sequence[Handler]) -> None:
        self.session, self.settings, self.result = session, session.settings, session.result
        self._outputs = outputs

    def emit(self, event: Event) -> None:
        """Report an event to each output."""
        for output in self._outputs:
            output(event)

    def plan(self, selected: Iterable[CandidateResult]) -> None:
        """Set which clauses are going to be tried on each candidate."""
        self.result.candidates.update((planned.candidate.name, planned) for planned in selected)
        self.emit(Planned(self.result))

    def try_clause(self, candidate: Candidate, clause: str) -> Generator[Begun | Verdict, None, None]:
        """Try a clause on a candidate, and judge it.

        Yields the case for its stimulus, whose exception, if any, is thrown in here; then the verdict. The front end
        closes the generator once nothing of the stimulus needs the case any more. A clause that needs no trial has its
        verdict at once, and none if another clause failed before (`--fail-fast`).

        Raises:
            SchedproofError: the candidate did not start, or, with `result.error`, the run cannot continue.
        """
        if self._leaves_out(candidate, clause):
            return
        cluster = self.session.cluster  # started by the first clause
        verdict = applies(
            CATALOGUE[clause], candidate.claims, describe_cluster(cluster, candidate, self.settings.deployed)
        )
        if verdict is None:
            trial = self.session.trial(candidate)  # attached by its first clause
            verdict = _dependent(trial, clause)
        if verdict is not None:
            self.result.candidates[candidate.name].verdicts.append(verdict)
            self.emit(Judged(candidate=candidate.name, verdict=verdict))
            yield verdict
            return
        began = time.monotonic()
        begun = _begin(trial, clause)
        try:
            with _on_record(begun.case):
                yield begun
            verdict = self._judge(begun.case, began)
            self.emit(Judged(candidate=candidate.name, verdict=verdict, seconds=time.monotonic() - began))
            yield verdict
        finally:
            self._clean_up(begun.case, verdict)

    def finish(self, *, interrupted: bool = False) -> None:
        """End everything, and report the result."""
        try:
            self.session.close()
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            if not self.result.is_empty:
                Durations(self.settings.effort).keep(self.result.durations)
            self.emit(Finished(self.result, interrupted))

    def _leaves_out(self, candidate: Candidate, clause: str) -> bool:
        """Whether a clause is left untried because another one failed: `--fail-fast`.

        What is judged over all of a run is judged, of a candidate that is there.
        """
        verdicts = (verdict for result in self.result.candidates.values() for verdict in result.verdicts)
        stopped = self.settings.fail_fast and any(verdict.did_not_pass for verdict in verdicts)
        return stopped and not (CATALOGUE[clause].last and self.session.is_attached(candidate))

    def _judge(self, case: Case, began: float) -> Verdict:
        """End a case, judge its record, and find out what follows."""
        trial, clause, progress = case.trial, CATALOGUE[case.clause], self.session.progress
        verdicts = self.result.candidates[trial.candidate.name].verdicts
        with self.result.failing():
            if clause.last and not trial.is_over and not trial.shown.broken_by:
                last_round(case)
            case.end()
            self.result.timings[f"{trial.candidate.name} {clause.id}"] = time.monotonic() - began
            if clause.last:
                trial.over()
            verdicts.append(self._judged(case))
            if follow_up.explain(case, verdicts[-1], progress):
                verdicts[-1] = self._judged(case)
            follow_up.learn(trial, verdicts[-1], progress)
        return verdicts[-1]

    def _judged(self, case: Case) -> Verdict:
        return judge(case.trial.history(), case.clause).model_copy(update={"instance": self.session.instance})

    def _clean_up(self, case: Case, verdict: Verdict | None) -> None:
        """Restore the cluster's state before the case. Where that fails, nothing more can be tried on this cluster."""
        if self.result.error is None:
            with self.result.failing():
                follow_up.close(case, verdict)
        shown = case.trial.shown
        self.emit(Ended(binds_nothing=bool(shown.broken_by), ignored=case.clause in shown.ignored))


def _dependent(trial: Trial, clause: str) -> Verdict | None:
    """The verdict on a clause that is not tried because of what the candidate has shown; None if it is tried."""
    if CATALOGUE[clause].needs_bindings and trial.attachment.start_error is not None:
        follow_up.try_no_more(trial, "core/alive")
    waits_for = trial.shown.waits_for(CATALOGUE[clause])
    return dependent(CATALOGUE[clause], waits_for) if waits_for else None


def _begin(trial: Trial, clause: str) -> Begun:
    # The record grows with the run, and each full garbage collection would go through it again: the taps, which
    # are on the candidate's path, would not respond for seconds on a busy machine.
    gc.freeze()
    shown = trial.shown
    hopeless = bool(shown.broken_for(CATALOGUE[clause]))
    if not shown.broken_by:  # otherwise the run ends before the candidate had the time to report on another pod
        trial.create_long_waiting()
    case = Case(trial, clause)
    try:
        if not CATALOGUE[clause].at_start:
            trial.attachment.restart_if_ended()
    except SchedproofError as error:
        # Nothing that needs it can be shown any more; that it has ended is judged by itself.
        hopeless = True
        never = trial.attachment.start_error is not None
        what = "does not start (see core/alive)" if never else f"has ended, and does not start again: {error}"
        case.trouble(f"the candidate {what}")
    return Begun(case, hopeless)


@contextlib.contextmanager
def _on_record(case: Case) -> Iterator[None]:
    """A context in which a stimulus may fail: that is on record, and judged. Other errors are those of a suite."""
    try:
        yield
    except CaseOver:
        pass
    except SchedproofError as error:
        case.trouble(str(error))
    except AssertionError as error:
        if not is_own(case.clause):
            raise
        case.asserted(str(error))
