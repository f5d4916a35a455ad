"""Reads files of Kubernetes manifests as `kubectl apply -f` does: YAML or JSON, with one or several documents."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from schedproof.documents.problems import DescriptorError, Place, Problem

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_ENDINGS = (".yaml", ".yml", ".json")


def is_kustomization(path: Path) -> bool:
    """Whether the path is a folder for `kubectl apply -k`."""
    return any((path / name).is_file() for name in KUSTOMIZATIONS)


def manifest_files(path: Path) -> list[Path]:
    """Return the file itself, or the manifest files directly in a folder, in the order of their names."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in _ENDINGS and file.is_file())


class Placed(NamedTuple):
    """A manifest, and where its document begins."""

    place: Place
    manifest: dict[str, Any]


def read_manifests(path: Path) -> list[dict[str, Any]]:
    """Return the manifests of a file, or of the files of a folder.

    Raises:
        DescriptorError: with the problem and its place.
    """
    return [placed.manifest for placed in read_placed(path)]


def read_placed(path: Path) -> list[Placed]:
    """As `read_manifests`, with their places."""
    found: list[Placed] = []
    for file in manifest_files(path):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            problem = Problem(
                Place(str(file)),
                "",
                "unreadable-file",
                f"it cannot be read: {reason}",
                "name a readable file of manifests",
            )
            raise DescriptorError([problem]) from None
        found += parse_placed(text, file)
    if not found:
        raise DescriptorError(
            [
                Problem(
                    Place(str(path)),
                    "",
                    "invalid-manifest",
                    "expected at least one manifest, found none",
                    "name a file or folder with manifests, or leave it out",
                )
            ]
        )
    return found


def parse_manifests(text: str, file: Path) -> list[dict[str, Any]]:
    """Return the manifests in a text, including each item of a `List`.

    Raises:
        DescriptorError: with the problem and its place in `file`.
    """
    return [placed.manifest for placed in parse_placed(text, file)]


def parse_placed(text: str, file: Path) -> list[Placed]:
    """As `parse_manifests`, with their places."""
    try:
        # Prefer libyaml: CustomResourceDefinitions of ten thousand lines are common.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        nodes = [node for node in yaml.compose_all(text, loader) if node is not None]
        documents = list(yaml.load_all(text, loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(str(file), mark.line + 1, mark.column + 1) if mark else Place(str(file))
        message = f"not valid YAML: {error.problem or error.context}"
        raise DescriptorError(
            [Problem(place, "", "not-yaml", message, "correct it; `kubectl apply --dry-run=client -f` shows details")]
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DescriptorError(
            [Problem(Place(str(file)), "", "not-yaml", f"not valid YAML: {error}", "write YAML or JSON")]
        ) from None
    found: list[Placed] = []
    for node, document in zip(nodes, (document for document in documents if document is not None), strict=False):
        place = Place(str(file), node.start_mark.line + 1, node.start_mark.column + 1)
        for manifest in _items(document):
            if wrong := _wrong(manifest):
                raise DescriptorError(
                    [
                        Problem(
                            place,
                            "",
                            "invalid-manifest",
                            wrong,
                            "give each manifest apiVersion, kind and metadata.name, as strings",
                        )
                    ]
                )
            found.append(Placed(place, manifest))
    return found


def _items(document: Any) -> Iterator[Any]:
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List") and "items" in document:
        yield from document["items"] or ()
    else:
        yield document


def _wrong(manifest: Any) -> str:
    if not isinstance(manifest, dict):
        return f"expected a manifest, found {type(manifest).__name__}"
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str):
            return f"the manifest has no {field}"
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return f"the {manifest['kind']} has no metadata.name"
    return ""


def merged(template: Any, own: Any, name: str = "") -> Any:
    """Merge a pod over its template: mappings field by field; of lists, the pod's items follow the template's, but each
    of the pod's containers is merged over the template's first one.
    """
    if isinstance(template, dict) and isinstance(own, dict):
        both = {key: merged(template[key], own[key], key) for key in template if key in own}
        return {**copy.deepcopy(template), **own, **both}
    if isinstance(template, list) and isinstance(own, list):
        if name == "containers":
            return [merged(template[0], container) for container in own] if template else own
        return [*copy.deepcopy(template), *own]
    return own
