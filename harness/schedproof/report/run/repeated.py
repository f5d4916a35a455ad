"""Sums up repeated runs: clauses that did not pass in every run."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING

from schedproof.foundation.exit_codes import WORST_FIRST
from schedproof.report.run.conclusion import Conclusion, word_for
from schedproof.report.run.html import report_of
from schedproof.report.run.terminal import print_conclusion
from schedproof.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console


class Repeated:
    """Collects runs as they end; `times`: how many are planned."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._runs: list[tuple[int, RunResult | None]] = []

    @property
    def heading(self) -> str:
        """The heading of the next run."""
        return f"run {len(self._runs) + 1} of {self._times}"

    def add(self, code: int, result: RunResult | None) -> None:
        self._runs.append((code, result))

    def finish(self, console: Console) -> int:
        """Print the failures and a conclusion, and return the worst exit code."""
        for line in self._flaws():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        code = min((code for code, _ in self._runs), key=WORST_FIRST.index)
        print_conclusion(self._conclusion(code), console)
        return code

    def _flaws(self) -> Iterator[str]:
        """Yield a line for each clause that did not pass in every run, with the seeds of those runs."""
        seeds: dict[tuple[str, str, str], list[int]] = collections.defaultdict(list)
        for _, result in self._runs:
            for name, tested in result.candidates.items() if result is not None else ():
                for verdict in tested.verdicts:
                    if result is not None and verdict.did_not_pass:
                        word = "stale exclusion" if verdict.stale else str(verdict.outcome)
                        seeds[name, verdict.clause, word].append(result.seed)
        for (name, clause, word), found in seeds.items():
            times = f"{len(found)} of {len(self._runs)} runs"
            yield f"{name} {clause}: {word} in {times}, with --seed {', '.join(map(str, found))}"

    def _conclusion(self, code: int) -> Conclusion:
        words = collections.Counter(word_for(exit_code) for exit_code, _ in self._runs)
        word = word_for(code)
        runs = f"{words[word]} of {self._times} runs"
        others = ", ".join(f"{number} {other}" for other, number in words.items() if other != word)
        decisive = (run for exit_code, run in self._runs if exit_code == code and run is not None)
        report = next((report_of(run.folder) for run in decisive), None)
        return Conclusion(word, f"{runs} ({others})" if others else runs, report)
