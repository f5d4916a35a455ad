"""Layers contain the added files, owned by root, with the same bytes every time; archives contain the layers."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import cramjam
import pytest

from schedproof.clusters.node_image.archive import Image, docker_archive, oci_archive
from schedproof.clusters.node_image.layers import Layer, LayerFile
from schedproof.foundation.errors import HostError


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {info.name: info for info in tar}


def content(path: Path, name: str) -> bytes:
    with tarfile.open(path) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


@pytest.fixture
def deb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A package, and a dpkg-deb that unpacks it."""
    script = tmp_path / "bin" / "dpkg-deb"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\nexec /bin/cat "$2"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))

    def make(**files: str | bytes) -> Path:
        path = tmp_path / "some.deb"
        with tarfile.open(path, "w") as tar:
            for name, value in files.items():
                info = tarfile.TarInfo(f"./{name}")
                info.uname, info.mtime, info.uid = "somebody", 7, 42
                if isinstance(value, str):
                    kind, _, info.linkname = value.partition(" ")
                    info.type = {"dir": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE, "link": tarfile.LNKTYPE}[kind]
                    tar.addfile(info)
                else:
                    info.size = len(value)
                    tar.addfile(info, io.BytesIO(value))
        return path

    return make


def test_files_folders_and_links_are_owned_by_root_with_their_modes_and_parents(tmp_path: Path):
    (tmp_path / "tool").write_bytes(b"x" * 3000)
    layer = Layer()
    layer.file("opt/bin/tool", tmp_path / "tool", 0o755)
    layer.file("etc/name", b"first")
    layer.file("etc/name", b"second", 0o600)
    layer.link("tool", "opt/bin/tool")
    layer.folder("tmp", 0o1777)
    found = members(layer.write(tmp_path / "layer").path)
    assert list(found) == ["etc", "etc/name", "opt", "opt/bin", "opt/bin/tool", "tmp", "tool"]
    assert all((info.uid, info.gid, info.mtime) == (0, 0, 0) for info in found.values())
    assert (found["opt/bin/tool"].mode, found["etc/name"].mode, found["tmp"].mode) == (0o755, 0o600, 0o1777)
    assert found["opt"].isdir()
    assert found["tool"].linkname == "opt/bin/tool"
    assert content(tmp_path / "layer", "etc/name") == b"second"
    assert content(tmp_path / "layer", "opt/bin/tool") == b"x" * 3000


def test_the_same_entries_give_the_same_bytes_and_their_digest(tmp_path: Path):
    digests = set()
    for order in (("a", "b"), ("b", "a")):
        layer = Layer()
        for name in order:
            layer.file(name, name.encode())
        written = layer.write(tmp_path / "layer")
        assert written.digest == hashlib.sha256(written.path.read_bytes()).hexdigest()
        digests.add(written.digest)
    assert len(digests) == 1


def test_a_tree_is_added_with_its_modes(tmp_path: Path):
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "file").write_text("here")
    (tmp_path / "tree" / "sub" / "file").chmod(0o640)
    layer = Layer()
    layer.tree(tmp_path / "tree", "var/lib/it")
    found = members(layer.write(tmp_path / "layer").path)
    assert set(found) == {"var", "var/lib", "var/lib/it", "var/lib/it/sub", "var/lib/it/sub/file"}
    assert found["var/lib/it/sub/file"].mode == 0o640


