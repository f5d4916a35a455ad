"""Which fields of pods and nodes the oracle reads, and which of the values of `values.FIELDS` runs have given them."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pages import write_table

from schedproof.history.acts import PodCreated
from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.history.saved import FILE, load_records
from schedproof.oracle.feasibility import check

from .referee import inventory_of, storage_of
from .values import FIELDS, REASONS, Relations, values_in
from .worlds import Worlds

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "varied.md"
WORLDS = 500
_NAMED = 4
"""Clauses that a row names; of more it says how many."""

_MAPS = frozenset({
    "labels", "annotations", "requests", "limits", "nodeSelector", "matchLabels", "allocatable", "capacity", "overhead",
    "allocatedResources",
})  # fmt: skip
"""Fields whose keys are the user's."""
_IDENTITY = frozenset({"Pod.metadata.name", "Pod.metadata.uid", "Pod.spec.volumes[].name", "Node.metadata.name"})


def _below(path: str, key: str) -> str:
    return f"{path}.*" if path.rpartition(".")[2] in _MAPS else f"{path}.{key}"


class _Read(dict[str, Any]):
    """A part of a manifest that records which of its fields were read."""

    def __init__(self, fields: dict[str, Any], path: str, read: set[str]) -> None:
        super().__init__({key: _reading(value, _below(path, key), read) for key, value in fields.items()})
        self._path, self._read = path, read

    def __getitem__(self, key: str) -> Any:
        self._read.add(_below(self._path, key))
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(_below(self._path, key))
        return super().get(key, default)

    def items(self) -> Any:
        self._read.update(_below(self._path, key) for key in self)
        return super().items()


def _reading(value: Any, path: str, read: set[str]) -> Any:
    if isinstance(value, dict):
        return _Read(value, path, read)
    return [_reading(item, f"{path}[]", read) for item in value] if isinstance(value, list) else value


def read_by_the_oracle(worlds: int, seed: int = 1) -> list[str]:
    """Paths of the fields that decide about pods in generated worlds, such as `Pod.spec.tolerations[].key`."""
    read: set[str] = set()
    drawn = Worlds(seed)
    for _ in range(worlds):
        world = drawn.draw()
        check(
            _reading(world["pod"], "Pod", read),
            [_reading(node, "Node", read) for node in world["nodes"]],
            [_reading(pod, "Pod", read) for pod in world["pods"]],
            namespaces=world["namespaces"], storage=storage_of(world), inventory=inventory_of(world),
        )  # fmt: skip
    # What only leads to other fields is not a field of its own.
    return sorted(
        path for path in read - _IDENTITY if not any(other.startswith((f"{path}.", f"{path}[")) for other in read)
    )


def occurrences(history: History) -> dict[tuple[str, str], set[str]]:
    """Return the fields and values of `FIELDS` that are recorded, with the clauses of their pods or, of other objects,
    the clauses that were running; "" is the time between clauses.
    """
    cases = {record.uid: record.case for record in history.of(PodCreated)}
    spans = [(case, *history.span(case)) for case in history.cases]
    found: dict[tuple[str, str], set[str]] = {}
    relations = Relations()
    for event in history.of(WatchEvent):
        if event.resource not in ("pods", "nodes"):
            continue
        kind, uid = "Pod" if event.resource == "pods" else "Node", str(event.object["metadata"].get("uid"))
        now = next((case for case, begin, end in spans if begin <= event.at <= end), "")
        case = cases.get(uid, now)
        related = relations.seen(event.object, kind, gone=event.type == "DELETED")
        for occurrence in itertools.chain(values_in(event.object, kind), related):
            found.setdefault(occurrence, set()).add(case)
    return found


def table(histories: Iterable[History]) -> str:
    """Return a Markdown table: each value of each field, and the clauses of these runs that have it, or why none do."""
    found: dict[tuple[str, str], set[str]] = {}
    for history in histories:
        for occurrence, cases in occurrences(history).items():
            found.setdefault(occurrence, set()).update(cases)
    lines = ["| field | value | clauses |", "|---|---|---|"]
    for field, values in FIELDS.items():
        for value in values:
            where = _where(found.get((field, value), set())) or REASONS.get((field, value), "")
            lines.append(f"| {f'`{field}`' if value == values[0] else ''} | {value} | {where} |")
    return "\n".join(lines) + "\n"


def _where(cases: set[str]) -> str:
    named = sorted(f"`{case}`" if case else "the whole run" for case in cases)
    return ", ".join(named) if len(named) <= _NAMED else f"{len(named)} clauses"


def rows(page: str) -> dict[tuple[str, str], str]:
    """Read the table of a page: for each field and value, its clauses or why it has none; "" if neither is there."""
    found: dict[tuple[str, str], str] = {}
    field = ""
    for name, value, where in re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$", page, re.MULTILINE)[1:]:
        field = name.strip("`") or field
        found[field, value] = where
    return found


def main(reports: list[str]) -> None:
    """Write the table of docs/varied.md from the evidence of runs (folders of `--report`)."""
    folders = [file.parent for report in reports for file in sorted(Path(report).rglob(FILE))]
    write_table(PAGE, "make varied", table(History(load_records(folder)) for folder in folders))


if __name__ == "__main__":
    main(sys.argv[1:])
