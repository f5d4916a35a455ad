"""Texts of files, and of ConfigMaps among the manifests of a file: `{from: FILE, configMap: NAME, key: KEY}`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from schedproof.documents.manifests import read_manifests
from schedproof.documents.model import Written, Wrong, existing, refuse, shown
from schedproof.documents.problems import DescriptorError
from schedproof.documents.suggestions import did_you_mean

_FIELDS = ("from", "configMap", "key")
SCHEMA: dict[str, Any] = {
    "type": "object", "required": ["from"], "additionalProperties": False,
    "properties": {
        "from": {"title": "file", "type": "string", "pattern": r"\S", "description": "a file, whose text is taken"},
        "configMap": {
            "title": "text", "type": "string",
            "description": "the name of a ConfigMap among the manifests of the file, which has the text",
        },
        "key": {"title": "text", "type": "string", "description": "its key; may be left out if it has only one"},
    },
}  # fmt: skip
"""The JSON Schema of such a mapping."""


def text_from(value: dict[str, Any]) -> str:
    """The text that a mapping names; refuses what is wrong with it."""
    refuse(
        Wrong("unknown-field", f"unknown field {shown(name)}", did_you_mean(name, _FIELDS), (name,))
        for name in value
        if name not in _FIELDS
    )
    refuse(wrong for name in _FIELDS for wrong in _ill_typed(name, value.get(name)))
    file = existing(value["from"], folder=False, at=("from",))
    if "configMap" in value or "key" in value:
        return _in_config_map(file, value.get("configMap"), value.get("key"))
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        refuse([Wrong("unreadable-file", "cannot be read as UTF-8 text", "name a text file", ("from",))])
        raise


def _ill_typed(name: str, value: Any) -> Iterator[Wrong]:
    if name != "from" and value is None:
        return
    if not isinstance(value, Written) or not value.strip():
        code, found = ("missing-field", "missing: ") if value is None else ("wrong-type", "")
        what = {"from": "the name of a file", "configMap": "the name of a ConfigMap", "key": "a key of its data"}[name]
        such = {"from": "conf/config.yaml", "configMap": "scheduler-config", "key": "config.yaml"}[name]
        yield Wrong(code, f"{found}expected {what}", f"such as `{name}: {such}`", (name,))


def _in_config_map(file: Path, name: str | None, key: str | None) -> str:
    try:
        manifests = read_manifests(file)
    except DescriptorError as error:
        refuse(error.problems)
        raise
    maps = {each["metadata"]["name"]: each.get("data") or {} for each in manifests if each["kind"] == "ConfigMap"}
    data = maps[_chosen(name, maps, "configMap", f"ConfigMap in {file.name}")]
    return str(data[_chosen(key, data, "key", "key in the ConfigMap")])


def _chosen(name: str | None, known: Collection[str], field: str, what: str) -> str:
    """The name that is written, or the only one there is."""
    if name is None and len(known) == 1:
        return next(iter(known))
    if name is None and known:
        fix = f"add {field}, one of {', '.join(known)}"
        refuse([Wrong("missing-field", f"there is more than one {what}", fix)])
    if not known:
        refuse([Wrong("invalid-manifest", f"there is no {what}", "name another file", ("from",))])
    if name not in known:
        fix = did_you_mean(str(name), known)
        refuse([Wrong("unknown-value", f"there is no {what} named {shown(str(name))}", fix, (field,))])
    return str(name)
