"""The lines of history.jsonl, one JSON object for each record, in the order of receipt: their reader and schema."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import core_schema

from schedproof.candidate.claims import Claims, Exclusion
from schedproof.documents.json_schema import DRAFT, DocumentedSchema, Schema
from schedproof.documents.reading import adapter
from schedproof.foundation.errors import UsageError
from schedproof.history import acts, observations  # noqa: F401 - without them no kinds are known
from schedproof.history.record import KINDS, Record

SCHEMA = "schedproof.history/v1"
FILE = "history.jsonl"

_DAMAGED = "the file was changed after the run: judge an unchanged copy, or run the candidate again"


class DamagedRecordError(ValueError):
    """A field of a record is missing, or has a wrong value."""


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Disables garbage collection while a history is read: its objects stay, and collections would take longer than
    reading.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_collector()
def load_records(folder: Path) -> Sequence[Record]:
    """Read a saved history.

    An incomplete last line (the harness was killed) is dropped.

    Raises:
            UsageError: it is not a history, or of a schema that this version does not know.
    """
    path = folder / FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"no history in {folder}: {error}",
            remedy=f"give the folder of one candidate's run: the one that holds {FILE}",
        ) from error
    found: list[dict[str, Any]] = []
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            found.append(_parse(line))
        except (ValueError, RecursionError) as error:
            if number == len(lines) and not content.endswith(b"\n"):
                break
            raise UsageError(f"{path}:{number}: not a record: {error}", remedy=_DAMAGED) from error
    if not found or found[0]["kind"] != acts.Run.kind or found[0].get("schema") != SCHEMA:
        raise _other_schema(path)
    records: list[Record] = []
    for number, fields in enumerate(found, 1):
        try:
            record = read_record(fields)
            if isinstance(record, acts.Run):
                _check_candidate(record.candidate)
            records.append(record)
        except DamagedRecordError as error:
            raise UsageError(
                f"{path}:{number}: a damaged record of kind {fields['kind']}: {error}", remedy=_DAMAGED
            ) from error
    return records


def _other_schema(path: Path) -> UsageError:
    return UsageError(f"{path}: not a history of schema {SCHEMA}", remedy="judge it with the version that wrote it")


def load_first(folder: Path) -> acts.Run:
    """Read the first record of a saved history, which describes the run.

    Raises:
            UsageError: it is not a history, or of a schema that this version does not know.
    """
    path = folder / FILE
    try:
        with path.open("rb") as file:
            fields = _parse(file.readline())
        found = read_record(fields)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}", remedy=_DAMAGED) from error
    if not isinstance(found, acts.Run) or found.version != SCHEMA:
        raise _other_schema(path)
    return found


def _parse(line: bytes) -> dict[str, Any]:
    fields = json.loads(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str) or "at" not in fields:
        raise ValueError("expected an object with `kind` and `at`")
    return fields


def read_record(fields: dict[str, Any]) -> Record:
    """The record of a line.

    Raises:
            DamagedRecordError: the harness did not write it, or it was changed.
    """
    try:
        return KINDS.get(fields["kind"], Record).model_validate(fields)
    except ValidationError as error:
        raise DamagedRecordError(_described(error)) from error


def _check_candidate(candidate: acts.RunCandidate) -> None:
    """Check all fields of the claims, by which everything is judged and shown."""
    within: tuple[str, ...] = ("candidate", "claims")
    try:
        claims = adapter(Claims).validate_python(candidate.claims)
        for number, exclusion in enumerate(candidate.exclusions):
            within = ("candidate", "exclusions", str(number))
            adapter(Exclusion).validate_python(exclusion)
    except ValidationError as error:
        raise DamagedRecordError(_described(error, within=within)) from error
    config = (candidate.extender or {}).get("config")
    if candidate.kind == "extender" and not (isinstance(config, dict) and any(key.endswith("Verb") for key in config)):
        raise DamagedRecordError("the field candidate.extender.config has no verb")
    if "network-aware" in claims.profiles and claims.network is None:
        raise DamagedRecordError("the field candidate.claims.network is empty, although network-aware is claimed")


def _described(error: ValidationError, *, within: tuple[str, ...] = ()) -> str:
    """The sentence about the first wrong field."""
    problem = error.errors(include_url=False)[0]
    field = ".".join(map(str, (*within, *problem["loc"])))
    if problem["type"] == "missing":
        return f"the field {field} is missing"
    shown = repr(problem["input"])
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return f"the field {field} is {shown}, expected {problem['msg'].removeprefix('Input should be ')}"


class _SchemaGenerator(DocumentedSchema):
    """What may be missing may be null."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.get_union_of_schemas([super().default_schema(schema), {"type": "null"}])


def history_schema() -> Schema:
    """The JSON Schema of a line, from the models of its records: what every version has written.

    Records of unknown kinds, and fields beyond these, are allowed.
    """
    references, definitions = models_json_schema(
        [(model, "validation") for model in KINDS.values()], schema_generator=_SchemaGenerator
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
