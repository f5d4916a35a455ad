"""Reads YAML with the position of each value, and reports what is wrong with it.

Scalars have the same meaning as in Kubernetes: no dates, no base-60 numbers, `1e3` is a number.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import re
from pathlib import Path
from typing import Final

import yaml

from schedproof.documents.problems import DescriptorError, Place, Problem

_LARGEST_FILE = 1 << 20
_DEEPEST = 50
_MOST_VALUES = 20_000  # after the expansion of aliases: a small file can describe a huge tree


class Mark(enum.Enum):
    """Stands for a value that is missing or invalid."""

    ABSENT = "absent"
    INVALID = "invalid"
    """Its problem is recorded; report nothing more about it."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A node of the document. `written` is a scalar as written in the file."""

    place: Place
    data: str | int | float | bool | list[Value] | dict[str, Entry] | Mark | None
    written: str = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A field of a mapping, with the place of its name."""

    place: Place
    value: Value


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's type


_TAG: Final = "tag:yaml.org,2002:"
_BOOL: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
for _name, _pattern, _first in (
    (
        "bool",
        r"^(?:true|True|TRUE|yes|Yes|YES|on|On|ON|false|False|FALSE|no|No|NO|off|Off|OFF)$",
        "tTyYoOfFnN",
    ),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^(?:[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+)$", "-+0123456789"),
    (
        "float",
        r"^[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$",
        "-+.0123456789",
    ),
    ("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("merge", r"^<<$", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), list(_first))


def read_document(path: Path, problems: list[Problem]) -> Value:
    """Return the one document in `path`. Problems inside it are added to `problems`.

    Raises:
        DescriptorError: the file cannot be read, is not YAML, or does not have exactly one document.
    """
    text = _text(path)
    whole = Place(str(path))
    try:
        documents = [node for node in yaml.compose_all(text, _Loader) if not _is_blank(node)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(str(path), mark.line + 1, mark.column + 1) if mark else whole
        raise DescriptorError([_syntax_problem(place, error, text)]) from None
    except RecursionError:
        raise DescriptorError(
            [Problem(whole, "", "not-supported", "it is nested too deeply", "remove levels of nesting")]
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # Characters that YAML does not allow; escapes and numbers that Python cannot represent.
        message = f"not valid YAML: {' '.join(str(error).split())}"
        raise DescriptorError([Problem(whole, "", "not-yaml", message, "write plain text in UTF-8")]) from None
    if not documents:
        raise DescriptorError(
            [
                Problem(
                    whole,
                    "",
                    "empty-file",
                    "the file is empty",
                    "write a document; docs/candidate.md has an example of each kind of candidate",
                )
            ]
        )
    if len(documents) > 1:
        place = _place(whole, documents[1])
        message = f"expected one document, found {len(documents)}"
        raise DescriptorError(
            [Problem(place, "", "wrong-number", message, "keep one document per file, without `---` between")]
        )
    return _Reader(str(path), problems).value(documents[0], "", ())


def _text(path: Path) -> str:
    whole = Place(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise DescriptorError([Problem(whole, "", "no-such-file", "there is no such file", _near_file(path))]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DescriptorError(
            [Problem(whole, "", "unreadable-file", f"it cannot be read: {reason}", "name a readable file")]
        ) from None
    if len(data) > _LARGEST_FILE:
        raise DescriptorError(
            [
                Problem(
                    whole,
                    "",
                    "unreadable-file",
                    "expected a file of at most 1 MiB, found more",
                    "name a file that was written by hand",
                )
            ]
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = Place(str(path), line, column)
        raise DescriptorError([Problem(place, "", "unreadable-file", "it is not UTF-8", "save it in UTF-8")]) from None


def _near_file(path: Path) -> str:
    try:
        for name in ("candidate.yaml", "candidate.yml"):
            if path.with_name(name).is_file() and path.name != name:
                return f"did you mean {path.with_name(name)}?"
    except (OSError, ValueError):
        pass  # the hint is a courtesy
    return "name an existing file: for a candidate its candidate.yaml, or the folder that contains it"


def _is_blank(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}null" and not node.value)


def _place(whole: Place, node: yaml.Node) -> Place:
    return Place(whole.file, node.start_mark.line + 1, node.start_mark.column + 1)


def _syntax_problem(place: Place, error: yaml.MarkedYAMLError, text: str) -> Problem:
    lines = text.splitlines()
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    reason = str(error.problem or error.context or "it cannot be parsed")
    if "\\t" in reason or line.lstrip(" ").startswith("\t"):
        fix = "indent with spaces, not with tabs"
    elif braces := re.search(r"\{[A-Za-z_]\w*\}", line):
        fix = f'put text with {braces[0]} between quotes: "...{braces[0]}..."'
    elif "mapping values are not allowed" in reason:
        fix = "check the indentation; put a text that contains `: ` between quotes"
    elif "cannot start any token" in reason:
        fix = "put a text that begins with a special character between quotes"
    elif "scanning an alias" in str(error.context):
        fix = "put a text that begins with * between quotes"
    else:
        fix = "check the indentation, brackets and quotes on this line and the line before"
    return Problem(place, "", "not-yaml", f"not valid YAML: {reason}", fix)


class _Reader:
    """Turns composed nodes into values, and reports problems that no field could accept."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._whole = Place(file)
        self._problems = problems
        self._count = 0

    def _invalid(self, node: yaml.Node, path: str, code: str, message: str, fix: str) -> Value:
        place = _place(self._whole, node)
        self._problems.append(Problem(place, path, code, message, fix))
        return Value(place, Mark.INVALID)

    def value(self, node: yaml.Node, path: str, above: tuple[yaml.Node, ...]) -> Value:
        self._count += 1
        if self._count > _MOST_VALUES:
            problem = Problem(
                _place(self._whole, node),
                path,
                "endless",
                f"expected at most {_MOST_VALUES} values after the expansion of aliases (*name), found more",
                "use fewer aliases or values",
            )
            raise DescriptorError([problem])
        if any(node is outer for outer in above):
            return self._invalid(
                node,
                path,
                "endless",
                "an alias (*name) is inside its own anchor (&name)",
                "replace the alias by a value",
            )
        if len(above) >= _DEEPEST:
            return self._invalid(
                node,
                path,
                "not-supported",
                f"expected at most {_DEEPEST} levels of nesting, found more",
                "remove levels of nesting",
            )
        above = (*above, node)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path, above)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            items = [self.value(item, f"{path}[{index}]", above) for index, item in enumerate(node.value)]
            return Value(_place(self._whole, node), items)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        return self._unknown_tag(node, path)

    def _unknown_tag(self, node: yaml.Node, path: str) -> Value:
        tag = node.tag.replace(_TAG, "!!")
        return self._invalid(
            node, path, "not-supported", f"the tag {tag} is not supported", "write the value without a tag"
        )

    def _mapping(self, node: yaml.MappingNode, path: str, above: tuple[yaml.Node, ...]) -> Value:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            name = self._key(key_node, path)
            if name is None:
                continue
            inner = path_of(path, name)
            if name in entries:
                first = entries[name].place.line
                self._invalid(
                    key_node, inner, "duplicate", f"given twice, first on line {first}", "keep one of the two"
                )
                continue
            entries[name] = Entry(_place(self._whole, key_node), self.value(value_node, inner, above))
        return Value(_place(self._whole, node), entries)

    def _key(self, node: yaml.Node, path: str) -> str | None:
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}merge":
            self._invalid(node, path, "not-supported", "merge keys (<<) are not supported", "write the fields out")
        elif not isinstance(node, yaml.ScalarNode):
            self._invalid(
                node,
                path,
                "wrong-type",
                "expected a string as the name of a field, found a list or mapping",
                "put braces and brackets between quotes",
            )
        elif node.tag != f"{_TAG}str":
            kind = node.tag.removeprefix(_TAG)
            message = f"expected a string as the name of a field, found {node.value!r}, which YAML reads as {kind}"
            self._invalid(node, path, "wrong-type", message, f'quote it: "{node.value}"')
        elif isinstance(self._scalar(node, path).data, str):
            return str(node.value)
        return None

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Value:
        written = str(node.value)
        data: str | float | bool | None
        try:
            match node.tag.removeprefix(_TAG):
                case "str":
                    written.encode()  # lone surrogates cannot leave this process
                    if "\0" in written:
                        return self._invalid(
                            node, path, "malformed", "it contains a NUL character", "remove that character"
                        )
                    data = written
                case "int":
                    data = int(written, 0)
                case "float":
                    data = float(written.lower().replace(".inf", "inf").replace(".nan", "nan"))
                    if not math.isfinite(data):
                        return self._invalid(
                            node,
                            path,
                            "out-of-range",
                            f"expected a finite number, found {written}",
                            "write a finite number",
                        )
                case "bool":
                    data = _BOOL[written.lower()]
                case "null":
                    data = None
                case "merge":
                    data = written
                case _:
                    return self._unknown_tag(node, path)
        except (ValueError, KeyError):
            shown = written if len(written) <= 40 else f"{written[:40]}..."
            kind = node.tag.removeprefix(_TAG)
            return self._invalid(
                node, path, "malformed", f"{shown!r} cannot be read as {kind}", "write a plain value, or quote it"
            )
        return Value(_place(self._whole, node), data, written)


def path_of(outer: str, name: str) -> str:
    """Return the path of the field `name` in `outer`."""
    simple = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name)
    inner = name if simple else f'["{name}"]'
    return f"{outer}.{inner}" if outer and simple else f"{outer}{inner}"
