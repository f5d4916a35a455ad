"""Building blocks of the JSON Schemas (draft 2020-12) of the files that users write.

A schema has the fields, their types and their meaning, for editors and for the reference pages. It accepts all that
the reader of such a file accepts; rules across fields and patterns are checked by the readers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from schedproof.documents.durations import UNITS

API_VERSION = "schedproof/v1"
"""The apiVersion of all files that users write."""

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DURATION = rf"^\s*(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)({'|'.join(sorted(UNITS, key=len, reverse=True))}|\u03bcs))+)\s*$"


def document(kind: str, spec: Schema, *, description: str, name: Schema) -> Schema:
    """Return the schema of a whole file: apiVersion, kind, metadata.name and `spec`."""
    fields = {
        "apiVersion": choice((API_VERSION,), "the version of this format"),
        "kind": choice((kind,), "what the file describes"),
        "metadata": mapping({"name": name}, required=("name",)),
        "spec": spec,
    }
    body = mapping(fields, description, required=tuple(fields))
    return {"$schema": DRAFT, "title": f"{kind} ({API_VERSION})", **body}


def text(description: str = "", *, title: str = "text", default: str | None = None, empty: bool = False) -> Schema:
    """A string; unless `empty`, not blank. `title` is the expected form, such as "HTTP path"."""
    more = {} if empty else {"pattern": r"\S"}
    return {"title": title, "type": "string", **more, **_described(description, default)}


def choice(options: Sequence[str], description: str = "", *, title: str = "", default: str | None = None) -> Schema:
    """One of `options`; `title` describes them if there are too many to list."""
    return {**({"title": title} if title else {}), "enum": list(options), **_described(description, default)}


def integer(minimum: int, maximum: int, description: str = "", *, default: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **_described(description, default)}


def number(description: str = "") -> Schema:
    return {"type": "number", **_described(description)}


def flag(description: str, *, default: bool = False) -> Schema:
    return {"type": "boolean", **_described(description, default)}


def duration(description: str = "", *, default: str | None = None) -> Schema:
    """A text such as 1m30s; 0 needs no unit."""
    return {
        "title": "duration",
        "anyOf": [{"type": "string", "pattern": _DURATION}, {"const": 0}],
        **_described(description, default),
    }


def listed(items: Schema, description: str = "", *, default: list[Any] | None = None, empty: bool = False) -> Schema:
    """A list; unless `empty`, of at least one item."""
    more = {} if empty else {"minItems": 1}
    return {"type": "array", "items": items, **more, **_described(description, default)}


def named(values: Schema, description: str = "", *, default: dict[str, Any] | None = None) -> Schema:
    """A mapping whose names the user chooses."""
    return {"type": "object", "additionalProperties": values, **_described(description, default)}


def mapping(
    fields: Mapping[str, Schema], description: str = "", *, required: Sequence[str] = (), **more: Any
) -> Schema:
    """A mapping with these fields and no others. As in Kubernetes, null counts as absent."""
    properties = {name: field if name in required else _or_null(field) for name, field in fields.items()}
    wanted = {"required": list(required)} if required else {}
    return {
        "type": "object", "properties": properties, **wanted, "additionalProperties": False,
        **_described(description), **more,
    }  # fmt: skip


def anything(description: str = "", **more: Any) -> Schema:
    """A mapping of any content, such as a manifest."""
    return {"type": "object", **more, **_described(description)}


def either(*schemas: Schema, description: str = "", default: Any = None) -> Schema:
    return {"anyOf": list(schemas), **_described(description, default)}


def relaxed(schema: Schema) -> Schema:
    """Return the schema for a file of differences to another file: nothing is required, and null removes a field."""
    if "properties" not in schema:
        return schema
    properties = {name: _or_null(relaxed(field)) for name, field in schema["properties"].items()}
    return {
        **{key: value for key, value in schema.items() if key not in ("required", "oneOf")},
        "properties": properties,
    }


def _or_null(schema: Schema) -> Schema:
    for key in ("anyOf", "enum"):
        if key in schema:
            null = {"type": "null"} if key == "anyOf" else None
            return schema if null in schema[key] else {**schema, key: [*schema[key], null]}
    if schema.get("type") is None or "null" in schema["type"]:
        return schema
    return {**schema, "type": [schema["type"], "null"]}


def _described(description: str, default: Any = None) -> Schema:
    return {
        **({"description": description} if description else {}),
        **({"default": default} if default is not None else {}),
    }
