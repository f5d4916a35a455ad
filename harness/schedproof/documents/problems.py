"""Problems of a descriptor, each with its place and a fix, and the error that reports all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from schedproof.foundation.errors import UsageError

CODES: Mapping[str, str] = {
    "claim-without-clause": "no clause of a claimed profile judges this claim",
    "contradiction": "fields exclude each other, or do not apply to this kind of candidate",
    "duplicate": "a name, an item or a field is given twice",
    "empty-field": "a field has no value",
    "empty-file": "the file has no document",
    "endless": "a file extends itself, or aliases expand to too many values",
    "invalid-manifest": "an object, or a reference to one, is not a manifest that can be used here",
    "malformed": "a text does not have the expected form, or has an unknown placeholder",
    "missing-field": "a required field is missing",
    "missing-placeholder": "a command or configuration lacks a placeholder for a value that the harness chooses",
    "missing-version": "a Go package is named without a version",
    "no-such-file": "the file or folder does not exist",
    "no-such-module": "a Python module cannot be found",
    "no-such-program": "a program cannot be found, or cannot be started on this machine",
    "not-a-duration": "a text is not a duration, such as 1m30s",
    "not-supported": "valid in YAML, in Kubernetes or in scheduler_perf, and not supported here",
    "not-usable": "the candidate cannot be used as described",
    "not-yaml": "the text is not valid YAML",
    "out-of-range": "a number or a duration is too small or too large",
    "unknown-candidate": "there is no such file or folder, and no shipped candidate of that name",
    "unknown-clause": "no clause has this id",
    "unknown-feature": "a claimed feature does not exist",
    "unknown-field": "a field of this name does not exist",
    "unknown-parameter": "a workload's parameter is not defined",
    "unknown-value": "a value is not one of the allowed values",
    "unreadable-file": "a file cannot be read as UTF-8 text, or is too large",
    "wrong-number": "there are more, or fewer, items than allowed",
    "wrong-type": "a value does not have the expected type",
}
"""The kinds of problems: stable codes, and their meanings."""


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """A position in a file. Line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem: where (`path` is like `spec.extender.command[0]`), what is wrong, and how to fix it.

    `code` is one of `CODES`; the wording of `message` and `fix` may change at any time.
    """

    place: Place
    path: str
    code: str
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.place}: {self.path}" if self.path else str(self.place)
        return f"{where}: {self.message}\n  fix: {self.fix}"

    def as_dict(self) -> dict[str, str | int]:
        """Return the problem as in the output of `schedproof check --json`. `line` is 0 for the file as a whole."""
        words = {"path": self.path, "code": self.code, "message": self.message, "fix": self.fix}
        return {**dataclasses.asdict(self.place), **words}


class DescriptorError(UsageError):
    """All problems of a candidate.yaml, in the order of its lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place))
        text = "\n".join(str(problem) for problem in self.problems)
        if len(self.problems) > 1:
            text = f"{len(self.problems)} problems in {self.problems[0].place.file}\n{text}"
        super().__init__(text)
