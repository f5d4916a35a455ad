"""Packages of Debian provide binaries for a first look, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.binaries import download, lock
from schedproof.binaries.cache import cache_dir
from schedproof.binaries.resolve import Origin, Resolved, locate, resolve
from schedproof.foundation.progress import SilentProgress

from .binary_fakes import FakeGo, RecordedProgress, banner, go, machine_without_binaries, program

__all__ = ["go", "machine_without_binaries"]

PACKAGE = lock.load().tools["prometheus"].package
assert PACKAGE is not None
NEWEST = PACKAGE.versions[-1]

# A package is a folder here: its name is in the file that is "downloaded".
APT_GET = """\
#!/bin/sh
echo "$@" >>{calls}
[ "$1 $2" = "download prometheus" ] || exit 100
echo E: something >&2
echo downloaded >prometheus_1_amd64.deb
exit {status}
"""
DPKG_DEB = """\
#!/bin/sh
[ "$1 $2 $3" = "-x prometheus_1_amd64.deb tree" ] || exit 2
/bin/mkdir -p tree/usr/bin
/bin/cp {made} tree/usr/bin/
"""


class Debian:
    """Debian's package tools, and a package whose prometheus reports the given version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.calls = folder / "calls"
        self.has(NEWEST)

    def has(self, version: str, status: int = 0) -> None:
        made = program(self._folder / "package" / "prometheus", banner("prometheus", version))
        for name, text in {"apt-get": APT_GET, "dpkg-deb": DPKG_DEB}.items():
            path = program(self._folder / "bin" / name, "")
            path.write_text(text.format(calls=self.calls, status=status, made=made))


@pytest.fixture
def debian(tmp_path: Path, machine_without_binaries: None) -> Debian:
    return Debian(tmp_path)


@pytest.fixture(autouse=True)
def first_look(monkeypatch: pytest.MonkeyPatch, machine_without_binaries: None) -> None:
    """No server can be reached, and the policy is that of a first look."""
    monkeypatch.setattr("schedproof.binaries.resolve.unreachable", lambda servers: dict.fromkeys(servers, "no route"))
    monkeypatch.setattr(download, "_state", {})
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "packages")


def take(progress: SilentProgress | None = None, *, packages: bool = True) -> Resolved:
    return resolve(["prometheus"], packages=packages, progress=progress or SilentProgress())["prometheus"]


def test_a_package_is_used_instead_of_a_build_and_found_again(debian: Debian, go: FakeGo) -> None:
    progress = RecordedProgress()
    first = take(progress)
    assert (first.origin, first.version) == (Origin.PACKAGE, NEWEST)
    assert first.path.is_relative_to(cache_dir())
    assert any(NEWEST in line and lock.load().tools["prometheus"].version in line for line in progress.lines)
    assert take() == first
    assert len(debian.calls.read_text().splitlines()) == 1
    assert not go.builds
    assert not list((cache_dir() / "work").iterdir())


@pytest.mark.usefixtures("debian")
@pytest.mark.parametrize("policy", ["", "never"])
def test_a_cached_package_is_used_only_for_first_looks(
    policy: str, go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = take()
    assert locate(["prometheus"]) == {"prometheus": None}
    assert take(packages=False).origin is Origin.BUILT
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", policy)
    assert take().path != packaged.path
    assert len(go.builds) == 1


@pytest.mark.usefixtures("go")
def test_a_binary_that_is_already_built_is_preferred_to_a_package(debian: Debian) -> None:
    built = take(packages=False)
    assert take().path == built.path
    assert not debian.calls.exists()


@pytest.mark.usefixtures("go")
def test_a_package_of_an_untested_version_is_refused_and_the_binary_is_built(debian: Debian) -> None:
    debian.has("1.0.0")
    progress = RecordedProgress()
    assert take(progress).origin is Origin.BUILT
    assert any("1.0.0" in line for line in progress.lines)
    assert not list((cache_dir() / "binaries").glob("*/*/*-package-*"))


@pytest.mark.usefixtures("go")
def test_a_failed_download_of_a_package_is_reported_and_the_binary_is_built(debian: Debian) -> None:
    debian.has(NEWEST, status=100)
    progress = RecordedProgress()
    assert take(progress).origin is Origin.BUILT
    assert any("E: something" in line for line in progress.lines)


@pytest.mark.usefixtures("go")
def test_without_debian_package_tools_the_binary_is_built() -> None:
    assert take().origin is Origin.BUILT
