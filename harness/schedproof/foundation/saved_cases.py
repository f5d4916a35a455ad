"""Failing cases that outlive a run: tried first in the next run, and replayed by their id."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedproof.foundation.errors import UsageError


@dataclasses.dataclass(frozen=True)
class SavedCase:
    """A case that broke a clause. `scorer`: the path of a candidate.yaml, or the name of a function."""

    scorer: str
    clause: str
    surface: str
    """The surface that was asked; empty for a clause that is not about scores."""
    case: Any
    """The case as JSON: questions about scores, or a world."""
    text: str

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that name the scorer and the case."""
        asked = [self.scorer, self.clause, self.surface, self.case]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SavedCase:
        return cls(**data)


class SavedCases:
    """A folder of saved cases, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, scorer: str, clause: str, surface: str) -> list[SavedCase]:
        """The cases that this scorer failed before, on this surface and for this clause."""
        return [case for case in self._all() if (case.scorer, case.clause, case.surface) == (scorer, clause, surface)]

    def keep(self, failed: SavedCase) -> str:
        """Save a case; returns its id."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{failed.id}"
        unfinished.write_text(json.dumps(failed.as_dict(), indent=1))
        unfinished.replace(self._folder / f"{failed.id}.json")
        return failed.id

    def forget(self, mended: SavedCase) -> None:
        (self._folder / f"{mended.id}.json").unlink(missing_ok=True)

    def get(self, identifier: str) -> SavedCase:
        """Raises UsageError: no case has this id, or several ids begin with it."""
        found = [case for case in self._all() if case.id.startswith(identifier)]
        if len(found) != 1:
            ids = ", ".join(sorted(case.id for case in found or self._all())) or "none"
            raise UsageError(
                f"{identifier}: "
                f"{'no saved case has this id' if not found else 'several ids of saved cases begin with it'}",
                remedy=f"write one of those in {self._folder}: {ids}",
            )
        return found[0]

    def _all(self) -> Iterator[SavedCase]:
        for file in sorted(self._folder.glob("*.json")):
            try:
                yield SavedCase.from_dict(json.loads(file.read_text()))
            except (OSError, ValueError, TypeError, KeyError):
                continue  # of another version, or half gone: it is only a memory
