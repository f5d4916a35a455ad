"""The recording rules whose results a candidate queries: `claims.network.rules`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator

from schedproof.candidate.reading import wrong_braces
from schedproof.documents.model import (
    Anything,
    Mapped,
    OrFile,
    Such,
    Text,
    Written,
    Wrong,
    checked,
    matching,
    refuse,
)


@dataclasses.dataclass(frozen=True)
class RecordingRule(Mapped):
    record: Annotated[
        Text,
        matching(
            r"[A-Za-z_:][A-Za-z0-9_:]*", "expected the name of a recorded metric", "such as node:received:rate30s"
        ),
        Such("node:received:rate30s"),
    ]
    expr: Annotated[
        Text, checked(lambda text: wrong_braces(text, ("device", "window"))), Such("'sum by (node) (rate(...))'")
    ]
    labels: Annotated[Anything, Such("{team: network}")] = dataclasses.field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The rule as Prometheus has it."""
        return dataclasses.asdict(self)


def _read(value: Any) -> Any:
    return _of_file(value) if isinstance(value, Written) else value


def _of_file(name: Written) -> tuple[Mapping[str, Any], ...]:
    """Read the recording rules of a file. Alerting rules, and the intervals of groups, are ignored."""
    file = name.folder / name
    try:
        return tuple(
            {"record": str(rule["record"]), "expr": str(rule["expr"]), "labels": dict(rule.get("labels") or {})}
            for group in yaml.safe_load(file.read_text())["groups"]
            for rule in group.get("rules") or ()
            if "record" in rule
        )
    except OSError as error:
        fix = "write a path relative to the folder of candidate.yaml"
        refuse([Wrong("unreadable-file", f"cannot be read: {error.strerror}", fix)])
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        message = f"{file.name} is not a file of Prometheus rules: {str(error)[:120]}"
        refuse([Wrong("malformed", message, "run `promtool check rules FILE`")])
    return ()


Rules = Annotated[
    tuple[RecordingRule, ...],
    BeforeValidator(_read),
    OrFile(),
    Such("[{record: node:received:rate30s, expr: 'sum by (node) (rate(...))'}]"),
]
"""A list of rules, or the name of a file of Prometheus rules."""
