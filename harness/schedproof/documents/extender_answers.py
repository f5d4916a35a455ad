"""Reads an extender's response as kube-scheduler does: with Go's JSON decoder, into the types of the extender API.

Sources: `send` in pkg/scheduler/extender.go, k8s.io/kube-scheduler/extender/v1, and Go's encoding/json:
- the first value of the body is read, and the rest is not (`json.Decoder.Decode`);
- a byte order mark, NaN and an empty body are errors;
- field names match in any case, a field that is given twice is read twice, and unknown fields are skipped;
- half of a surrogate pair becomes U+FFFD;
- null leaves a string or a number unchanged, and empties a list, a map or a pointer;
- a value of another type is an error that voids the whole response, and a float is not an integer.

Of a whole Node only its name is read here: its other fields could void the response too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

VERBS = ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb")
"""The fields of an extender's configuration that contain the paths of its verbs."""

_INT64 = 1 << 63
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 400
"""Digits. An int64 has 19; Python refuses to parse more than 4,300."""


@dataclasses.dataclass(frozen=True)
class ExtenderAnswer:
    """The content of a response.

    `unreadable` is why kube-scheduler cannot read it, "" if it can. `nodes` are the names of the nodes that passed a
    filter, None if the response has no list that kube-scheduler would read; `mode` is how they are given ("names",
    "nodes", or "" without a list). `failed` are the nodes that did not pass, in lower case, with their reasons.
    `scores` are hosts and scores as in the response, None if it is not a HostPriorityList. `victims` are the uids of
    pods by node in an ExtenderPreemptionResult, and `violations` its NumPDBViolations by node, if not 0. `error` is
    the response's Error.
    """

    json: bool = True
    unreadable: str = ""
    nodes: list[str] | None = None
    mode: str = ""
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scores: list[list[Any]] | None = None
    victims: Mapping[str, list[str]] = dataclasses.field(default_factory=dict)
    violations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    error: str = ""


def verb_of(request: str, config: Mapping[str, Any]) -> str:
    """Return the one of `VERBS` that a request's path calls, by the extender's configuration; "" for none."""
    return next((verb for verb in VERBS if config.get(verb) and f"/{request}".endswith(f"/{config[verb]}")), "")


def read_answer(text: bytes, verb: str, *, by_names: bool) -> ExtenderAnswer:
    """Read the body of a response to `verb`, one of `VERBS`; `by_names`: whether nodeCacheCapable is set."""
    try:
        value = _first_value(text)
    except (ValueError, RecursionError) as error:
        return ExtenderAnswer(
            json=False, unreadable=f"not valid JSON: {error}" if text.strip() else "the body is empty"
        )
    reader = _Reader()
    answer = ExtenderAnswer()
    if verb == "prioritizeVerb":
        answer = ExtenderAnswer(scores=reader.scores(value))
    elif verb == "preemptVerb":
        victims, violations = reader.victims(value)
        answer = ExtenderAnswer(victims=victims, violations=violations)
    elif verb == "filterVerb":
        answer = reader.filtered(reader.fields(value, "the response"), by_names=by_names)
    # Responses to prioritize and preempt have no Error; if there is one nevertheless, it shows what happened.
    own = reader if verb not in ("prioritizeVerb", "preemptVerb") else _Reader()
    own_error = own.text(own.fields(value, "the response").get("error", ()), "Error")
    return dataclasses.replace(answer, error=own_error, unreadable=reader.problem)


class _Object(tuple[tuple[str, Any], ...]):
    """The fields of a JSON object in their order, including repeated ones."""

    __slots__ = ()


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float("inf")


def _folded(name: str) -> str:
    """Return a field name in lower case, as Go folds it: the long s is an s, and the kelvin sign is a k."""
    return name.replace("\u017f", "s").lower()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_constant=_refuse, parse_int=_number)


def _first_value(text: bytes) -> Any:
    value, _ = _DECODER.raw_decode(text.decode("utf-8", errors="replace").lstrip(" \t\r\n"))
    return value


