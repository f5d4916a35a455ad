"""The model of `spec.install`: manifests that a cluster has before a candidate starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict

from schedproof.candidate.reading import Reading
from schedproof.candidate.surroundings import ManifestPath, manifest_path
from schedproof.documents.manifests import Placed, is_kustomization, read_manifests
from schedproof.documents.model import Listed, Mapped, OrAlone, OrFile, Such, Text, Wrong, rule, shown
from schedproof.documents.suggestions import did_you_mean


def _listed(value: Any) -> Any:
    """A list, of which a single item may be written alone."""
    return [value] if isinstance(value, (str, dict)) else value


_NAMES = {"sources": "from"}


@dataclasses.dataclass(frozen=True)
class Installed(Mapped):
    """Files and folders of manifests, and the kinds of manifests in them that are applied."""

    __pydantic_config__ = ConfigDict(
        {**Mapped.__pydantic_config__, "alias_generator": lambda name: _NAMES.get(name, name)}
    )

    sources: Annotated[
        Listed[ManifestPath], BeforeValidator(_listed), OrFile("file, or folder"), Such("[release.yaml]")
    ]
    """a file or a folder of manifests, or a list of them"""
    kinds: Annotated[tuple[Text, ...], Such("[Namespace, CustomResourceDefinition, ClusterRole]")] = ()
    """the kinds of manifests that are applied, such as `CustomResourceDefinition`; all if absent"""

    @rule
    def _have_these_kinds(self, _: Reading) -> Iterator[Wrong]:
        if any(is_kustomization(path) for path in self.sources):
            return  # what it has shows when it is built
        found = kinds_in(manifest for path in self.sources for manifest in read_manifests(path))
        yield from (
            wrong._replace(at=("kinds", number))
            for number, kind in enumerate(self.kinds)
            for wrong in wrong_kind(kind, found)
        )

    def selects(self, placed: Placed) -> bool:
        """Whether a manifest is applied."""
        return not self.kinds or placed.manifest["kind"] in self.kinds


def kinds_in(manifests: Iterable[dict[str, Any]]) -> list[str]:
    """The kinds of manifests, each once, in their order."""
    return list(dict.fromkeys(str(manifest["kind"]) for manifest in manifests))


def wrong_kind(kind: str, found: list[str]) -> Iterator[Wrong]:
    """What is wrong with a kind that is to be applied, if no manifest is of that kind."""
    if kind not in found:
        yield Wrong("unknown-value", f"no manifest is of the kind {shown(kind)}", did_you_mean(kind, found))


def _item(value: Any) -> Any:
    return {"from": [manifest_path(value)]} if isinstance(value, (str, Path)) and str(value).strip() else value


Install = Annotated[
    Listed[
        Annotated[
            Installed,
            BeforeValidator(_item),
            OrFile("file, or folder"),
            Such("release.yaml", "a file or folder, or a mapping with from and kinds"),
        ]
    ],
    BeforeValidator(lambda value: _listed(value) if isinstance(value, dict) else value),
    OrAlone("list of files, folders and mappings, or one mapping"),
    Such("[crds/, queue.yaml]"),
]
"""`spec.install`: files, folders, or mappings with `from` and `kinds`; a single mapping may stand alone."""
