"""The JSON Schema of a line of history.jsonl, from the models of its records."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from schedproof.documents.schema import DRAFT, Schema
from schedproof.history.record import KINDS
from schedproof.history.saved import SCHEMA


class _Generator(GenerateJsonSchema):
    """What may be missing may be null."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - a name says it
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.get_union_of_schemas([super().default_schema(schema), {"type": "null"}])


def history_schema() -> Schema:
    """What every version has written. Records of unknown kinds, and fields beyond these, are allowed."""
    references, definitions = models_json_schema(
        [(model, "validation") for model in KINDS.values()], schema_generator=_Generator
    )
    kinds = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": references[model, "validation"]}
        for kind, model in KINDS.items()
    ]
    return {
        "$schema": DRAFT, "title": f"a record of history.jsonl ({SCHEMA})", "type": "object",
        "properties": {"at": {"type": "number"}, "kind": {"type": "string"}}, "required": ["at", "kind"],
        "allOf": kinds, **definitions,
    }  # fmt: skip
