"""Collects the runs on several minor versions of Kubernetes, and shows them side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.foundation.disk import writing_report
from schedproof.foundation.exit_codes import WORST_FIRST
from schedproof.foundation.private import write_private
from schedproof.report import templating
from schedproof.report.minors.differences import Difference, differences, names_of
from schedproof.report.run.conclusion import Conclusion, conclude, word_for
from schedproof.report.run.html import KINDS, REPORT, report_of
from schedproof.report.run.matrix import matrix
from schedproof.report.run.terminal import print_conclusion
from schedproof.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console


class Across:
    """Collects runs as they end.

    `folder`: of the report; each run has a folder of its own in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._codes: dict[str, int] = {}
        self._runs: dict[str, RunResult] = {}

    def add(self, minor: str, code: int, result: RunResult | None) -> None:
        """Add the run on a version: its exit code, and its result if there is one."""
        self._codes[minor] = code
        if result is not None:
            self._runs[minor] = result

    def finish(self, console: Console) -> int:
        """Write the report, print what differs and a conclusion, and return the worst exit code.

        Raises:
            HostError: the folder cannot be written.
        """
        found = differences(self._runs)
        for line in self._lines(found):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        worst = min(self._codes.values(), key=WORST_FIRST.index)
        each = ", ".join(f"{minor} {word_for(code).lower()}" for minor, code in self._codes.items())
        conclusion = Conclusion(word_for(worst), f"Kubernetes {each}")
        with writing_report(self._folder):
            write_private(self._folder / REPORT, self._page(conclusion, found))
        print_conclusion(dataclasses.replace(conclusion, report=report_of(self._folder)), console)
        return worst

    def _lines(self, found: Sequence[Difference]) -> Iterator[str]:
        if len(self._runs) > 1:
            yield f"differs between versions: {len(found) or 'nothing'}"
        for difference in found:
            outcomes = ", ".join(f"{minor} {word}" for minor, word in difference.words.items())
            why = "; ".join(filter(None, (difference.said, difference.summary)))
            yield f"  {difference.candidate} {difference.clause}: {outcomes}{f'; {why}' if why else ''}"

    def _page(self, conclusion: Conclusion, found: Sequence[Difference]) -> str:
        names = names_of(self._runs)
        columns = {
            f"{name} {minor}": run.candidates[name].verdicts
            for name in names
            for minor, run in self._runs.items()
            if name in run.candidates
        }
        return templating.document(
            "minors/report.html",
            title=", ".join(names),
            conclusion=conclusion,
            kind=KINDS[conclusion.word],
            runs={minor: conclude(run) for minor, run in self._runs.items()},
            report=REPORT,
            differences=found,
            matrix=matrix(columns, linked=False),
        )
