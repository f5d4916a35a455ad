"""Reference pages of the files that a run writes: their fields, from the models that write and read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from prose import escaped

from schedproof.cli.schemas import SCHEMAS
from schedproof.history.record import KINDS
from schedproof.history.saved import history_schema

_HISTORY = """\
# history.jsonl

The record of a candidate's run, from which everything is judged: a line of JSON for each thing that the harness did, or
that was seen of the candidate and the cluster. Each has `kind` and `at`, the seconds since the run began. Kinds and
fields that a version does not know are skipped, and fields that older versions did not write have defaults.
`schedproof schema history` prints the JSON Schema of a line.
"""
_REPORT = """\
# report.json

The verdicts of a run. `schedproof schema report` prints its JSON Schema. Match on `code`, not on `summary`; the codes
are listed [on a page of their own](codes.md).
"""
_SOAK = """\
# soak.json

The samples of `schedproof soak`: what the candidate's processes held over time. What they show is in report.json
(`candidates[].soak`). `schedproof schema soak` prints its JSON Schema.
"""
_BENCH = """\
# bench.json

What a benchmark measured. `schedproof schema bench` prints its JSON Schema. Durations and moments are in seconds,
memory is in bytes, rates and throughputs are in pods per second.
"""


def data_pages() -> dict[str, str]:
    """Return paths, relative to the folder of all pages, to Markdown."""
    return {
        "reference/history.md": "\n".join(_history()),
        "reference/report.md": "\n".join(_document(_REPORT, SCHEMAS["report"]())),
        "reference/soak.md": "\n".join(_document(_SOAK, SCHEMAS["soak"]())),
        "reference/bench.md": "\n".join(_document(_BENCH, SCHEMAS["bench"]())),
    }


def _history() -> Iterator[str]:
    definitions: dict[str, Any] = history_schema()["$defs"]
    yield _HISTORY
    for kind, model in sorted(KINDS.items()):
        yield from _section(f"`{kind}`", definitions[model.__name__])
    kinds = {model.__name__ for model in KINDS.values()}
    for name, definition in sorted(definitions.items()):
        if name not in kinds:
            yield from _section(name, definition)


def _document(head: str, schema: dict[str, Any]) -> Iterator[str]:
    yield head
    yield from _section("The document", schema)
    for name, definition in schema["$defs"].items():
        yield from _section(name, definition)


def _section(title: str, definition: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {title}\n"
    if about := definition.get("description"):
        yield f"{escaped(about)}\n"
    if "enum" in definition:
        yield f"{_type(definition)}\n"
    rows = [
        f"| `{name}` | {_type(field)} | {_default(field, name in definition.get('required', ()))} "
        f"| {escaped(' '.join(field.get('description', '').split()))} |"
        for name, field in definition.get("properties", {}).items()
    ]
    if rows:
        yield "\n".join(["| field | type | default | meaning |\n|---|---|---|---|", *rows])


def _type(field: dict[str, Any]) -> str:
    """Return a value's type in a few words; type names are headings on the page."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(value) for value in field["anyOf"] if value.get("type") != "null"))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    if isinstance(values := field.get("additionalProperties"), dict):
        return f"mapping to {_type(values)}"
    return str(field.get("format") or field.get("type", "any"))


def _default(field: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    default = field.get("default")
    return "" if default in (None, "", [], {}) else f"`{json.dumps(default)}`"
