"""`extends`: a candidate.yaml that inherits another candidate.yaml, and overrides some of its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from schedproof.candidate.placeholders import fill_known
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.yaml_source import Entry, Value, read_document

_EXTENDS = "extends"


def read_inherited(path: Path, problems: list[Problem], above: Sequence[Path] = ()) -> Value:
    """Read the document in `path`, merged over the document that its `extends` names (a file, or its folder).

    Mappings are merged field by field; any other value replaces the inherited value, and null removes an inherited
    mapping or list. Paths and `{here}` are relative to the folder of the file that contains them.

    Raises:
        DescriptorError: there is no document, or files extend each other in a circle.
    """
    document = read_document(path, problems)
    if not isinstance(document.data, dict) or _EXTENDS not in document.data:
        return document
    own = dict(document.data)
    named = own.pop(_EXTENDS).value
    document = dataclasses.replace(document, data=own)
    if not isinstance(named.data, str):
        problems.append(
            Problem(
                named.place,
                _EXTENDS,
                "wrong-type",
                "expected a file or folder",
                "such as `extends: ../least-traffic-extender`",
            )
        )
        return document
    base = (path.parent / named.data).resolve()
    base = base / "candidate.yaml" if base.is_dir() else base
    if base in above or base == path.resolve():
        raise DescriptorError(
            [
                Problem(
                    named.place,
                    _EXTENDS,
                    "endless",
                    f"{base} extends this file too, which is a cycle",
                    "remove `extends` from one of them",
                )
            ]
        )
    if not base.exists():
        fix = "name a candidate.yaml, or its folder, relative to the folder of this file"
        raise DescriptorError([Problem(named.place, _EXTENDS, "no-such-file", f"{base} does not exist", fix)])
    inherited = _settled(read_inherited(base, problems, (*above, path.resolve())), str(base.parent))
    return _merged(inherited, document)


def _settled(value: Value, here: str) -> Value:
    """Replace `{here}` in a base's values by the base's folder."""
    if isinstance(value.data, str):
        return dataclasses.replace(value, data=fill_known(value.data, {"here": here}))
    if isinstance(value.data, list):
        return dataclasses.replace(value, data=[_settled(item, here) for item in value.data])
    if isinstance(value.data, dict):
        entries = {name: Entry(entry.place, _settled(entry.value, here)) for name, entry in value.data.items()}
        return dataclasses.replace(value, data=entries)
    return value


def _merged(base: Value, own: Value) -> Value:
    if not isinstance(base.data, dict) or not isinstance(own.data, dict):
        return own
    entries = dict(base.data)
    for name, entry in own.data.items():
        if entry.value.data is None and name in entries and isinstance(entries[name].value.data, (dict, list)):
            del entries[name]
        elif name in entries:
            entries[name] = Entry(entry.place, _merged(entries[name].value, entry.value))
        else:
            entries[name] = entry
    return dataclasses.replace(own, data=entries)
