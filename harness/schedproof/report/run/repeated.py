"""Several runs of the same: which clauses hold every time."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING

from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.report.run.conclusion import Conclusion, word_for
from schedproof.report.run.files import report_of
from schedproof.report.run.terminal import print_conclusion
from schedproof.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console

_WORST_FIRST = (EXIT_INTERRUPTED, EXIT_ERROR, EXIT_FAILED, EXIT_UNPROVED, EXIT_PASSED)


class Repeated:
    """Collects the runs as they end; `times` is how many are meant."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._runs: list[tuple[int, RunResult | None]] = []

    @property
    def heading(self) -> str:
        """Of the run that comes next."""
        return f"run {len(self._runs) + 1} of {self._times}"

    def add(self, code: int, result: RunResult | None) -> None:
        self._runs.append((code, result))

    def finish(self, console: Console) -> int:
        """Print what they come to, on the last line in short; the worst exit code."""
        for line in self._flaws():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        code = min((code for code, _ in self._runs), key=_WORST_FIRST.index)
        print_conclusion(self._conclusion(code), console)
        return code

    def _flaws(self) -> Iterator[str]:
        """A line for each clause that did not pass every time, with the seeds that it takes."""
        seeds: dict[tuple[str, str, str], list[int]] = collections.defaultdict(list)
        for _, result in self._runs:
            for name, one in result.candidates.items() if result is not None else ():
                for verdict in one.verdicts:
                    if result is not None and verdict.did_not_pass:
                        word = "stale exclusion" if verdict.stale else str(verdict.outcome)
                        seeds[name, verdict.clause, word].append(result.seed)
        for (name, clause, word), found in seeds.items():
            times = f"{len(found)} of {len(self._runs)} runs"
            yield f"{name} {clause}: {word} in {times}, with --seed {', '.join(map(str, found))}"

    def _conclusion(self, code: int) -> Conclusion:
        words = collections.Counter(word_for(each) for each, _ in self._runs)
        word = word_for(code)
        runs = f"{words[word]} of {self._times} runs"
        others = ", ".join(f"{number} {other}" for other, number in words.items() if other != word)
        report = next((report_of(run.folder) for each, run in self._runs if each == code and run is not None), None)
        return Conclusion(word, f"{runs} ({others})" if others else runs, report)
