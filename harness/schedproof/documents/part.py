"""The base of the models of documents that schedproof writes: report.json, bench.json, soak.json."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pydantic


class Part(pydantic.BaseModel):
    """A part of a document. Fields that older documents lack have defaults; fields of newer documents are ignored."""

    model_config = pydantic.ConfigDict(
        frozen=True,
        defer_build=True,  # until the first is read or written: it takes half of an import's time
        ser_json_inf_nan="constants",
    )


def optional(default: Any, **schema: Any) -> Any:
    """A field that is not written if it has its default; `schema`: additions to its JSON Schema."""
    return pydantic.Field(default, exclude_if=lambda value: value == default, json_schema_extra=schema or None)


def first_wrong(error: pydantic.ValidationError) -> str:
    """The first field of a document that is wrong, and why."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"


def replace_infinite(value: Any, instead: Callable[[float], str | None]) -> Any:
    """Replace NaN and infinities in a document, which JSON cannot represent."""
    if isinstance(value, dict):
        return {key: replace_infinite(item, instead) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_infinite(item, instead) for item in value]
    return instead(value) if isinstance(value, float) and not math.isfinite(value) else value
