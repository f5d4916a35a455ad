"""Write the tables of fields in docs/*.md, from the schemas that `schedproof schema` prints: `make fields`.

A table is between `<!-- fields of FILE: PATH -->` and `<!-- end of fields -->`; tests/docs/test_fields.py compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedproof.cli.schemas import SCHEMAS

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs").glob("*.md"))

_TABLE = re.compile(r"(<!-- fields of (\w+): ?(\S*) -->\n).*?(<!-- end of fields -->)", re.DOTALL)
_WORDS = {"string": "text", "boolean": "true or false", "object": "mapping", "number": "number"}
_LARGE = 10**9
"""A larger maximum is the type's own, and left out."""


def with_fields(page: str) -> str:
    """Return the page with new tables. A field that has a table of its own is one row in the tables above it."""
    apart = {(name, path) for _, name, path, _ in _TABLE.findall(page)}

    def table(found: re.Match[str]) -> str:
        head, name, path, end = found.groups()
        known = {inner for other, inner in apart if other == name}
        rows = _rows(_at(_whole(SCHEMAS[name]()), path), "", path, known)
        return f"{head}| field | type | default | meaning |\n|---|---|---|---|\n{''.join(rows)}{end}"

    return _TABLE.sub(table, page)


def _whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a file without `extends`, plus the field `extends`."""
    if "else" not in schema:
        return schema
    properties = {**schema["else"]["properties"], "extends": schema["then"]["properties"]["extends"]}
    return {**schema["else"], "properties": properties}


def _at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schema of a field; `[]` steps into a list's items."""
    for step in path.split(".") if path else ():
        schema = schema["properties"][step.removesuffix("[]")]
        schema = schema["items"] if step.endswith("[]") else schema
    return schema


def _rows(schema: dict[str, Any], prefix: str, path: str, apart: set[str]) -> Iterator[str]:
    for name, field in schema["properties"].items():
        inner = f"{path}.{name}" if path else name
        if field.get("additionalProperties") is False and inner not in apart and f"{inner}[]" not in apart:
            if "description" in field:
                yield _row(f"{prefix}{name}", name, field, schema)
            yield from _rows(field, f"{prefix}{name}.", inner, apart)
        else:
            yield _row(f"{prefix}{name}", name, field, schema)


def _row(shown: str, name: str, field: dict[str, Any], schema: dict[str, Any]) -> str:
    default = "required" if name in schema.get("required", ()) else _default(field)
    meaning = field.get("description", "").replace("|", "\\|")
    return f"| `{shown}` | {_type(field)} | {default} | {meaning} |\n"


def _default(field: dict[str, Any]) -> str:
    if "default" not in field:
        return ""
    default = field["default"]
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _type(field: dict[str, Any]) -> str:
    """Return the type in words. null is left out: a general sentence covers it for all fields."""
    if field.get("title", "text") != "text":
        return str(field["title"])
    if "enum" in field:
        return ", ".join(f"`{option}`" for option in field["enum"] if option is not None)
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(option) for option in field["anyOf"] if option.get("type") != "null"))
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(_word(field, kind) for kind in kinds if kind != "null")


def _several(field: dict[str, Any]) -> str:
    return {"mapping": "mappings", "text": "texts", "number": "numbers"}.get(name := _type(field), name)


def _word(field: dict[str, Any], kind: str) -> str:
    if kind == "array":
        return f"{'non-empty ' if field.get('minItems') else ''}list of {_several(field['items'])}"
    if kind == "integer":
        low, high = field["minimum"], field["maximum"]
        return f"whole number from {low}" if high > _LARGE else f"{low} to {high}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"mapping of {_several(field['additionalProperties'])}"
    if kind == "number" and "maximum" in field:
        return f"number up to {field['maximum']}"
    return _WORDS[kind]


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_fields(page.read_text(encoding="utf-8")), encoding="utf-8")
