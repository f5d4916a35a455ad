"""What the models of files that users write are made of: their base, the types of fields, and how a rule is broken.

A model is a frozen dataclass that pydantic reads (`documents.reading`). A field's docstring is its meaning in the JSON
Schema and in the tables of docs/. Made in Python, or read from a record, a model is not checked further than by type:
rules that need the file, such as whether a path exists, apply only while a file is read, which has a context.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from schedproof.documents.durations import UNITS, parse_duration
from schedproof.documents.problems import Problem

M = TypeVar("M")
T = TypeVar("T")

BROKEN = "rule"
"""The type of the errors that `refuse` raises."""


class Wrong(NamedTuple):
    """A broken rule. `at`: the steps from the value that the rule is about to the value that is wrong."""

    code: str
    message: str
    fix: str
    at: tuple[str | int, ...] = ()


def refuse(problems: Iterable[Wrong | Problem]) -> None:
    """Refuse the value that is being read, if it has problems; a `Problem` is one of another file, with its place."""
    found = tuple(problems)
    if found:
        raise PydanticCustomError(BROKEN, "{first}", {"first": found[0].message, "problems": found})


class Written(str):
    """A text as it is in a file; `folder`: that of the file, which relative paths start from."""

    folder: Path

    __slots__ = ("folder",)

    def __new__(cls, text: str, folder: Path) -> Written:
        self = super().__new__(cls, text)
        self.folder = folder
        return self


class Fields(dict[str, Any]):
    """A mapping of a file; `written`: its numbers and booleans by their names, as they are written."""

    written: Mapping[str, str]


@dataclasses.dataclass(frozen=True, eq=False)
class Such:
    """Metadata of a field: an example as it is written in YAML, and what is expected where the type does not say it."""

    example: str
    expected: str = ""


# -- types of fields


def checked(check: Callable[[Any], Iterable[Wrong]]) -> AfterValidator:
    """Refuse a value of a file in which `check` finds something wrong."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if info.context is not None:
            refuse(check(value))
        return value

    return AfterValidator(read)


def matching(pattern: str, message: str, fix: str) -> AfterValidator:
    """Refuse a text of a file that does not match `pattern` as a whole."""

    def check(text: str) -> Iterator[Wrong]:
        if not re.fullmatch(pattern, text):
            yield Wrong("malformed", f"{message}, found {shown(text)}", fix)

    return checked(check)


AnyText = Annotated[str, Strict()]
"""A text that may be empty. Numbers and booleans are not read as text: only quotes distinguish 1.10 from 1.1."""

Text = Annotated[str, Strict(), Field(pattern=r"\S")]
"""A text that is not blank."""

Flag = Annotated[bool, Strict()]


class AsWritten:
    """Metadata of a text, and of a mapping of texts: numbers and booleans in a file are texts as they are written.

    Labels and quantities are such texts: Kubernetes has no numbers there.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def read(value: Any) -> Any:
            return {**value, **value.written} if isinstance(value, Fields) else value

        return core_schema.no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found = handler(schema)
        if found["type"] == "object":
            return {**found, "additionalProperties": _SCALAR}
        return _SCALAR


_SCALAR: dict[str, Any] = {"title": "text or number", "type": ["string", "number", "boolean", "null"]}


class NonEmpty:
    """Metadata of a list: in a file, it has at least one item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def read(value: Any, info: core_schema.ValidationInfo) -> Any:
            if info.context is not None and not value:
                raise PydanticCustomError("empty-list", "a non-empty list")
            return value

        return core_schema.with_info_after_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "minItems": 1}


Listed = Annotated[tuple[T, ...], NonEmpty()]
"""A list with at least one item."""

Whole = Annotated[int, Strict()]
"""A whole number; its bounds are the metadata `Field(ge=..., le=...)`."""


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("number", "a number")
    try:
        float(value)
    except OverflowError:
        raise PydanticCustomError("beyond-float64", "a number in the range of float64") from None
    return value


