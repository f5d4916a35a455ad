"""Reads a document into a model, and reports every error with its place, its path and a fix."""

from __future__ import annotations

import dataclasses
import json
import shlex
import types
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from schedproof.documents.model import (
    BROKEN,
    Fields,
    Mapped,
    NonEmpty,
    Such,
    Written,
    Wrong,
    fields_of,
    is_union,
    metadata_of,
    shown,
)
from schedproof.documents.problems import DescriptorError, Place, Problem
from schedproof.documents.suggestions import did_you_mean, nearest
from schedproof.documents.yaml_source import Entry, Mark, Value, path_of

M = TypeVar("M", bound=Mapped)
Location = tuple[str | int, ...]

_UNKNOWN = "unexpected_keyword_argument"
"""pydantic's type of the error that a model has no such field."""


_ADAPTERS: dict[type[Mapped], TypeAdapter[Any]] = {}


def adapter(model: type[M]) -> TypeAdapter[M]:
    """The reader and writer of a model. The first call for a model takes milliseconds."""
    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def read(model: type[M], document: Value, problems: Sequence[Problem] = (), *, context: object, path: str = "") -> M:
    """Return the document as a model.

    Args:
        model: the class.
        document: what `read_document` returned.
        problems: those that are known already.
        context: what rules need to know beyond the fields.
        path: that of the document, if it is a part of a file.

    Raises:
        DescriptorError: with all problems.
    """
    found = list(problems)
    try:
        value = adapter(model).validate_python(raw(document), by_alias=True, by_name=False, context=context)
    except ValidationError as error:
        found += _problems(error, model, document, path)
    if found:
        raise DescriptorError(found)
    return value


def raw(value: Value) -> Any:
    """The value as data that pydantic reads. A value whose problem is known already is a `Mark`."""
    match value.data:
        case dict():
            fields = Fields({name: raw(entry.value) for name, entry in value.data.items()})
            fields.written = {
                name: entry.value.written
                for name, entry in value.data.items()
                if isinstance(entry.value.data, (bool, int, float))
            }
            return fields
        case list():
            return [raw(item) for item in value.data]
        case str():
            return Written(value.data, Path(value.place.file).absolute().parent)
    return value.data


def _problems(error: ValidationError, model: type[Mapped], document: Value, path: str) -> Iterator[Problem]:
    errors = error.errors(include_url=False, include_input=False)
    unknown = [item["loc"] for item in errors if item["type"] == _UNKNOWN]
    misspelled = {
        (*outer, nearest(str(name), fields_of(_model(_annotation(model, tuple(outer)))))) for *outer, name in unknown
    }
    for item in errors:
        location: Location = item["loc"]
        spot = _Spot.at(document, location, path, named=item["type"] == _UNKNOWN)
        if spot.value.data is Mark.INVALID or location in misspelled:
            continue
        if item["type"] != BROKEN:
            yield spot.problem(*_described(item["type"], _annotation(model, location), location, spot.value, model))
            continue
        for wrong in item["ctx"]["problems"]:
            if isinstance(wrong, Problem):
                yield wrong
            else:
                yield located(document, wrong._replace(at=(*location, *wrong.at)), path)


def located(document: Value, wrong: Wrong, path: str = "") -> Problem:
    """The problem of a document in which something is wrong; `path`: that of the document."""
    return _Spot.at(document, wrong.at, path).problem(wrong.code, wrong.message, wrong.fix)


@dataclasses.dataclass(frozen=True)
class _Spot:
    """A value in a document, or where it is missing."""

    path: str
    place: Place
    value: Value

    @classmethod
    def at(cls, document: Value, location: Location, path: str, *, named: bool = False) -> _Spot:
        """The value at a location in a document with this path; `named`: with the place of its name."""
        spot = cls(path, document.place, document)
        for step in location:
            data = spot.value.data
            if isinstance(step, int) and isinstance(data, list) and step < len(data):
                spot = cls(f"{spot.path}[{step}]", data[step].place, data[step])
            elif isinstance(data, dict) and step in data:
                entry = data[str(step)]
                spot = cls(path_of(spot.path, str(step)), entry.place if named else _place(entry), entry.value)
            elif step == 0 and not isinstance(data, (list, Mark)):
                pass  # it stands for a list of one item
            else:
                reported = Mark.INVALID if data is Mark.INVALID else Mark.ABSENT
                return cls(path_of(spot.path, str(step)), spot.place, Value(spot.place, reported))
        return spot

    def problem(self, code: str, message: str, fix: str) -> Problem:
        return Problem(self.place, self.path, code, message, fix)


def _place(entry: Entry) -> Place:
    """A scalar has a place of its own; a value that spans lines has that of its name."""
    scalar = isinstance(entry.value.data, (str, int, float)) and "\n" not in entry.value.written
    return entry.value.place if scalar else entry.place


# -- from an error to words


def _described(
    kind: str, annotation: Any, location: Location, value: Value, model: type[Mapped]
) -> tuple[str, str, str]:
    """The code, message and fix of an error of pydantic's."""
    name, data = str(location[-1]) if location else "", value.data
    if kind == _UNKNOWN:
        known = fields_of(_model(_annotation(model, location[:-1])))
        return "unknown-field", f"unknown field {shown(name)}", did_you_mean(name, known)
    if kind == "literal_error" and isinstance(data, str):
        return "unknown-value", f"unknown value {shown(data)}", did_you_mean(data, _options(annotation))
    is_item = bool(location) and isinstance(location[-1], int)
    expected, example = _expected(annotation), _example(annotation, _annotation(model, location[:-1]), is_item)
    as_written = f"- {example}" if is_item else f"{name}: {example}" if name else example
    if data is Mark.ABSENT:
        return "missing-field", f"missing: expected {expected}", f"add it, such as `{as_written}`"
    if data is None:
        return "empty-field", f"empty: expected {expected}", f"write a value, such as `{as_written}`"
    if kind in _BEYOND:
        message = f"expected {expected}{_range(annotation)}, found {shown(value.written, quoted=False)}"
        return "out-of-range", message, f"write a number such as {example}"
    if kind == "without-unit":
        message = f"expected a duration, found {_found(value)} without a unit"
        return "not-a-duration", message, f"write the unit: {value.written}s"
    return "wrong-type", *_of_wrong_type(kind, value, expected, as_written)


