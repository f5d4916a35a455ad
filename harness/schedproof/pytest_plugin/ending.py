"""The end of a run in pytest: everything ends, and the outputs get the result."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from schedproof.foundation.console import open_console
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import remove_empty
from schedproof.pytest_plugin.state import verbosity_of
from schedproof.pytest_plugin.trying import JUDGED
from schedproof.report.run.conclusion import conclude
from schedproof.report.run.html import REPORT
from schedproof.report.run.terminal import print_conclusion, print_report
from schedproof.run.engine import Engine


class Ending:
    """The plugin that ends a run which pytest's own terminal reports."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._errors: list[str] = []
        self._interrupted = False

    def pytest_report_header(self) -> str:
        settings = self._engine.settings
        return f"schedproof: cluster {settings.cluster}, seed {settings.seed}, evidence in {settings.report}"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit code: 0 means that all claimed clauses were tried and passed, not only that no test failed."""
        result = self._engine.result
        if result.candidates and exitstatus == pytest.ExitCode.OK and not session.config.option.collectonly:
            session.exitstatus = result.exit_code

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the result, and the path of the report, which is written when the run has ended."""
        result = self._engine.result
        if result.candidates and not config.option.collectonly:
            terminalreporter.section("schedproof")
            console = open_console()
            print_report(result, console, evidence=False, verbosity=verbosity_of(config))
            print_conclusion(conclude(result, report=None if result.is_empty else result.folder / REPORT), console)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Finish the run, also after Ctrl-C and internal errors."""
        result = self._engine.result
        if self._errors and not any(tested.error for tested in result.candidates.values()):
            result.fail(HostError("\n".join(self._errors)))
        try:
            self._engine.finish(interrupted=self._interrupted and not self._errors)
        finally:
            remove_empty(self._engine.settings.report)
            # pytest-benchmark makes this folder, also if there is nothing to store.
            storage = getattr(getattr(config, "_benchmarksession", None), "storage", None)
            if isinstance(folder := getattr(storage, "path", None), Path):
                with contextlib.suppress(OSError):
                    folder.rmdir()


class UnreportedEnding(Ending):
    """The plugin that ends a run without pytest's terminal: an error that belongs to no verdict is that of the run."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and (report.when != "call" or JUDGED not in dict(report.user_properties)):
            self._errors.append(f"{report.nodeid} ({report.when}): {report.longreprtext}")

    def pytest_internalerror(self, excrepr: Any) -> bool:
        self._errors.append(str(excrepr))
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted = type(excinfo.value) is KeyboardInterrupt
        if not self._interrupted:  # pytest.exit, or that of xdist
            self._errors.append(str(excinfo.value))
