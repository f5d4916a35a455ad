"""What is wrong with a descriptor: each problem with its place and a fix, all in one error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from schedproof.foundation.errors import UsageError

CODES: Mapping[str, str] = {
    "claim-without-clause": "a claim is given that no clause of a claimed profile judges",
    "contradiction": "fields do not go together, or do not go with the kind of candidate",
    "duplicate": "a name, an item or a field is given twice",
    "empty-field": "a field has no value",
    "empty-file": "the file has no document",
    "endless": "a file extends itself, or aliases expand without end",
    "invalid-manifest": "an object, or a reference to one, is not a manifest that can be used here",
    "malformed": "a text does not have the form that is expected, or has an unknown placeholder",
    "missing-field": "a required field is missing",
    "missing-placeholder": "a command or configuration lacks a placeholder for a value that the harness chooses",
    "missing-version": "a Go package is named without a version",
    "no-such-file": "the file or folder does not exist",
    "no-such-module": "a Python module cannot be found",
    "no-such-program": "a program cannot be found, or is not one that this machine can start",
    "not-a-duration": "a text is not a duration, such as 1m30s",
    "not-supported": "valid in YAML, in Kubernetes or in scheduler_perf, and not supported here",
    "not-usable": "the candidate cannot be used as it is described",
    "not-yaml": "the text is not valid YAML",
    "out-of-range": "a number or a duration is too small or too large",
    "unknown-candidate": "there is no such file or folder, and no candidate of that name is shipped",
    "unknown-clause": "no clause has this id",
    "unknown-feature": "a claimed feature does not exist",
    "unknown-field": "a field of this name does not exist",
    "unknown-parameter": "a workload's parameter is not defined",
    "unknown-value": "a value is none of those that are allowed",
    "unreadable-file": "a file exists and cannot be read as text in UTF-8, or is too large",
    "wrong-number": "there are more, or fewer, items than allowed",
    "wrong-type": "a value is of another type than expected",
}
"""What a problem is, in words that do not change."""


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """A spot in a file. Line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where (`path` is like `spec.extender.command[0]`), what, and what to do.

    `code` is one of `CODES`; the message may be worded anew at any time.
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
        """What `schedproof check --json` prints. `line` is 0 where the problem is with the file as a whole."""
        words = {"path": self.path, "code": self.code, "message": self.message, "fix": self.fix}
        return {**dataclasses.asdict(self.place), **words}


class DescriptorError(UsageError):
    """Everything that is wrong with a candidate.yaml, in the order of its lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place))
        text = "\n".join(str(problem) for problem in self.problems)
        if len(self.problems) > 1:
            text = f"{len(self.problems)} problems in {self.problems[0].place.file}\n{text}"
        super().__init__(text)
