"""What differs between runs of the same candidates on several minor versions of Kubernetes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.feature_gates import load_gates
from schedproof.judge.verdict import Verdict
from schedproof.report.run.matrix import anchor, has_section, kind_of
from schedproof.run.result import RunResult

NEWER = "not-in-this-kubernetes"
"""The code of a verdict on a clause about a feature that the version does not have yet."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A clause whose outcome for a candidate is not the same on all versions.

    Attributes:
        verdicts: by minor version; None where it was not tried.
    """

    candidate: str
    clause: str
    verdicts: Mapping[str, Verdict | None]

    @property
    def did_not_pass(self) -> bool:
        """Whether it did not pass on any of the versions."""
        return any(verdict is not None and verdict.did_not_pass for verdict in self.verdicts.values())

    @property
    def summary(self) -> str:
        """What was found where it did not pass; "" if it passed wherever it was tried."""
        found = (verdict for verdict in self.verdicts.values() if verdict is not None and verdict.did_not_pass)
        return next((verdict.summary for verdict in found), "")

    @property
    def said(self) -> str:
        """That the clause is about something new, and whether the candidate heeds it; "" if it is not."""
        gate = CATALOGUE[self.clause].gate
        new = load_gates()[gate].new if gate else ""
        return f"{new}, unheeded" if new and self.did_not_pass else new

    @property
    def words(self) -> dict[str, str]:
        """The outcome by version, in a word or two."""
        return {minor: _word(verdict) for minor, verdict in self.verdicts.items()}

    def kind(self, minor: str) -> str:
        """The CSS class of its cell."""
        return "" if (verdict := self.verdicts[minor]) is None else kind_of(verdict)

    def link(self, minor: str) -> str:
        """Where the report of the version's run shows the verdict, as a fragment of its address."""
        verdict = self.verdicts[minor]
        if verdict is None or not has_section(verdict):
            return f"/{self.clause}"
        return anchor(self.candidate, verdict)


def _word(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not tried"
    return "not there yet" if verdict.code == NEWER else verdict.outcome


def differences(runs: Mapping[str, RunResult]) -> list[Difference]:
    """Compare runs by minor version; what did not pass comes first."""
    return sorted(_differences(runs), key=lambda difference: not difference.did_not_pass)


def _differences(runs: Mapping[str, RunResult]) -> Iterator[Difference]:
    for name in names_of(runs):
        verdicts = {minor: _by_clause(run, name) for minor, run in runs.items()}
        for clause in CATALOGUE:
            found = {minor: judged.get(clause) for minor, judged in verdicts.items()}
            if len({_word(verdict) for verdict in found.values()}) > 1:
                yield Difference(name, clause, found)


def names_of(runs: Mapping[str, RunResult]) -> list[str]:
    """The candidates of all runs, in order."""
    return list(dict.fromkeys(name for run in runs.values() for name in run.candidates))


def _by_clause(run: RunResult, name: str) -> dict[str, Verdict]:
    tested = run.candidates.get(name)
    return {} if tested is None else {verdict.clause: verdict for verdict in tested.verdicts}
