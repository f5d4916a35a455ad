"""Writes image archives: for `docker load`, and for containerd's `ctr images import`."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cramjam

from schedproof.binaries.machine import machine
from schedproof.clusters.node_image.layers import LayerFile

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class Image:
    """An image with its full reference. `config` is the `config` of the OCI image specification."""

    reference: str
    layers: Sequence[LayerFile]
    config: Mapping[str, Any]

    def config_json(self) -> bytes:
        system, _, architecture = machine().partition("-")
        return _json(
            {
                "architecture": architecture,
                "os": system,
                "created": "1970-01-01T00:00:00Z",
                "config": {**self.config, "Env": [_PATH, *self.config.get("Env", ())]},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in self.layers]},
            }
        )


def docker_archive(images: Sequence[Image], path: Path) -> None:
    """Write all images into one gzipped archive for `docker load`, which contains shared layers once."""
    # Most of it is already compressed: containerd's store in the node image.
    with tarfile.open(path, mode="w:gz", compresslevel=1) as tar:
        manifest: list[dict[str, Any]] = []
        layers = {layer.digest: layer.path for image in images for layer in image.layers}
        for digest, layer in layers.items():
            info = tarfile.TarInfo(f"{digest}.tar")
            info.size = layer.stat().st_size
            with layer.open("rb") as source:
                tar.addfile(info, source)
        for image in images:
            config = image.config_json()
            name = f"{_digest(config)}.json"
            if name not in {each["Config"] for each in manifest}:
                _add(tar, name, config)
            paths = [f"{layer.digest}.tar" for layer in image.layers]
            manifest.append({"Config": name, "RepoTags": [image.reference], "Layers": paths})
        _add(tar, "manifest.json", _json(manifest))


def oci_archive(images: Sequence[Image], path: Path) -> None:
    """Write all images as an OCI image layout, with compressed layers, as containerd's store keeps them."""
    with tarfile.open(path, mode="w") as tar:
        blobs: set[str] = set()

        def blob(data: bytes, kind: str) -> dict[str, Any]:
            digest = _digest(data)
            if digest not in blobs:
                _add(tar, f"blobs/sha256/{digest}", data)
                blobs.add(digest)
            return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

        layers = {}
        for digest, source in {layer.digest: layer.path for image in images for layer in image.layers}.items():
            layers[digest] = blob(bytes(cramjam.zstd.compress(source.read_bytes(), level=3)), "layer.v1.tar+zstd")
        index = []
        for image in images:
            manifest = {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": blob(image.config_json(), "config.v1+json"),
                "layers": [layers[layer.digest] for layer in image.layers],
            }
            entry = blob(_json(manifest), "manifest.v1+json")
            index.append({**entry, "annotations": {"io.containerd.image.name": image.reference}})
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(tar, "index.json", _json({"schemaVersion": 2, "manifests": index}))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
