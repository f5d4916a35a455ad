"""The end of a run in pytest: everything ends, and the outputs get the result."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from schedproof.foundation.console import open_console
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import remove_empty
from schedproof.pytest_plugin.state import JUDGED
from schedproof.report.run.conclusion import conclude
from schedproof.report.run.html import REPORT
from schedproof.report.run.terminal import print_conclusion, print_report
from schedproof.run.engine import Engine
from schedproof.run.result import RunResult


class Ending:
    """The plugin that finishes a run, also after Ctrl-C and internal errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        try:
            self.finish()
        finally:
            remove_empty(self._engine.settings.report)
            # pytest-benchmark makes this folder, also if there is nothing to store.
            storage = getattr(getattr(config, "_benchmarksession", None), "storage", None)
            if isinstance(folder := getattr(storage, "path", None), Path):
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def finish(self) -> None:
        self._engine.finish()


class UnreportedEnding(Ending):
    """The plugin for a run that pytest's own terminal does not report: errors outside of verdicts end it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._errors: list[str] = []
        self._interrupted = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._errors.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and (report.when != "call" or all(name != JUDGED for name, _ in report.user_properties)):
            self._errors.append(f"{report.nodeid} ({report.when}): {report.longreprtext}")

    def pytest_internalerror(self, excrepr: Any) -> bool:
        self._errors.append(str(excrepr))
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if type(excinfo.value) is KeyboardInterrupt:
            self._interrupted = True
        else:  # pytest.exit, or that of xdist
            self._errors.append(str(excinfo.value))

    def finish(self) -> None:
        result = self._engine.result
        known = any(tested.error for tested in result.candidates.values())
        if self._errors and not known:
            result.error = result.error or HostError("\n".join(self._errors))
        self._engine.finish(interrupted=self._interrupted and not self._errors)


def summarize(result: RunResult, *, verbosity: int) -> None:
    """Print the result, and the path of the report, which is written when the run has ended."""
    console = open_console()
    print_report(result, console, evidence=False, verbosity=verbosity)
    print_conclusion(conclude(result, report=None if result.is_empty else result.folder / REPORT), console)