_BEYOND = ("greater_than_equal", "less_than_equal", "beyond-float64")
"""pydantic's types, and our own, of the errors that a number is too large or too small."""


def _of_wrong_type(kind: str, value: Value, expected: str, as_written: str) -> tuple[str, str]:
    """The message and fix for a value of a wrong type, or an empty one."""
    data = value.data
    if kind == "string_type" or "path" in kind:
        if isinstance(data, (bool, int, float)):
            return f"expected a string, found {_found(value)}", f'quote it: "{value.written}"'
        if braced := _unquoted_placeholder(data):
            message = f"expected a string, found {braced}, which YAML reads as a mapping"
            return message, f'quote it: "{braced}"'
    fix = f"write a value such as `{as_written}`"
    name, _, example = as_written.partition(": ")
    if isinstance(data, str) and example.startswith("["):
        fix = f"write `{name}: {_as_list(data)}`"
    return f"expected {expected}, found {_found(value)}", fix


def _example(annotation: Any, outer: Any, is_item: bool) -> str:
    """An example of a value, in YAML; that of an item may be the first of the list's."""
    if such := _metadata(annotation, Such):
        return such.example
    of_list = _metadata(outer, Such) if is_item else None
    return of_list.example.strip("[]").split(",")[0] if of_list else _such_as(annotation)


def _expected(annotation: Any) -> str:
    such = _metadata(annotation, Such)
    if such and such.expected:
        return such.expected
    bare = _bare(annotation)
    origin = typing.get_origin(bare) or bare
    if origin is Literal:
        return f"one of {', '.join(_options(annotation))}"
    if origin is tuple:
        return "a non-empty list" if _metadata(annotation, NonEmpty) else "a list"
    words = {
        str: "a non-empty string", Path: "a non-empty string", int: "a whole number", float: "a number",
        bool: "true or false",
    }  # fmt: skip
    return words.get(origin, "a mapping")


def _such_as(annotation: Any) -> str:
    """An example for a field without one of its own."""
    bare = _bare(annotation)
    origin = typing.get_origin(bare) or bare
    if origin is Literal:
        return _options(annotation)[0]
    if isinstance(origin, type) and issubclass(origin, Mapped):
        return f"{{{next(iter(fields_of(origin)))}: ...}}"
    return {bool: "true", str: '"text"', float: "1000", int: "1"}.get(origin, "...")


def _range(annotation: Any) -> str:
    low, high = _metadata(annotation, Ge), _metadata(annotation, Le)
    return f" from {low.ge} to {high.le}" if low and high else ""


def _found(value: Value) -> str:
    match value.data:
        case bool():
            return f"{value.written}, which YAML reads as {str(value.data).lower()}"
        case int() | float():
            return f"the number {shown(value.written, quoted=False)}"
        case str():
            return f"the text {shown(value.data)}" if value.data.strip() else "an empty text"
        case list():
            return "a list" if value.data else "an empty list"
        case dict():
            return "a mapping" if value.data else "an empty mapping"
    return "nothing"


def _as_list(command: str) -> str:
    try:
        return json.dumps(shlex.split(command), ensure_ascii=False)
    except ValueError:  # unbalanced quotes
        return json.dumps(command.split(), ensure_ascii=False)


def _unquoted_placeholder(data: object) -> str:
    if isinstance(data, dict) and len(data) == 1:
        ((name, entry),) = data.items()
        if isinstance(entry, Entry) and entry.value.data is None and not entry.value.written:
            return f"{{{name}}}"
    return ""


# -- the type of a field


def _annotation(model: Any, location: Location) -> Any:
    """The type of the value at a location, with its metadata; `Any` below a mapping of any content."""
    annotation = model
    for step in location:
        bare = _bare(annotation)
        origin, arguments = typing.get_origin(bare) or bare, typing.get_args(bare)
        if isinstance(origin, type) and issubclass(origin, Mapped):
            field = fields_of(origin).get(str(step))
            annotation = Any if field is None else field.annotation
        else:
            annotation = arguments[0 if origin is tuple else 1] if len(arguments) > 1 else Any
    return annotation


def _bare(annotation: Any) -> Any:
    """The type without metadata, and without None."""
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation = typing.get_args(annotation)[0]
        elif is_union(annotation):
            annotation = next(one for one in typing.get_args(annotation) if one is not types.NoneType)
        else:
            return annotation


def _model(annotation: Any) -> type[Mapped]:
    bare = _bare(annotation)
    return bare if isinstance(bare, type) and issubclass(bare, Mapped) else Mapped


def _options(annotation: Any) -> list[str]:
    return [str(option) for option in typing.get_args(_bare(annotation))]


T = TypeVar("T")


def _metadata(annotation: Any, kind: type[T]) -> T | None:
    """The outermost metadata of this class."""
    return next((one for one in metadata_of(annotation) if isinstance(one, kind)), None)


def dump(model: Mapped, **options: Any) -> dict[str, Any]:
    """Return the model as JSON-able data, by the names of fields in files."""
    saved: dict[str, Any] = adapter(type(model)).dump_python(model, mode="json", by_alias=True, **options)
    return saved
