"""`schedproof candidates`: what is shipped to be tried, compared with, or looked at failing."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from schedproof.candidate.shipped import find_candidate, shipped_names


@dataclasses.dataclass(frozen=True)
class Shipped:
    """A shipped candidate; `about` is a sentence."""

    name: str
    kind: str
    about: str


def shipped(containing: str = "") -> Iterator[Shipped]:
    """Those whose name contains a text; without one the references come first, then folder by folder."""
    for name in sorted(shipped_names(), key=lambda name: ("/" in name, name)):
        if containing in name:
            candidate = find_candidate(name)
            yield Shipped(name, candidate.kind, _first_sentence(candidate.path))


def _first_sentence(file: Path) -> str:
    """Of the comment that a candidate.yaml begins with."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<=\.)\s", " ".join(lines), maxsplit=1)[0].rstrip(".")
