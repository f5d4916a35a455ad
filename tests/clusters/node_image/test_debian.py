"""Packages are downloaded with the machine's own apt, in a state folder of schedproof; failures quote apt."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.binaries.cache import cache_dir
from schedproof.clusters.node_image.debian import Packages
from schedproof.foundation.errors import HostError

APT = """\
echo "$@" >>{calls}
case "$*" in
*--simulate*)
    echo "Inst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64]) []"
    echo "Inst perl-base (5.36.0 Debian:12.15/oldstable [amd64])"
    echo "Inst nft (1:1.0~6-2 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [amd64])"
    echo "Inst data (7 Debian:12.15/oldstable [all])"
    ;;
*" {failing}"*) echo "E: Unable to fetch some archives"; exit 100 ;;
esac
"""


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts an apt-get and a dpkg-deb on an otherwise empty PATH; gives the file of apt-get's calls."""
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (cache_dir() / "logs").mkdir(parents=True)

    def install(failing: str = "never") -> Path:
        calls = tmp_path / "calls"
        for name in ("apt-get", "dpkg-deb"):
            path = tmp_path / "bin" / name
            path.write_text("#!/bin/sh\n" + APT.format(calls=calls, failing=failing))
            path.chmod(0o755)
        return calls

    return install


def test_the_archives_of_all_dependencies_have_the_names_that_apt_gives(apt):
    calls = apt()
    archives = Packages().closure("nft", "data", without=["perl-base"])
    folder = cache_dir() / "debian" / "cache" / "archives"
    assert archives == [
        folder / "libc6_2.36-9+deb12u14_amd64.deb",
        folder / "nft_1%3a1.0~6-2_amd64.deb",
        folder / "data_7_all.deb",
    ]
    lines = calls.read_text().splitlines()
    assert [line.split("--quiet ")[1] for line in lines] == [
        "update", "install --simulate nft data", "install --download-only nft data",
    ]  # fmt: skip
    # Nothing of the machine's own state is touched.
    for setting in ("Dir::State", "Dir::State::status", "Dir::Cache"):
        assert all(f"-o {setting}={cache_dir()}" in line for line in lines)


def test_package_lists_that_cannot_be_refreshed_are_not_an_error(apt):
    apt(failing="update")
    assert len(Packages().closure("nft")) == 4


def test_packages_that_cannot_be_downloaded_are_an_error_that_quotes_apt(apt):
    apt(failing="--download-only")
    with pytest.raises(HostError, match=r"Unable to fetch[\s\S]*schedproof node-image --output FILE"):
        Packages().closure("nft")


def test_without_apt_the_error_names_how_to_make_the_images_elsewhere(apt):
    with pytest.raises(HostError, match=r"not on PATH: apt-get and dpkg-deb[\s\S]*--node-image FILE"):
        Packages()