Number = Annotated[
    float, GetPydanticSchema(lambda _, handler: handler(Any)), BeforeValidator(_finite),
    WithJsonSchema({"type": "number"}),
]  # fmt: skip
"""A finite number. An int stays an int, so that large counters keep their digits."""

_DURATION = rf"^\s*(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)({'|'.join(sorted(UNITS, key=len, reverse=True))}|\u03bcs))+)\s*$"


@dataclasses.dataclass(frozen=True, eq=False)
class Duration(Such):
    """Metadata of a float: in a file it is a text such as 1m30s, in Python and in records a number of seconds."""

    expected: str = "a duration"
    minimum: float = 0.0
    units: Mapping[str, float] = dataclasses.field(default_factory=lambda: UNITS)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, *_: object) -> dict[str, Any]:
        return {"title": "duration", "anyOf": [{"type": "string", "pattern": _DURATION}, {"const": 0}]}

    def _read(self, value: Any, info: core_schema.ValidationInfo) -> Any:
        if info.context is None:
            return value
        if value == 0 and value is not False:
            value = "0"
        if not isinstance(value, str):
            without_unit = isinstance(value, (int, float)) and not isinstance(value, bool)
            raise PydanticCustomError("without-unit" if without_unit else "duration", "a duration")
        fix = f"write a duration such as {self.example}"
        try:
            seconds = parse_duration(value, units=dict(self.units))
        except ValueError as error:
            refuse([Wrong("not-a-duration", f"expected a duration, found {shown(value)}: {error}", fix)])
            raise
        if not (math.isclose(seconds, self.minimum) or seconds > self.minimum):
            message = f"expected a duration of at least {self.minimum:g} s, found {value}"
            refuse([Wrong("out-of-range", message, fix)])
        return seconds


def existing(text: Written, *, folder: bool, at: tuple[str | int, ...] = ()) -> Path:
    """The path of an existing file or folder, which is relative to the folder of the file that names it."""
    what = "folder" if folder else "file"
    path = text.folder / text
    try:
        found = path.is_dir() if folder else path.is_file()
    except (OSError, ValueError):  # too long a name, no permission
        found = False
    if not found:
        fix = f"name an existing {what}, relative to the folder of candidate.yaml"
        refuse([Wrong("no-such-file", f"there is no {what} {shown(text)}", fix, at)])
    return path


@dataclasses.dataclass(frozen=True, eq=False)
class Existing:
    """Metadata of a Path: in a file, it is relative to the folder of that file, and exists."""

    what: Literal["file", "folder"]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def read(value: Any) -> Any:
            if not isinstance(value, Written):
                return value
            if not value.strip():
                raise PydanticCustomError("string_type", "a path")
            return existing(value, folder=self.what == "folder")

        return core_schema.no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, *_: object) -> dict[str, Any]:
        return {"title": self.what, "type": "string", "pattern": r"\S"}


@dataclasses.dataclass(frozen=True, eq=False)
class OrFile:
    """Metadata of a field whose value may be in a file of its own, which the field names.

    `title`: what may be named, in words.
    """

    title: str = "file"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"title": self.title, "type": "string", "pattern": r"\S"}, handler(schema)]}


@dataclasses.dataclass(frozen=True, eq=False)
class OrAlone:
    """Metadata of a list of which a single item that is a mapping may be written without the list.

    `title`: its type, in words.
    """

    title: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found = handler(schema)
        return {
            "title": self.title,
            "anyOf": [found, *(one for one in found["items"]["anyOf"] if one.get("type") != "string")],
        }


ExistingFile = Annotated[Path, Existing("file")]
ExistingFolder = Annotated[Path, Existing("folder")]


def plain(value: Any) -> Any:
    """Return the same data with ordinary texts."""
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


Anything = Annotated[Mapping[str, Any], BeforeValidator(plain), WithJsonSchema({"type": "object"})]
"""A mapping of any content, such as a manifest."""


# -- the base of models


