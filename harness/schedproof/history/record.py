"""The base of every record of a history: a frozen model that checks its fields when it is made.

The models are pydantic's: its compiled checks cost no more than checks by hand, they record which fields were given,
and the JSON Schema is derived. `acts` has the records of the harness's actions, `observations` those of what was seen
of the candidate and the cluster.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetPydanticSchema,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

Number = Annotated[
    float, GetPydanticSchema(lambda _, handler: handler(int | float)), WithJsonSchema({"type": "number"})
]
"""A number that is shown as it was recorded: 98 does not become 98.0."""


class Model(BaseModel):
    """A part of a record. Fields that this version does not know are skipped."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        populate_by_name=True,
        defer_build=True,  # until the first is read or written: it takes half of an import's time
    )

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, fields: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """The schema of a field that may be missing: it may be null."""
        try:
            return read(fields)
        except ValidationError:
            if not isinstance(fields, dict):
                raise
            return read({name: value for name, value in fields.items() if value is not None or name == "at"})


class Record(Model):
    """One line of a history. The base class itself stands for a line of a kind that this version does not know."""

    kind: ClassVar[str] = ""
    """The kind of the record: its field `kind`."""
    at: float = 0.0
    """Seconds since the run began, on the monotonic clock; the recorder adds it if it is not given."""

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind
            KINDS[kind] = cls

    def as_dict(self) -> dict[str, Any]:
        """The fields of its line: those that were given."""
        return {"kind": self.kind, "at": self.at, **self.model_dump(by_alias=True, exclude_unset=True)}


class OfCase(Record):
    """A record of one case."""

    case: str
    """The id of the clause that is tried."""


KINDS: dict[str, type[Record]] = {}
"""The models, by the kinds of the records that they describe."""
