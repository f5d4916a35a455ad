"""Shows the progress of `schedproof run`: a line for each verdict, then the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.clusters.kinds import KINDS
from schedproof.foundation.console import INTERRUPTED, open_console, tell
from schedproof.foundation.counted import counted
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED
from schedproof.foundation.processes.machine import Idleness
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.verdict import Verdict
from schedproof.report.run.changes import changes, describe_changes
from schedproof.report.run.conclusion import conclude
from schedproof.report.run.files import report_of
from schedproof.report.run.symbols import symbol
from schedproof.report.run.terminal import print_conclusion, print_report
from schedproof.run.document import Report
from schedproof.run.durations import Durations
from schedproof.run.plan import expect, more_jobs
from schedproof.run.result import RunResult


class LiveReport:
    """A pytest plugin that replaces pytest's terminal reporter.

    Args:
        result_of: returns the result of a pytest run.
        verbosity: -1 (quiet), 0 or 1.
        since: the report of an earlier run; differences are printed before the conclusion.
    """

    def __init__(
        self,
        result_of: Callable[[pytest.Config], RunResult | None],
        verbosity: int = 0,
        since: Report | None = None,
    ) -> None:
        self._console = open_console()
        self._result_of = result_of
        self._verbosity = verbosity
        self._since = since
        self.result: RunResult | None = None
        """The result; None until the clauses to try are known."""
        self._errors: list[str] = []
        self._candidate = ""
        self._shown: set[tuple[str, str]] = set()
        self._in_all = 0
        self._idleness, self._begin = Idleness(), time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.result = self._result_of(session.config)
        if self.result is not None and self._verbosity >= 0:
            claimed = _to_judge(self.result)
            self._in_all = len(claimed)
            expected = expect(claimed, Durations(self.result.effort)).text(self.result.jobs)
            text = (
                f"{counted(self._in_all, 'clause')} to judge{_always(self.result)}, {expected}; seed {self.result.seed}"
            )
            self._console.print(text, highlight=False)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        verdicts = [
            Verdict.model_validate_json(str(text)) for name, text in report.user_properties if name == "schedproof"
        ]
        if report.when == "call":
            for verdict in verdicts:
                self._show(report, verdict)
        # A verdict covers the call phase. A failure before or after it is an error of the harness.
        if report.failed and (report.when != "call" or not verdicts):
            self._errors.append(f"{report.nodeid} ({report.when}): {report.longreprtext}")

    def _show(self, report: pytest.TestReport, verdict: Verdict) -> None:
        if self._verbosity < 0:
            return
        candidate = report.nodeid.rpartition("[")[2].rstrip("]")
        if candidate != self._candidate:
            self._candidate = candidate
            self._console.print(f"[bold]{candidate}[/]", highlight=False)
        word, style = symbol(verdict)
        instance = f", instance {verdict.instance}" if verdict.instance else ""
        self._shown.add((candidate, verdict.clause))
        duration = f"[dim]{report.duration:.1f} s{instance}; {len(self._shown)} of {self._in_all}[/]"
        self._console.print(f"[{style}]{word:>8}[/]  {verdict.clause}  {duration}", highlight=False)
        if self._verbosity > 0:
            self._console.print(f"{'':10}{verdict.summary}", markup=False, highlight=False, soft_wrap=True)

    def pytest_internalerror(self, excrepr: Any) -> bool:
        self._errors.append(str(excrepr))
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if type(excinfo.value) is not KeyboardInterrupt:  # pytest.exit, or that of xdist
            self._errors.append(str(excinfo.value))

    def finish(self, code: int) -> int:
        """Print the report and the conclusion, and return the exit code of the run."""
        if code == pytest.ExitCode.USAGE_ERROR and self.result is None:
            return EXIT_ERROR  # pytest has printed the error
        result = self.result
        interrupted = code == pytest.ExitCode.INTERRUPTED and not self._errors
        error = None if interrupted else self._error()
        if result is not None and not result.is_empty:
            print_report(result, self._console, verbosity=self._verbosity)
            for text in self._remarks(result):
                self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        if interrupted:
            tell(INTERRUPTED)
        elif error is not None:
            tell(str(error))
        if result is not None:
            result.error = result.error or error
            # A refused run has no report; the folder may hold the report of another run.
            report = None if result.is_empty else report_of(result.folder)
            print_conclusion(conclude(result, report=report, interrupted=interrupted), self._console)
        if interrupted:
            return EXIT_INTERRUPTED
        if error is not None:
            return EXIT_ERROR
        return result.exit_code if result is not None else int(code)

    def _remarks(self, result: RunResult) -> Iterator[str]:
        """Yield the differences from an earlier run, and advice if more clusters would have helped."""
        for change in changes(self._since, result.document()) if self._since is not None else ():
            yield from describe_changes(change)
        longest = max((seconds for name, seconds in result.timings.items() if "/" in name), default=0.0)
        text = more_jobs(result.jobs, time.monotonic() - self._begin, self._idleness.share(), longest)
        if text and KINDS[result.cluster].light:
            yield text

    def _error(self) -> SchedproofError | None:
        """Return the error that ended the run, unless it belongs to a verdict or a candidate."""
        if self.result is not None and self.result.error is not None:
            return self.result.error
        known = self.result is not None and any(tested.error for tested in self.result.candidates.values())
        return HostError("\n".join(self._errors)) if self._errors and not known else None


def _to_judge(result: RunResult) -> list[tuple[Candidate, str]]:
    """Return pairs of a candidate and a selected clause that it claims."""
    trials = [(tested.candidate, clause) for tested in result.candidates.values() for clause in tested.selected]
    return [trial for trial in trials if not why_unclaimed(CATALOGUE[trial[1]], trial[0].claims)]


def _always(result: RunResult) -> str:
    """Say how many clauses are judged in every run; "" if the run judges all claimed clauses anyway."""
    if not any(tested.not_asked_for for tested in result.candidates.values()):
        return ""
    always = sum(CATALOGUE[clause].always for _, clause in _to_judge(result))
    return f" ({always} of them in every run)" if always else ""
