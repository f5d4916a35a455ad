"""Named images come first, then schedproof's if they exist, then those of the registry; images are made last."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from schedproof.binaries import lock
from schedproof.clusters.kind.docker import DockerError
from schedproof.clusters.node_image import image_choice, images
from schedproof.clusters.node_image.image_choice import obtain_images, write_archive
from schedproof.clusters.node_image.images import archive_path, our_images
from schedproof.foundation.content import content
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.progress import SilentProgress

VERSION = lock.load().kubernetes["1.36"].version
OURS = our_images("1.36")
STOCK = f"kindest/node:{VERSION}"


@dataclasses.dataclass
class Daemon:
    """A Docker daemon with images, with or without a registry, that records its commands."""

    images: set[str] = dataclasses.field(default_factory=set)
    registry: set[str] = dataclasses.field(default_factory=set)
    did: list[str] = dataclasses.field(default_factory=list)
    loads: tuple[str, ...] = OURS.references

    def docker(self, *argv: str, stdin: bytes = b"", **_: object) -> str:
        wanted = argv[-1] if argv[0] == "pull" else re.search(r"FROM (\S+)", stdin.decode())[1]
        if wanted not in self.registry:
            raise DockerError(f"docker {argv[0]} failed: no such host")
        self.did.append(f"{argv[0]} {wanted}")
        self.images.add(wanted if argv[0] == "pull" else argv[argv.index("--tag") + 1])
        return ""

    def load(self, archive: Path) -> None:
        self.did.append(f"load {archive.name}")
        self.images |= set(self.loads)

    def make(self, kubernetes: str, _: object) -> Path:
        path = archive_path(kubernetes)
        if not path.is_file():
            self.did.append("make")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"archive")
        return path


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "cache"))
    fake = Daemon()
    monkeypatch.setattr(image_choice, "docker", fake.docker)
    monkeypatch.setattr(image_choice, "image_present", lambda reference: reference in fake.images)
    monkeypatch.setattr(image_choice, "load_images", fake.load)
    monkeypatch.setattr(image_choice, "make_archive", fake.make)
    return fake


def obtain(explicit: str | None = None) -> images.Images:
    return obtain_images(explicit, "1.36", SilentProgress())


def published() -> set[str]:
    tools = lock.load().tools
    return {
        f"prom/node-exporter:v{tools['node_exporter'].version}", f"prom/prometheus:v{tools['prometheus'].version}",
        "python:3-slim", "busybox:stable",
    }  # fmt: skip


def test_own_images_in_docker_are_used_at_once(daemon: Daemon):
    daemon.images |= set(OURS.references)
    daemon.registry = {STOCK, *published()}
    assert obtain() == OURS
    assert OURS.in_node
    assert not daemon.did


def test_own_images_are_loaded_from_the_cache_before_a_registry_is_queried(daemon: Daemon):
    daemon.make("1.36", None)
    daemon.did.clear()
    daemon.registry = {STOCK, *published()}
    assert obtain() == OURS
    assert daemon.did == [f"load {archive_path('1.36').name}"]


def test_with_a_registry_all_images_are_pulled_and_none_is_made(daemon: Daemon):
    daemon.registry = {STOCK, *published()}
    got = obtain()
    assert got == dataclasses.replace(OURS, node=STOCK)
    assert not got.in_node
    assert daemon.did[0] == f"pull {STOCK}"
    assert {line.partition(" ")[2] for line in daemon.did[1:]} == published()
    daemon.did.clear()
    assert obtain() == got
    assert not daemon.did


def test_without_a_registry_own_images_are_made_once(daemon: Daemon):
    assert obtain() == OURS
    assert daemon.did == ["make", f"load {archive_path('1.36').name}"]
    daemon.images.clear()
    assert obtain() == OURS
    assert daemon.did.count("make") == 1


def test_a_pulled_node_image_is_completed_by_own_images_that_the_registry_lacks(daemon: Daemon):
    daemon.registry = {STOCK}
    assert obtain() == dataclasses.replace(OURS, node=STOCK)
    assert daemon.did == [f"pull {STOCK}", "make", f"load {archive_path('1.36').name}"]


@pytest.mark.parametrize("where", ["images", "registry"])
def test_a_named_image_is_used_unchanged(daemon: Daemon, where):
    getattr(daemon, where).add("mine:1")
    daemon.images |= set(OURS.addons)
    assert obtain("mine:1") == dataclasses.replace(OURS, node="mine:1")


def test_a_named_image_that_does_not_exist_is_refused(daemon: Daemon):
    with pytest.raises(UsageError, match=r"no node image 'mine:1'[\s\S]*no such host"):
        obtain("mine:1")
    assert not daemon.did


def test_a_named_archive_is_loaded_and_must_contain_images_of_this_version(daemon: Daemon, tmp_path: Path):
    (tmp_path / "images.tar.gz").write_bytes(b"")
    assert obtain(str(tmp_path / "images.tar.gz")) == OURS
    daemon.images.clear()
    daemon.loads = ("schedproof/node:old",)
    with pytest.raises(UsageError, match=r"does not contain[\s\S]*schedproof node-image --output"):
        obtain(str(tmp_path / "images.tar.gz"))


def test_the_archive_is_written_to_the_cache_or_to_the_given_file(daemon: Daemon, tmp_path: Path):
    assert write_archive("1.36", None, SilentProgress()) == archive_path("1.36")
    assert write_archive("1.36", tmp_path / "out", SilentProgress()) == tmp_path / "out"
    assert (tmp_path / "out").read_bytes() == b"archive"
    with pytest.raises(HostError, match="cannot be written"):
        write_archive("1.36", tmp_path / "no" / "out", SilentProgress())


def test_the_names_of_images_change_with_every_part_of_the_recipe(monkeypatch: pytest.MonkeyPatch):
    here = Path(images.__file__).parent
    parts = [*(here / name for name in images._RECIPE), *content("clusters", "node-image").iterdir()]
    assert all(path.is_file() for path in parts)
    read = Path.read_bytes
    keys = {images._key.__wrapped__("1.36")}
    for part in parts:
        changed = lambda path, part=part: read(path) + (b"#" if path == part else b"")  # noqa: E731
        monkeypatch.setattr(Path, "read_bytes", changed)
        keys.add(images._key.__wrapped__("1.36"))
    assert len(keys) == 1 + len(parts)


def test_the_key_of_the_recipe_includes_every_module_that_it_imports():
    here = Path(images.__file__).parent
    imported, unread = set(), ["recipe.py"]
    while unread:
        name = unread.pop()
        imported.add(name)
        found = re.findall(r"from schedproof\.clusters\.node_image\.(\w+) import", (here / name).read_text())
        unread += [f"{each}.py" for each in found if f"{each}.py" not in imported]
    assert imported - {"images.py"} == set(images._RECIPE)