class FieldOf(NamedTuple):
    """A field of a model, by its name in files."""

    attribute: str
    annotation: Any
    required: bool

    @property
    def as_written(self) -> bool:
        """Whether numbers and booleans are read as text."""
        return any(isinstance(one, AsWritten) for one in metadata_of(self.annotation))


def texts_in(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each text in a value of JSON, with its place: the keys and numbers that lead to it."""
    if isinstance(value, str):
        yield at, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield from texts_in(item, (*at, step))


def metadata_of(annotation: Any) -> Iterator[Any]:
    """The metadata of a type, the outermost first, also within `Field(...)` and optional types."""
    if typing.get_origin(annotation) is Annotated:
        inner, *own = typing.get_args(annotation)
        for one in reversed(own):
            yield one
            yield from getattr(one, "metadata", ())
        yield from metadata_of(inner)
    elif is_union(annotation):
        for one in typing.get_args(annotation):
            yield from metadata_of(one)


def fields_of(model: type[Mapped]) -> Mapping[str, FieldOf]:
    """The fields of a model, by their names in files."""
    if model not in _FIELDS:
        _FIELDS[model] = _fields_of(model)
    return _FIELDS[model]


_FIELDS: dict[type[Mapped], Mapping[str, FieldOf]] = {}


def _fields_of(model: Any) -> Mapping[str, FieldOf]:
    hints = typing.get_type_hints(model, include_extras=True)
    alias = model.__pydantic_config__["alias_generator"]
    return {
        alias(field.name): FieldOf(
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(model)
    }


def admits_null(annotation: Any) -> bool:
    """Whether a field of this type can be None."""
    if typing.get_origin(annotation) is Annotated:
        return admits_null(typing.get_args(annotation)[0])
    return is_union(annotation) and types.NoneType in typing.get_args(annotation)


def is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


class Mapped:
    """The base of all models: a mapping with known fields. As in Kubernetes, null counts as absent."""

    __pydantic_config__ = ConfigDict(
        extra="forbid", alias_generator=lambda name: name.replace("_", "-"), validate_by_name=True
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any, info: ValidationInfo) -> Any:
        """The fields without nulls, where null is no value; of a record, which another version may have written, those
        that this version knows.
        """
        if not isinstance(data, dict):
            return data
        known = fields_of(cls)
        if info.context is None:
            names = {*known, *(field.attribute for field in known.values())}
            data = {name: value for name, value in data.items() if name in names}
        if isinstance(data, Fields):
            as_written = {name: text for name, text in data.written.items() if name in known and known[name].as_written}
            data = {**data, **as_written}
        return {
            name: value
            for name, value in data.items()
            if value is not None or name not in known or known[name].required or admits_null(known[name].annotation)
        }

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            rules: list[Any] = [check for _, check in inspect.getmembers_static(type(self)) if id(check) in _RULES]
            refuse(wrong for check in rules for wrong in check(self, info.context))
        return self


_ACRONYMS = {"https": "HTTPS", "urls": "URLs"}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


class Camel(Mapped):
    """The base of models whose fields have Kubernetes' names."""

    __pydantic_config__ = ConfigDict({**Mapped.__pydantic_config__, "alias_generator": _camel})


@dataclasses.dataclass(frozen=True)
class File(Camel):
    """The base of whole files, which add `kind`, `metadata` and `spec`."""

    api_version: Literal["schedproof/v1"]
    """the version of this format"""


def rule(check: Callable[[Any, Any], Iterable[Wrong | Problem]]) -> Callable[[Any, Any], Iterable[Wrong | Problem]]:
    """Make a method of a model a rule over its fields: it yields what is wrong, given the context of the file.

    It is asked only of a file whose fields are each right.
    """
    _RULES[id(check)] = check
    return check


_RULES: dict[int, object] = {}


def shown(text: str, *, quoted: bool = True) -> str:
    """The text for a message: at most 60 characters."""
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return json.dumps(text, ensure_ascii=False) if quoted else text
