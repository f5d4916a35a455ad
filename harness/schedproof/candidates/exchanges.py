"""What the taps saw, as records of the history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from schedproof.candidates.taps import Exchange

__all__ = ["describe_extender_call", "describe_query"]

_MOST = 4_000
"""Characters kept of an answer's text."""


def describe_query(exchange: Exchange) -> dict[str, Any]:
    """The `query` record of an exchange with Prometheus."""
    target = urlsplit(exchange.path)
    asked = parse_qs(target.query) | parse_qs(exchange.body.decode(errors="replace"))
    return {"request": asked.get("query", [target.path])[0], "path": target.path, **_answer(exchange)}


def describe_extender_call(exchange: Exchange) -> dict[str, Any]:
    """The `extender` record of a call: what was asked and answered, as far as it is of the extender API's shape.

    Go's decoder takes names of fields in any case (k8s.io/kube-scheduler/extender/v1), and so do we.
    """
    _, body = _parsed(exchange.body)
    asked = _fields(body)
    is_json, answer = _parsed(exchange.answer)
    metadata = _fields(_fields(asked.get("pod")).get("metadata"))
    pod = f"{metadata.get('namespace')}/{metadata.get('name')}" if metadata else ""
    if "podname" in asked:
        pod = f"{asked.get('podnamespace')}/{asked['podname']}"
    fields = _fields(answer)
    return {
        "request": exchange.path.lstrip("/"),
        **_origin(exchange.by),
        "pod": pod,
        "asked": _nodes(asked),
        "answered": _nodes(fields),
        "mode": _mode(asked),
        "answered_mode": _mode(fields),
        "scores": _scores(answer) if is_json else None,
        "error": str(fields.get("error") or ""),
        "json": is_json,
        **_answer(exchange),
    }


def _origin(by: str) -> dict[str, str]:
    """Who asked; of our own calls also the case, the verb and what was sent."""
    if not by:
        return {"by": "scheduler"}
    case, verb, what = by.split(" ", 2)
    return {"by": "harness", "case": case, "verb": verb, "what": what}


def _answer(exchange: Exchange) -> dict[str, Any]:
    record = {
        "status": exchange.status,
        "answer": exchange.answer[:_MOST].decode(errors="replace"),
        "bytes": len(exchange.path) + len(exchange.body) + len(exchange.answer),
        "seconds": round(exchange.seconds, 6),
    }
    return {**record, "fault": exchange.fault} if exchange.fault else record


def _parsed(text: bytes) -> tuple[bool, Any]:
    """Whether it is JSON, and what it says."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _fields(value: Any) -> dict[str, Any]:
    return {str(name).lower(): inner for name, inner in value.items()} if isinstance(value, dict) else {}


def _mode(fields: dict[str, Any]) -> str:
    """Whether nodes are given by name or whole; "" where they are not."""
    return "names" if fields.get("nodenames") is not None else "nodes" if fields.get("nodes") is not None else ""


def _nodes(fields: dict[str, Any]) -> list[str] | None:
    names = fields.get("nodenames")
    if isinstance(names, list):
        return [str(name) for name in names]
    items = _fields(fields.get("nodes")).get("items")
    if isinstance(items, list):
        return [str(_fields(_fields(item).get("metadata")).get("name")) for item in items]
    return None


def _scores(answer: Any) -> list[list[Any]] | None:
    """Host and score, in the order of the answer to prioritize; None where it is of another shape.

    Null is Go's empty list.
    """
    if answer is None:
        return []
    if not isinstance(answer, list) or not all(isinstance(item, dict) for item in answer):
        return None
    return [[_fields(item).get("host"), _fields(item).get("score")] for item in answer]
