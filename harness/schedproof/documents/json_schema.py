"""Makes the JSON Schemas (draft 2020-12) of files from their models.

A schema has the fields, their types and their meaning, for editors and for the reference pages. It accepts all that
the reader of such a file accepts; rules across fields and patterns are checked by the readers only.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pydantic
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from schedproof.documents.durations import format_duration
from schedproof.documents.model import Mapped, fields_of
from schedproof.documents.reading import adapter

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(model: type[Mapped]) -> Schema:
    """The JSON Schema of a model, without references."""
    whole = adapter(model).json_schema(schema_generator=_Generator)
    definitions = whole.pop("$defs", {})
    title, description = whole.pop("title"), " ".join(whole.get("description", "").split())
    return {"title": title, **_inlined(whole, definitions), "description": description}


def document_schema(model: type[pydantic.BaseModel], file: str, *, field: str = "schema") -> Schema:
    """The JSON Schema of a file that a command writes, whose `field` names its schema."""
    whole = model.model_json_schema(schema_generator=DocumentedSchema)
    return {"$schema": DRAFT, **whole, "title": f"{file} ({whole['properties'][field]['const']})"}


class DocumentedSchema(GenerateJsonSchema):
    """Fields have their docstrings as descriptions, and no titles.

    pydantic's `use_attribute_docstrings` reads the sources of all models whenever they are imported.
    """

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - a name says it
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        found, model = super().model_schema(schema), schema["cls"]
        names = {name: field.validation_alias or name for name, field in model.model_fields.items()}
        return _with_docstrings(found, model, names)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        found, model = super().dataclass_schema(schema), schema["cls"]
        names = {field.name: field.name for field in dataclasses.fields(model)}
        if issubclass(model, Mapped):
            names = {field.attribute: name for name, field in fields_of(model).items()}
            found["properties"] = {name: found["properties"][name] for name in names.values()}
        return _with_docstrings(found, model, names)


def _with_docstrings(schema: Schema, model: type, names: Mapping[str, Any]) -> Schema:
    """The schema of a model with the docstrings of its fields; `names`: attribute to the name in the schema."""
    texts = {name: text for base in model.__mro__[-2::-1] for name, text in _docstrings(base).items()}
    for attribute, text in texts.items():
        if names.get(attribute) in schema["properties"]:
            schema["properties"][names[attribute]]["description"] = inspect.cleandoc(text)
    return schema


class _Generator(DocumentedSchema):
    """What has a default is optional; whether it may be null is the same for all of these, and added later."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner = self.generate_inner(schema["schema"])
        default = schema["default_factory"]() if "default_factory" in schema else schema.get("default")  # type: ignore[call-arg]
        if default in (None, "", (), {}) or isinstance(default, Path) or dataclasses.is_dataclass(default):
            return inner
        if inner.get("title") == "duration":
            return {**inner, "default": format_duration(default)}
        return {**inner, "default": list(default) if isinstance(default, tuple) else default}


def _docstrings(model: type) -> dict[str, str]:
    """By attribute, the docstrings of a class's own fields."""
    if model.__module__.partition(".")[0] != __name__.partition(".")[0]:
        return {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: text.value.value
        for field, text in itertools.pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }  # fmt: skip


def _inlined(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        definition = definitions[schema["$ref"].rpartition("/")[2]]
        own = {key: value for key, value in definition.items() if key not in ("title", "description")}
        schema = {**own, **{key: value for key, value in schema.items() if key != "$ref"}}
    found = {key: _inlined(value, definitions) for key, value in schema.items() if key not in ("const", "default")}
    if "const" in schema:
        found["const"] = schema["const"]
        if "type" in schema:
            found["enum"] = [found.pop("const")]
    if "enum" in found:
        found.pop("type", None)
    if "properties" in found:
        required = found.get("required", ())
        found["properties"] = {
            name: field if name in required else _or_null(field) for name, field in found["properties"].items()
        }
    if isinstance(found.get("description"), str):
        found["description"] = " ".join(found["description"].split())
    return {**found, **({"default": schema["default"]} if "default" in schema else {})}


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
