"""Reads a document field by field; each field has its path and its place.

A reader does not raise on user input: it records the problem and returns a value of the right type, so that all
problems of a file are reported at once. The caller examines the problems after reading.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from schedproof.documents.durations import UNITS, parse_duration
from schedproof.documents.problems import Place, Problem
from schedproof.documents.suggestions import did_you_mean, nearest
from schedproof.documents.yaml_source import Entry, Mark, Value, path_of

Check = Callable[[str], Iterable[tuple[str, str]]]
"""Checks a text; yields message and fix of each problem."""


L = TypeVar("L", bound=str)


def matching(pattern: str, message: str, fix: str) -> Check:
    """Return a check that the whole text matches `pattern`."""

    def check(text: str) -> Iterator[tuple[str, str]]:
        if not re.fullmatch(pattern, text):
            yield f"{message}, found {shown(text)}", fix

    return check


def _accept(_: str) -> tuple[()]:
    return ()


class Field:
    """A value of the document, present or absent, of any type."""

    def __init__(self, problems: list[Problem], path: str, place: Place, value: Value) -> None:
        self._problems = problems
        self._place = place
        self.path = path
        self.value = value

    @property
    def given(self) -> bool:
        """Whether there is a value. As in Kubernetes, null counts as none."""
        return self.value.data not in (None, Mark.ABSENT)

    def complain(self, code: str, message: str, fix: str) -> None:
        """Record a problem with this field, unless its value is already known to be invalid."""
        if self.value.data is not Mark.INVALID:
            self._problems.append(Problem(self._place, self.path, code, message, fix))

    def _wrong(self, expected: str, example: str) -> None:
        data = self.value.data
        name = self.path.rpartition(".")[2]
        as_written = f"- {example}" if name.endswith("]") else f"{name}: {example}"
        if data is Mark.INVALID:
            return
        if data is Mark.ABSENT:
            self.complain("missing-field", f"missing: expected {expected}", f"add it, such as `{as_written}`")
        elif data is None:
            self.complain("empty-field", f"empty: expected {expected}", f"write a value, such as `{as_written}`")
        else:
            self.complain(
                "wrong-type",
                f"expected {expected}, found {_described(self.value)}",
                f"write a value such as `{as_written}`",
            )

    def text(self, example: str, check: Check = _accept, *, empty: bool = False, code: str = "malformed") -> str:
        """Return a string. Numbers and booleans are not accepted: only quotes distinguish 1.10 from 1.1."""
        data = self.value.data
        if isinstance(data, str) and (empty or data.strip()):
            for message, fix in check(data):
                self.complain(code, message, fix)
            return data
        if isinstance(data, (bool, int, float)):
            self.complain(
                "wrong-type", f"expected a string, found {_described(self.value)}", f'quote it: "{self.value.written}"'
            )
        elif braced := _unquoted_placeholder(data):
            self.complain(
                "wrong-type",
                f"expected a string, found {braced}, which YAML reads as a mapping",
                f'quote it: "{braced}"',
            )
        else:
            self._wrong("a non-empty string", example)
        return ""

    def choice(self, options: Sequence[L]) -> L:
        """Return one of `options`."""
        data = self.value.data
        if isinstance(data, str):
            for option in options:
                if data == option:
                    return option
            self.complain("unknown-value", f"unknown value {shown(data)}", did_you_mean(data, options))
        else:
            self._wrong(f"one of {', '.join(options)}", options[0])
        return options[0]

    def integer(self, minimum: int, maximum: int, example: str) -> int:
        data = self.value.data
        if isinstance(data, int) and not isinstance(data, bool):
            if minimum <= data <= maximum:
                return data
            found = shown(self.value.written, quoted=False)
            self.complain(
                "out-of-range",
                f"expected a whole number from {minimum} to {maximum}, found {found}",
                f"write a number such as {example}",
            )
        else:
            self._wrong("a whole number", example)
        return minimum

    def number(self, example: str) -> float:
        """Return a finite number. An int stays an int, so that large counters keep their digits."""
        data = self.value.data
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            try:
                float(data)
            except OverflowError:
                self.complain(
                    "out-of-range",
                    f"expected a number in the range of float64, found {shown(self.value.written, quoted=False)}",
                    f"write a value such as {example}",
                )
                return 0
            return data
        self._wrong("a number", example)
        return 0

    def flag(self) -> bool:
        data = self.value.data
        if isinstance(data, bool):
            return data
        self._wrong("true or false", "true")
        return False

    def duration(self, example: str, *, minimum: float = 0.0, units: dict[str, float] = UNITS) -> float:
        """Return the seconds of a text such as 1m30s."""
        data = self.value.data
        if data == 0 and data is not False:
            data = "0"
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            fix = f"write the unit: {self.value.written}s"
            self.complain("not-a-duration", f"expected a duration, found {_described(self.value)} without a unit", fix)
        elif isinstance(data, str):
            try:
                seconds = parse_duration(data, units=units)
            except ValueError as error:
                self.complain(
                    "not-a-duration",
                    f"expected a duration, found {shown(data)}: {error}",
                    f"write a duration such as {example}",
                )
                return minimum
            if math.isclose(seconds, minimum) or seconds > minimum:
                return seconds
            self.complain(
                "out-of-range",
                f"expected a duration of at least {minimum:g} s, found {data}",
                f"write a duration such as {example}",
            )
        else:
            self._wrong("a duration", example)
        return minimum

    def items(self, example: str, *, empty: bool = False) -> list[Field]:
        data = self.value.data
        if isinstance(data, list) and (data or empty):
            return [Field(self._problems, f"{self.path}[{i}]", v.place, v) for i, v in enumerate(data)]
        if isinstance(data, str) and example.startswith("["):
            name = self.path.rpartition(".")[2]
            self.complain(
                "wrong-type", f"expected a list, found {_described(self.value)}", f"write `{name}: {_as_list(data)}`"
            )
        else:
            self._wrong("a list" if empty else "a non-empty list", example)
        return []

    def texts(self, example: str, check: Check = _accept, *, blank: bool = False) -> tuple[str, ...]:
        """Return a non-empty list of strings; `blank` allows empty ones among them."""
        first = example.strip("[]").split(",")[0]
        return tuple(item.text(first, check, empty=blank) for item in self.items(example))

    def choices(self, options: Sequence[str]) -> list[tuple[Field, str]]:
        """Return the different `options` in a list, each with its field."""
        chosen: dict[str, Field] = {}
        for item in self.items(f"[{options[0]}]", empty=True):
            option = item.choice(options)
            if option == item.value.data and option in chosen:
                item.complain("duplicate", f"{option} is listed twice", "keep one of the two")
            elif option == item.value.data:
                chosen[option] = item
        return [(item, option) for option, item in chosen.items()]

    def section(self, *known: str) -> Section:
        """Return a mapping in which only fields of these names are allowed."""
        entries = self._entries(f"{{{known[0]}: ...}}")
        misspelled = set()
        for name, entry in (entries or {}).items():
            if name not in known:
                field = Field(self._problems, path_of(self.path, name), entry.place, entry.value)
                field.complain("unknown-field", f"unknown field {shown(name)}", did_you_mean(name, known))
                misspelled.add(nearest(name, known))
        return Section(self._problems, self.path, self._place, entries, misspelled)

    def entries(self, example: str) -> dict[str, Field]:
        """Return the fields of a mapping whose names the user chooses."""
        entries = self._entries(example) or {}
        return {name: _entry_field(self._problems, self.path, name, entry) for name, entry in entries.items()}

    def _entries(self, example: str) -> dict[str, Entry] | None:
        if isinstance(self.value.data, dict):
            return self.value.data
        self._wrong("a mapping", example)
        return None

    def plain(self, check: Check = _accept) -> Any:
        """Return any value as JSON-able data; `check` examines every text in it."""
        data = self.value.data
        if isinstance(data, dict):
            return {name: field.plain(check) for name, field in self.entries("").items()}
        if isinstance(data, list):
            return [item.plain(check) for item in self.items("", empty=True)]
        if isinstance(data, str):
            return self.text("", check, empty=True)
        return None if isinstance(data, Mark) else data

    def plain_mapping(self, example: str, check: Check = _accept) -> dict[str, Any]:
        """Return a mapping of any content, unchanged."""
        return {name: field.plain(check) for name, field in self.entries(example).items()}


class Section:
    """A mapping with known fields. An absent field, when looked up, reports itself as missing once it is read."""

    def __init__(
        self,
        problems: list[Problem],
        path: str,
        place: Place,
        entries: Mapping[str, Entry] | None,
        misspelled: Collection[str | None],
    ) -> None:
        self._problems = problems
        self._place = place
        self._entries = entries
        self._misspelled = misspelled
        self.path = path

    def __getitem__(self, name: str) -> Field:
        if self._entries is not None and name in self._entries:
            return _entry_field(self._problems, self.path, name, self._entries[name])
        # Not a mapping, or the field has a misspelled name: already reported.
        reported = self._entries is None or name in self._misspelled
        value = Value(self._place, Mark.INVALID if reported else Mark.ABSENT)
        return Field(self._problems, path_of(self.path, name), self._place, value)

    def __contains__(self, name: str) -> bool:
        """Whether the field has a value. As in Kubernetes, null counts as none."""
        return self.named(name) and self[name].given

    def named(self, name: str) -> bool:
        """Whether the field is present, even as null."""
        return name in (self._entries or ())

    def complain(self, code: str, message: str, fix: str) -> None:
        self._problems.append(Problem(self._place, self.path, code, message, fix))

    @property
    def sound(self) -> bool:
        """Whether no problem inside is known so far; check rules across fields only then."""
        inside = (f"{self.path}.", f"{self.path}[")
        return self._entries is not None and not any(
            problem.path == self.path or problem.path.startswith(inside) for problem in self._problems
        )


def _entry_field(problems: list[Problem], outer: str, name: str, entry: Entry) -> Field:
    # The place of a scalar is its own; a value that spans lines, and an absent one, has that of its name.
    scalar = isinstance(entry.value.data, (str, int, float)) and "\n" not in entry.value.written
    return Field(problems, path_of(outer, name), entry.value.place if scalar else entry.place, entry.value)


def _described(value: Value) -> str:
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


def shown(text: str, *, quoted: bool = True) -> str:
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return json.dumps(text, ensure_ascii=False) if quoted else text


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
