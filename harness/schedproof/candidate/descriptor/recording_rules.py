"""Reads `claims.network.rules`: the recording rules whose results a candidate queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from schedproof.candidate.placeholders import complaints
from schedproof.documents.fields import Field, matching

_EXAMPLE = "[{record: node:received:rate30s, expr: 'sum by (node) (rate(...))'}]"
_RECORD = matching(
    r"[A-Za-z_:][A-Za-z0-9_:]*", "expected the name of a recorded metric", "such as node:received:rate30s"
)


def read_rules(field: Field) -> tuple[Mapping[str, Any], ...]:
    """Read `record`, `expr` and `labels` of each rule, from a Prometheus rules file or from a list."""
    if isinstance(field.value.data, str):
        return _of_file(field, Path(field.value.place.file).absolute().parent / field.text("rules.yaml"))
    rules = []
    for item in field.items(_EXAMPLE, empty=True):
        section = item.section("record", "expr", "labels")
        rules.append(
            {
                "record": section["record"].text("node:received:rate30s", _RECORD),
                "expr": section["expr"].text("'sum by (node) (rate(...))'", _expression),
                "labels": section["labels"].plain_mapping("{team: network}") if "labels" in section else {},
            }
        )
    return tuple(rules)


def _of_file(field: Field, file: Path) -> tuple[Mapping[str, Any], ...]:
    """Read the recording rules of a file. Alerting rules, and the intervals of groups, are ignored."""
    try:
        document = yaml.safe_load(file.read_text())
        return tuple(
            {"record": str(rule["record"]), "expr": str(rule["expr"]), "labels": dict(rule.get("labels") or {})}
            for group in document["groups"]
            for rule in group.get("rules") or ()
            if "record" in rule
        )
    except OSError as error:
        field.complain(
            "unreadable-file",
            f"cannot be read: {error.strerror}",
            "write a path relative to the folder of candidate.yaml",
        )
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        field.complain(
            "malformed",
            f"{file.name} is not a file of Prometheus rules: {str(error)[:120]}",
            "run `promtool check rules FILE`",
        )
    return ()


def _expression(text: str) -> Iterator[tuple[str, str]]:
    return complaints(text, unavailable={}, known=("device", "window"))
