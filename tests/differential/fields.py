"""Which fields of pods and nodes the oracle reads, and which values a run has given them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pages import write_table

from schedproof.history.acts import PodCreated
from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.history.saved import FILE, load_records
from schedproof.oracle.feasibility import check

from .referee import inventory_of, storage_of
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
_IDENTITY = frozenset({"Pod.metadata.name", "Pod.metadata.uid", "Node.metadata.name"})


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


def values_of(history: History) -> dict[str, dict[str, set[str]]]:
    """Return, for each field of pods and nodes, its recorded values, by the clause of the pod or the clause that was
    running.
    """
    cases = {record.uid: record.case for record in history.of(PodCreated)}
    spans = [(case, *history.span(case)) for case in history.cases]
    found: dict[str, dict[str, set[str]]] = {}
    for event in history.of(WatchEvent):
        if event.resource not in ("pods", "nodes"):
            continue
        uid = str(event.object["metadata"].get("uid"))
        now = next((case for case, begin, end in spans if begin <= event.at <= end), "")
        case = cases.get(uid, now)
        for path, value in _leaves(event.object, "Pod" if event.resource == "pods" else "Node"):
            found.setdefault(path, {}).setdefault(case, set()).add(value)
    return found


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, _below(path, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path.removesuffix("[]"), str(value)


def table(read: Iterable[str], histories: Iterable[History]) -> str:
    """Return a Markdown table: each field that is read, how many values it has in these runs, and in which clauses."""
    found: dict[str, dict[str, set[str]]] = {}
    for history in histories:
        for path, by_clause in values_of(history).items():
            for clause, values in by_clause.items():
                found.setdefault(path, {}).setdefault(clause, set()).update(values)
    lines = ["| field | values | clauses |", "|---|---|---|"]
    for path in read:
        by_clause = {clause: values for clause, values in found.get(path, {}).items() if clause}
        count = len(set().union(*by_clause.values()))
        clauses = ", ".join(f"`{clause}`" for clause in sorted(by_clause))
        lines.append(f"| `{path}` | {count} | {clauses if len(by_clause) <= _NAMED else len(by_clause)} |")
    return "\n".join(lines) + "\n"


def main(reports: list[str]) -> None:
    """Write the table of docs/varied.md from the evidence of runs (folders of `--report`)."""
    folders = [file.parent for report in reports for file in sorted(Path(report).rglob(FILE))]
    rows = table(read_by_the_oracle(WORLDS), (History(load_records(folder)) for folder in folders))
    write_table(PAGE, "make varied", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
