"""Pods that are alike in all but their names: what follows from the kind is computed once for thousands of pods."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from schedproof.oracle.manifest import Manifest

Placed = tuple["Manifest", "str | None"]
"""A pod with its name and namespace, and its node; none where it is not bound."""


class Kind(NamedTuple):
    """Its spec and labels, as JSON, and its namespace."""

    spec: str
    labels: str
    namespace: str


class Kinds:
    """Tells kinds. The pods that it was asked about must outlive it."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._empty: dict[str, str] = {}

    def of(self, pod: Manifest) -> Kind:
        metadata = pod["metadata"]
        labels = metadata.get("labels") or self._empty
        return Kind(self._text(pod["spec"]), self._text(labels), metadata.get("namespace") or "")

    def examples(self, pods: Iterable[Placed]) -> dict[Kind, Placed]:
        """The first of each kind."""
        found: dict[Kind, Placed] = {}
        for pod, node in pods:
            found.setdefault(self.of(pod), (pod, node))
        return found

    def _text(self, value: Manifest) -> str:
        key = id(value)  # pods of one template share these objects; no id is used twice as long as they live
        if key not in self._texts:
            self._texts[key] = json.dumps(value, sort_keys=True)
        return self._texts[key]
