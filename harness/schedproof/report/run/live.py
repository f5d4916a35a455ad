"""Shows a run on a terminal: a line for each verdict, then the report."""

from __future__ import annotations

import time
from collections.abc import Iterator

from schedproof.clusters.kinds import KINDS
from schedproof.foundation.console import INTERRUPTED, open_console, tell
from schedproof.foundation.counted import counted
from schedproof.foundation.processes.machine import Idleness
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed
from schedproof.report.run.changes import changes, describe_changes
from schedproof.report.run.conclusion import conclude, symbol
from schedproof.report.run.html import report_of
from schedproof.report.run.terminal import print_conclusion, print_report
from schedproof.run.document import Report
from schedproof.run.durations import Durations
from schedproof.run.events import Event, Finished, Judged, Planned
from schedproof.run.plan import expect, more_jobs
from schedproof.run.result import RunResult


class LiveReport:
    """The terminal's output of `schedproof run`.

    Args:
        verbosity: -1 (quiet), 0 or 1.
        since: the report of an earlier run; differences are printed before the conclusion.
    """

    def __init__(self, verbosity: int = 0, since: Report | None = None) -> None:
        self._console = open_console()
        self._verbosity = verbosity
        self._since = since
        self._candidate = ""
        self._shown: set[tuple[str, str]] = set()
        self._in_all = 0
        self._idleness, self._begin = Idleness(), time.monotonic()

    def __call__(self, event: Event) -> None:
        match event:
            case Planned() if self._verbosity >= 0:
                self._show_plan(event.result)
            case Judged(seconds=float()) if self._verbosity >= 0:
                self._show(event)
            case Finished():
                self._show_end(event)

    def _show_plan(self, result: RunResult) -> None:
        candidates = result.candidates.values()
        selected = [(tested.candidate, clause) for tested in candidates for clause in tested.selected]
        claimed = [trial for trial in selected if not why_unclaimed(CATALOGUE[trial[1]], trial[0].claims)]
        self._in_all = len(claimed)
        always = sum(CATALOGUE[clause].always for _, clause in claimed)
        of_them = f" ({always} of them in every run)" if always and any(t.not_asked_for for t in candidates) else ""
        expected = expect(claimed, Durations(result.effort)).text(result.jobs)
        text = f"{counted(self._in_all, 'clause')} to judge{of_them}, {expected}; seed {result.seed}"
        self._console.print(text, highlight=False)

    def _show(self, event: Judged) -> None:
        verdict = event.verdict
        if event.candidate != self._candidate:
            self._candidate = event.candidate
            self._console.print(f"[bold]{event.candidate}[/]", highlight=False)
        word, style = symbol(verdict)
        instance = f", instance {verdict.instance}" if verdict.instance else ""
        self._shown.add((event.candidate, verdict.clause))
        duration = f"[dim]{event.seconds:.1f} s{instance}; {len(self._shown)} of {self._in_all}[/]"
        self._console.print(f"[{style}]{word:>8}[/]  {verdict.clause}  {duration}", highlight=False)
        if self._verbosity > 0:
            self._console.print(f"{'':10}{verdict.summary}", markup=False, highlight=False, soft_wrap=True)

    def _show_end(self, event: Finished) -> None:
        """Print the report and the conclusion."""
        result = event.result
        if not result.is_empty:
            print_report(result, self._console, verbosity=self._verbosity)
            for text in self._remarks(result):
                self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        if event.interrupted:
            tell(INTERRUPTED)
        elif result.error is not None:
            tell(str(result.error))
        if result.candidates:  # otherwise the run ended before it was known what to try
            # A refused run has no report; the folder may hold the report of another run.
            report = None if result.is_empty else report_of(result.folder)
            print_conclusion(conclude(result, report=report, interrupted=event.interrupted), self._console)

    def _remarks(self, result: RunResult) -> Iterator[str]:
        """Yield the differences from an earlier run, and advice if more clusters would have helped."""
        for change in changes(self._since, result.document()) if self._since is not None else ():
            yield from describe_changes(change)
        longest = max((seconds for name, seconds in result.timings.items() if "/" in name), default=0.0)
        text = more_jobs(result.jobs, time.monotonic() - self._begin, self._idleness.share(), longest)
        if text and KINDS[result.cluster].light:
            yield text