def test_a_package_is_unpacked_into_a_merged_usr_without_manuals_and_readme_files(tmp_path: Path, deb):
    package = deb(**{
        "bin": "dir", "bin/sh": "symlink dash", "bin/dash": b"shell",
        "usr/bin": "dir", "usr/bin/zdash": "link ./bin/dash", "lib/x/libc.so": b"c",
        "usr/share/doc/dash/README": b"-", "usr/share/doc/dash/copyright": b"free", "usr/share/man/man1/dash.1": b"-",
    })  # fmt: skip
    layer = Layer()
    layer.packages([package])
    found = members(layer.write(tmp_path / "layer").path)
    assert {found[name].linkname for name in ("bin", "sbin", "lib", "lib64")} == {
        "usr/bin", "usr/sbin", "usr/lib", "usr/lib64",
    }  # fmt: skip
    assert {"usr/bin/sh", "usr/bin/dash", "usr/lib/x/libc.so", "usr/share/doc/dash/copyright"} < set(found)
    assert not {"bin/sh", "usr/share/doc/dash/README", "usr/share/man/man1/dash.1"} & set(found)
    assert found["usr/bin/dash"].uid == 42
    # A hard link comes after what it links to, whatever their names.
    assert (list(found)[-1], found["usr/bin/zdash"].linkname) == ("usr/bin/zdash", "usr/bin/dash")
    assert layer.read("usr/bin/dash") == b"shell"


def test_paths_are_listed_and_removed_by_pattern():
    layer = Layer()
    for name in ("etc/a.wants/x", "etc/b.wants/y", "etc/c"):
        layer.file(name, b"")
    assert layer.paths("etc/*.wants/*") == ["etc/a.wants/x", "etc/b.wants/y"]
    layer.remove("etc/*.wants/*", "nothing")
    assert layer.paths("*") == ["etc/c"]


def test_a_package_that_cannot_be_unpacked_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"some\.deb cannot be unpacked"):
        Layer().packages([tmp_path / "some.deb"])


@pytest.fixture
def images(tmp_path: Path) -> list[Image]:
    """Two images that share a layer."""

    def layer(name: str) -> LayerFile:
        made = Layer()
        made.file(name, name.encode() * 1000)
        return made.write(tmp_path / f"{name}.tar")

    shared, own = layer("shared"), layer("own")
    return [
        Image("schedproof/one:1", [shared], {"Cmd": ["/one"]}),
        Image("schedproof/two:1", [shared, own], {"Env": ["A=b"]}),
    ]


def test_a_docker_archive_contains_each_layer_once_and_each_image_with_its_configuration(tmp_path: Path, images):
    docker_archive(images, tmp_path / "archive")
    manifest = json.loads(content(tmp_path / "archive", "manifest.json"))
    assert [each["RepoTags"] for each in manifest] == [["schedproof/one:1"], ["schedproof/two:1"]]
    assert manifest[0]["Layers"] == manifest[1]["Layers"][:1]
    assert len(members(tmp_path / "archive")) == 2 + 2 + 1  # layers, configurations, the manifest
    for each, image in zip(manifest, images, strict=True):
        config = json.loads(content(tmp_path / "archive", each["Config"]))
        layers = [hashlib.sha256(content(tmp_path / "archive", name)).hexdigest() for name in each["Layers"]]
        assert config["rootfs"]["diff_ids"] == [f"sha256:{digest}" for digest in layers]
        assert layers == [layer.digest for layer in image.layers]
    two = json.loads(content(tmp_path / "archive", manifest[1]["Config"]))["config"]
    assert two["Env"][0].startswith("PATH=/usr/local/sbin:")
    assert two["Env"][1] == "A=b"


def test_an_oci_archive_names_blobs_by_digest_and_compresses_layers(tmp_path: Path, images):
    oci_archive(images, tmp_path / "archive")

    def blob(descriptor: dict) -> bytes:
        data = content(tmp_path / "archive", f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}")
        assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (descriptor["size"], descriptor["digest"])
        return data

    index = json.loads(content(tmp_path / "archive", "index.json"))["manifests"]
    assert [each["annotations"]["io.containerd.image.name"] for each in index] == [each.reference for each in images]
    for entry, image in zip(index, images, strict=True):
        manifest = json.loads(blob(entry))
        diff_ids = json.loads(blob(manifest["config"]))["rootfs"]["diff_ids"]
        unpacked = [bytes(cramjam.zstd.decompress(blob(layer))) for layer in manifest["layers"]]
        assert [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in unpacked] == diff_ids
        assert unpacked == [layer.path.read_bytes() for layer in image.layers]
    assert len(members(tmp_path / "archive")) == 2 + 2 + 2 + 2  # layers, configurations, manifests, layout and index
