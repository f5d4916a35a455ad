"""What `schedproof run` shows while it runs: a line for each verdict, then the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from schedproof.foundation.errors import HostError
from schedproof.foundation.exit_codes import EXIT_ERROR
from schedproof.report.terminal import SYMBOLS, print_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from schedproof.judge.verdict import Verdict
    from schedproof.report.result import RunResult

__all__ = ["LiveReport"]


class LiveReport:
    """A pytest plugin in the place of pytest's own terminal reporter."""

    def __init__(self, result_of: Callable[[pytest.Config], RunResult | None]) -> None:
        from rich.console import Console

        self._console = Console()
        self._result_of = result_of
        self._result: RunResult | None = None
        self._errors: list[str] = []
        self._candidate = ""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._result = self._result_of(session.config)
        if self._result is not None:
            clauses = sum(len(one.selected) for one in self._result.candidates.values())
            self._console.print(f"{clauses} clauses to judge; seed {self._result.seed}", highlight=False)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        verdicts: list[Any] = [verdict for name, verdict in report.user_properties if name == "schedproof"]
        if report.when == "call":
            for verdict in verdicts:
                self._show(report, verdict)
        if report.failed and not verdicts:
            self._errors.append(f"{report.nodeid} ({report.when}): {report.longreprtext}")

    def _show(self, report: pytest.TestReport, verdict: Verdict) -> None:
        candidate = report.nodeid.rpartition("[")[2].rstrip("]")
        if candidate != self._candidate:
            self._candidate = candidate
            self._console.print(f"[bold]{candidate}[/]", highlight=False)
        word, style = SYMBOLS[verdict.outcome]
        duration = f"[dim]{report.duration:.1f} s[/]"
        self._console.print(f"[{style}]{word:>8}[/]  {verdict.clause}  {duration}", highlight=False)

    def pytest_internalerror(self, excrepr: Any) -> bool:
        self._errors.append(str(excrepr))
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if not isinstance(excinfo.value, KeyboardInterrupt):  # pytest.exit
            self._errors.append(str(excinfo.value))

    def finish(self, code: int) -> int:
        """Print the report; the exit code of the whole run.

        Raises:
            SchedproofError: the run broke down, in a way that no verdict tells.
            KeyboardInterrupt: the user wanted it.
        """
        if self._result is not None and any(one.verdicts or one.error for one in self._result.candidates.values()):
            print_report(self._result, self._console)
        if code == pytest.ExitCode.INTERRUPTED and not self._errors:
            raise KeyboardInterrupt
        if code == pytest.ExitCode.USAGE_ERROR and self._result is None:
            return EXIT_ERROR  # pytest has said why
        if self._result is not None and self._result.error is not None:
            raise self._result.error
        known = self._result is not None and any(one.error for one in self._result.candidates.values())
        if self._errors and not known:
            raise HostError("\n".join(self._errors))
        return self._result.exit_code if self._result is not None else int(code)
