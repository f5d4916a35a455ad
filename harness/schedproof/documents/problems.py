"""What is wrong with a descriptor: each problem with its place and a fix, all in one error."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from schedproof.foundation.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DescriptorError", "Place", "Problem"]


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
    """One thing that is wrong: where (`path` is like `spec.extender.command[0]`), what, and what to do."""

    place: Place
    path: str
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.place}: {self.path}" if self.path else str(self.place)
        return f"{where}: {self.message}\n  fix: {self.fix}"


class DescriptorError(UsageError):
    """Everything that is wrong with a candidate.yaml, in the order of its lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place))
        text = "\n".join(str(problem) for problem in self.problems)
        if len(self.problems) > 1:
            text = f"{len(self.problems)} problems in {self.problems[0].place.file}\n{text}"
        super().__init__(text)
