"""`schedproof candidates`: lists the shipped candidates."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from schedproof.candidate.shipped import find_candidate, shipped_names
from schedproof.foundation.content import is_checkout


@dataclasses.dataclass(frozen=True)
class Shipped:
    """A shipped candidate; `about` is a sentence."""

    name: str
    kind: str
    about: str


def shipped(containing: str = "") -> Iterator[Shipped]:
    """The candidates whose name contains a text; without a text, references come first, then folder by folder."""
    for name in sorted(shipped_names(), key=lambda name: ("/" in name, name)):
        if containing in name:
            candidate = find_candidate(name)
            yield Shipped(name, candidate.kind, _first_sentence(candidate.path))


def not_shipped() -> str:
    """Where to get the candidates that an installed wheel lacks; empty in a checkout.

    The address is that of `[project.urls]` in pyproject.toml.
    """
    if is_checkout():
        return ""
    urls = dict(entry.split(", ", 1) for entry in metadata.metadata("schedproof").get_all("Project-URL") or ())
    return (
        "planted defects, unusual and described schedulers are in the repository only: "
        f"`git clone {urls['Repository']} && cd schedproof && make setup && .venv/bin/schedproof candidates`"
    )


def _first_sentence(file: Path) -> str:
    """The first sentence of the comment that a candidate.yaml begins with."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<=\.)\s", " ".join(lines), maxsplit=1)[0].rstrip(".")
