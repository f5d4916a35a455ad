"""The files of a candidate, as the ConfigMap by which they get into a cluster."""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.clusters.api import Manifest
from schedproof.foundation.errors import UsageError

LARGEST = 1 << 20
"""Bytes that a ConfigMap holds at most (MaxSecretSize of Kubernetes' API)."""

_SKIPPED = frozenset({"__pycache__", "node_modules", "schedproof-results"})


@dataclasses.dataclass(frozen=True)
class CandidateFiles:
    """The content of a ConfigMap, and the items of its volume, by which each file has its path again."""

    content: Manifest
    items: Sequence[Manifest]


def candidate_files(candidate: Candidate) -> CandidateFiles:
    """Return candidate.yaml and all files below its folder, except hidden ones.

    Raises:
        UsageError: they are too large for a ConfigMap, or one cannot be read.
    """
    files = sorted(_below(candidate.here))
    sizes = {file: file.stat().st_size for file in files}
    if (size := sum(sizes.values())) > LARGEST:
        largest = max(sizes, key=lambda file: sizes[file])
        raise UsageError(
            f"{candidate.path}: the {len(files)} files of its folder are {size:,} bytes, and a ConfigMap, by which "
            f"they get into the cluster, holds {LARGEST:,}; the largest is {largest.relative_to(candidate.here)} with "
            f"{sizes[largest]:,}",
            remedy="move candidate.yaml into a folder with only the files that it names; programs belong into the "
            "image (spec.image.ref)",
        )
    text: dict[str, str] = {}
    binary: dict[str, str] = {}
    items = []
    for number, file in enumerate(files):
        key = f"file-{number}"
        try:
            content = file.read_bytes()
        except OSError as error:
            raise UsageError(
                f"{file}: it cannot be read: {error.strerror}", remedy="permit it, or move it out of the folder"
            ) from error
        try:
            text[key] = content.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(content).decode()
        mode = 0o555 if os.access(file, os.X_OK) else 0o444
        items.append({"key": key, "path": str(file.relative_to(candidate.here)), "mode": mode})
    return CandidateFiles({"data": text, "binaryData": binary}, items)


def _below(folder: Path) -> Iterator[Path]:
    for home, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        yield from (path for name in names if not name.startswith(".") and (path := Path(home, name)).is_file())
