"""What is wrong with a record that was not written by us, or not as it is now. Pure.

Checked is what every version has written, and what is read without asking whether it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.history.record import Record

__all__ = ["FIELDS", "damage"]

_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text"),
    "int": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "list": ((list,), "a list"),
    "dict": ((dict,), "an object"),
    "body": ((dict, list), "an object or a list"),  # a JSON patch is one
}
_POD = "case:text pod:text uid:text"
# Fields with their types; `a.b` is the field b of the field a; with `?` it may be missing or null.
_FIELDS: Mapping[str, str] = {
    "run": (
        "candidate.name:text candidate.schedulerName:text candidate.path:text candidate.claims:dict cluster.name:text"
        " cluster.capabilities:list users.candidate:list seed:int versions:dict scheduler_names:list namespace:text"
        " epoch:number"
    ),
    "selected": "clauses:list allow_skipped?:bool",
    "case": "case:text phase:text early?:bool",
    "object": "resource:text type:text rv:int object.metadata.name:text object.metadata.uid?:text object.spec?:dict",
    "request": (
        "user:text verb:text resource:text namespace:text name:text code:int received:number completed:number"
        " line?:int body?:body uid?:text path?:text call?:text dry_run?:bool"
    ),
    "mark": "mark:int answered:number line:int received:number completed:number",
    "admission": f"{_POD} node:text user:text code:int held:bool effective:bool call?:text",
    "pod": f"{_POD} role:text phase?:int",
    "expect": f"{_POD} outcome:text rv:int within:number deadline?:text",
    "missed": "case:text what:text within:number deadline?:text",
    "seen": "rv:int shown_at_rv:int pod:text nodes?:int pods?:int",
    "aged": "case:text node:text rv:int seconds:number",
    "election": "case:text event:text user:text",
    "unseen": "reason:text rv:int",
    "trouble": "case:text text:text",
    "asserted": "case:text text:text",
    "fence": "case:text pod:text rv:int",
    "load": "case:text phase:int traffic:dict source:text",
    "reading": "case:text pod:text query:text traffic:dict",
    "lift": _POD,
    "emptied": "case:text",
    "fault": "case:text line:text fault:text on:bool",
    "halted": "case:text",
    "resumed": "case:text",
    "calm": "case:text seconds:number",
    "calm-over": "case:text seconds:number",
    "query": "request:text path:text status:int answer:text seconds:number bytes?:int",
    "extender": (
        "request:text pod:text asked?:list answered?:list scores?:list error?:text status:int answer:text"
        " seconds:number case?:text"
    ),
    "configuration": "document:dict",
    "start-failed": "text:text fix:text",
    "tried": "case:text arg:text code?:int log:list",
    "score": "pod:text scorer:text node:text score:number",
    "log": "case:text name:text lines:list",
    "process": "name:text event:text code?:int log?:list cause?:text",
    "scoring": "case:text surface:text cases:int questions:list answers:list",
}
FIELDS: Mapping[str, list[tuple[str, ...]]] = {
    kind: [tuple(field.split(":")) for field in fields.split()] for kind, fields in _FIELDS.items()
}
"""By kind of record: names and types of fields, as above."""


def damage(record: Record) -> str:
    """Which field of a record is missing, or of a wrong type; empty where none is. Unknown kinds pass."""
    for name, wanted in (("at", "number"), *FIELDS.get(record["kind"], ())):
        types, described = _TYPES[wanted]
        try:
            value = _value(record, name.removesuffix("?"))
        except KeyError:
            if not name.endswith("?"):
                return f"the field {name} is missing"
            continue
        if name.endswith("?") and value is None:
            continue
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            return f"the field {name.removesuffix('?')} is {_shown(value)}, expected {described}"
    return ""


def _value(record: Record, name: str) -> Any:
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict):
            raise KeyError(name)
        value = value[part]
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
