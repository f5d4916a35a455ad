"""The JSON Schema of a line of history.jsonl, from the table by which saved records are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedproof.documents.schema import DRAFT
from schedproof.history.damage import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedproof.documents.schema import Schema

__all__ = ["history_schema"]

_TYPES = {
    "text": ["string"], "int": ["integer"], "number": ["number"], "bool": ["boolean"], "list": ["array"],
    "dict": ["object"], "body": ["object", "array"],
}  # fmt: skip


def history_schema() -> Schema:
    """What every version has written. Records of unknown kinds, and fields beyond these, are allowed."""
    kinds = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": _record(fields)} for kind, fields in FIELDS.items()
    ]
    common = _record([("at", "number"), ("kind", "text")])
    return {"$schema": DRAFT, "title": "a record of history.jsonl (schedproof.history/v1)", **common, "allOf": kinds}


def _record(fields: Iterable[tuple[str, ...]]) -> Schema:
    """Fields with their types; a dot leads into an object, and a `?` ends what may be missing or null."""
    record: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for name, type_ in fields:
        *outer, last = name.removesuffix("?").split(".")
        inside = record
        for step in outer:
            _require(inside, step)
            inside = inside["properties"].setdefault(step, {"type": "object", "properties": {}, "required": []})
        types = [*_TYPES[type_], *(["null"] if name.endswith("?") else [])]
        inside["properties"][last] = {"type": types if len(types) > 1 else types[0]}
        if not name.endswith("?"):
            _require(inside, last)
    return record


def _require(record: Schema, name: str) -> None:
    if name not in record["required"]:
        record["required"].append(name)