class _Reader:
    """Reads values into Go's types. As Go does, it continues after a wrong type; it keeps the first problem."""

    def __init__(self) -> None:
        self.problem = ""

    def _of_other_type(self, value: Any, where: str, wanted: str) -> None:
        shown = json.dumps(value) if not isinstance(value, _Object | list) else _kind(value)
        self.problem = self.problem or f"{where} is {shown[:80]}, expected {wanted}"

    def fields(self, value: Any, where: str) -> dict[str, list[Any]]:
        """Return the values of each field, by name in lower case."""
        found: dict[str, list[Any]] = {}
        if isinstance(value, _Object):
            for name, inner in value:
                found.setdefault(_folded(name), []).append(inner)
        elif value is not None:
            self._of_other_type(value, where, "an object")
        return found

    def text(self, values: Any, where: str) -> str:
        result = ""
        for value in values:
            if isinstance(value, str):
                result = _SURROGATE.sub("\ufffd", value)
            elif value is not None:
                self._of_other_type(value, where, "a string")
        return result

    def items(self, values: Any, where: str) -> list[Any] | None:
        result: list[Any] | None = None
        for value in values:
            if isinstance(value, list) or value is None:
                result = value
            else:
                self._of_other_type(value, where, "a list")
        return result

    def scores(self, value: Any) -> list[list[Any]] | None:
        """Null is an empty list; a null element is a score without a host."""
        if value is not None and not isinstance(value, list):
            self._of_other_type(value, "the response", "a list of hosts and scores")
            return None
        result = []
        for number, item in enumerate(value or ()):
            where = f"element {number} of the response"
            if item is not None and not isinstance(item, _Object):
                self._of_other_type(item, where, "an object with Host and Score")
                return None
            fields = self.fields(item, where)
            host = self.text(fields.get("host", ()), f"Host in {where}")
            given = [score for score in fields.get("score", ()) if score is not None]
            for score in given:
                self._check_integer(score, f"the score of {host or where}")
            result.append([host if "host" in fields else None, given[-1] if given else None])
        return result

    def _check_integer(self, value: Any, where: str) -> bool:
        if type(value) is int and -_INT64 <= value < _INT64:
            return True
        self._of_other_type(value, where, "an integer")
        return False

    def filtered(self, fields: Mapping[str, list[Any]], *, by_names: bool) -> ExtenderAnswer:
        """Read a filter's response: NodeNames if nodeCacheCapable, and Nodes if NodeNames do not count (`Filter`)."""
        names = self.items(fields.get("nodenames", ()), "NodeNames")
        named = None if names is None else [self.text([name], "an element of NodeNames") for name in names]
        whole: list[str] | None = None
        for value in fields.get("nodes", ()):
            if value is None:
                whole = None
                continue
            items = self.items(self.fields(value, "Nodes").get("items", ()), "Nodes.items")
            whole = [self._node(item) for item in items or ()]
        reasons: dict[str, str] = {}
        for failures in ("failednodes", "failedandunresolvablenodes"):
            for value in fields.get(failures, ()):
                reasons |= self._texts(value, failures)
        if by_names and named is not None:
            return ExtenderAnswer(nodes=named, mode="names", failed=reasons)
        return ExtenderAnswer(nodes=whole, mode="nodes" if whole is not None else "", failed=reasons)

    def _node(self, item: Any) -> str:
        metadata = self.fields(item, "an element of Nodes.items").get("metadata", ())
        names = [name for value in metadata for name in self.fields(value, "metadata of a node").get("name", ())]
        return self.text(names, "the name of a node")

    def _texts(self, value: Any, where: str) -> dict[str, str]:
        return {name: self.text(texts, f"a reason in {where}") for name, texts in self.fields(value, where).items()}

    def victims(self, value: Any) -> tuple[dict[str, list[str]], dict[str, int]]:
        """Read an ExtenderPreemptionResult: by node, the uids of the victims, and NumPDBViolations other than 0."""
        found: dict[str, list[str]] = {}
        violations: dict[str, int] = {}
        for nodes in self.fields(value, "the response").get("nodenametometavictims", ()):
            for node, all_victims in self.fields(nodes, "NodeNameToMetaVictims").items():
                for victims in all_victims:
                    fields = self.fields(victims, f"the victims on {node}")
                    found[node] = [
                        self.text(self.fields(pod, f"a victim on {node}").get("uid", ()), "the uid of a victim")
                        for pod in self.items(fields.get("pods", ()), f"the victims on {node}") or ()
                    ]
                    for number in fields.get("numpdbviolations", ()):
                        if number and self._check_integer(number, f"NumPDBViolations on {node}"):
                            violations[node] = number
        return found, violations


def _kind(value: Any) -> str:
    return "an object" if isinstance(value, _Object) else "a list"
