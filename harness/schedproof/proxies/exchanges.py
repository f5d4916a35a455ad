"""Turns the exchanges of taps into records of the history."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from schedproof.documents.extender_answers import read_answer, verb_of
from schedproof.proxies.exchange import Exchange

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_QUERIES = re.compile(
    r"/api/v1/(query|query_range|query_exemplars|format_query|parse_query|labels|series|read|search/\w+)\Z"
)
"""The paths to which POST requests change nothing in Prometheus (web/api/v1/api.go)."""
_OF_TARGETS = frozenset({"/api/v1/targets", "/api/v1/targets/metadata", "/api/v1/metadata"})
"""The paths that Prometheus answers from its scrapes alone, whatever samples it has."""
_MOST = 4_000
"""Characters of a response body that are kept."""


def only_asks(method: str, target: str) -> bool:
    """Whether a request leaves Prometheus unchanged: no samples written or deleted, no reload, no quit."""
    return method in _READING or (method == "POST" and _QUERIES.search(target.partition("?")[0]) is not None)


def asks_of_targets(method: str, target: str) -> bool:
    """Whether a request asks Prometheus for its targets, or for metadata, which comes from the targets."""
    return method == "GET" and target.partition("?")[0] in _OF_TARGETS


def describe_query(exchange: Exchange) -> dict[str, Any]:
    """Return the `query` record of an exchange with Prometheus."""
    target = urlsplit(exchange.path)
    asked = parse_qs(target.query) | parse_qs(exchange.body.decode(errors="replace"))
    request = {"request": asked.get("query", [target.path])[0], "path": target.path}
    return {**request, **_span(asked), **_answer(exchange)}


def _span(asked: Mapping[str, list[str]]) -> dict[str, float]:
    """The seconds from start to end of a range query whose moments are numbers, as clients mostly write them."""
    try:
        return {"span": max(0.0, float(asked["end"][0]) - float(asked["start"][0]))}
    except (KeyError, ValueError):
        return {}


def describe_extender_call(exchange: Exchange, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `extender` record of a call: the request, and the response as kube-scheduler reads it.

    `config` is the extender's configuration (`ExtenderConfig.recorded`); it determines the verb, and how nodes are
    given.
    """
    _, body = _parsed(exchange.body)
    asked = _fields(body)
    metadata = _fields(_fields(asked.get("pod")).get("metadata"))
    pod = f"{metadata.get('namespace')}/{metadata.get('name')}" if metadata else ""
    if "podname" in asked:
        pod = f"{asked.get('podnamespace')}/{asked['podname']}"
    request = exchange.path.lstrip("/")
    mode = _mode(asked)
    # kube-scheduler uses the configured mode; the harness's own calls may use the other one.
    by_names = mode == "names" if mode else bool(config.get("nodeCacheCapable"))
    verb = verb_of(request, config)
    answer = read_answer(exchange.answer, verb, by_names=by_names)
    victims: dict[str, Any] = {}
    if verb == "preemptVerb":
        victims = {**_victims(asked), "victims_answered": answer.victims, "violations_answered": answer.violations}
    return {
        "request": request,
        **_origin(exchange.by),
        "pod": pod,
        "asked": _nodes(asked),
        "answered": answer.nodes,
        "mode": mode,
        "answered_mode": answer.mode,
        "scores": answer.scores,
        "failed": answer.failed,
        **_binding(asked),
        **victims,
        "error": answer.error,
        "json": answer.json,
        "unreadable": exchange.go_refuses or answer.unreadable,
        **_answer(exchange),
    }


def _victims(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Victims in ExtenderPreemptionArgs by node, in either form: uids of pods, and NumPDBViolations other than 0."""
    found: dict[str, list[str]] = {}
    violations: dict[str, int] = {}
    for node, victims in {**_mapping(asked, "nodenametovictims"), **_mapping(asked, "nodenametometavictims")}.items():
        fields = _fields(victims)
        pods = [_fields(pod) for pod in fields.get("pods") or ()]
        found[node] = [str(pod.get("uid") or _fields(pod.get("metadata")).get("uid")) for pod in pods]
        if number := fields.get("numpdbviolations"):
            violations[node] = int(number)
    return {"victims_asked": found, "violations_asked": violations}


def _mapping(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _binding(asked: Mapping[str, Any]) -> dict[str, str]:
    """The uid and the node of ExtenderBindingArgs."""
    return {"uid": str(asked.get("poduid")), "node": str(asked.get("node"))} if "podname" in asked else {}


def _origin(by: str) -> dict[str, str]:
    """The client; for the harness's own calls also the case, the verb and the kind of request."""
    if not by:
        return {"by": "scheduler"}
    case, verb, what = by.split(" ", 2)
    return {"by": "harness", "case": case, "verb": verb, "what": what}


def _answer(exchange: Exchange) -> dict[str, Any]:
    passed = [
        len(kept) if size is None else size
        for kept, size in ((exchange.body, exchange.body_size), (exchange.answer, exchange.answer_size))
    ]
    record = {
        "status": exchange.status,
        "answer": exchange.answer[:_MOST].decode(errors="replace"),
        "bytes": len(exchange.path) + sum(passed),
        "seconds": round(exchange.seconds, 6),
    }
    optional = {"fault": exchange.fault, "broken": exchange.error, "cut": exchange.cut}
    return record | {name: value for name, value in optional.items() if value}


def _parsed(text: bytes) -> tuple[bool, Any]:
    """Return whether the text is JSON, and its value."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _fields(value: Any) -> dict[str, Any]:
    return {str(name).lower(): inner for name, inner in value.items()} if isinstance(value, dict) else {}


def _mode(fields: dict[str, Any]) -> str:
    """How nodes are given: "names", "nodes" (whole), or "" if they are absent."""
    return "names" if fields.get("nodenames") is not None else "nodes" if fields.get("nodes") is not None else ""


def _nodes(fields: dict[str, Any]) -> list[str] | None:
    names = fields.get("nodenames")
    if isinstance(names, list):
        return [str(name) for name in names]
    items = _fields(fields.get("nodes")).get("items")
    if isinstance(items, list):
        return [str(_fields(_fields(item).get("metadata")).get("name")) for item in items]
    return None
