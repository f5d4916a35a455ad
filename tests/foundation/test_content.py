"""Files that the harness needs are found in a checkout and in an installed wheel."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from schedproof.foundation import content as module
from schedproof.foundation.content import content

SHIPPED = (
    ("suites",),
    ("suites", "core"),
    ("clusters", "embedded.yaml"),
    ("clusters", "binaries.lock.yaml"),
    ("clusters", "audit-policy.yaml"),
    ("fixtures", "candidates", "stock", "candidate.yaml"),
    ("fixtures", "defects.yaml"),
    ("fixtures", "templates", "plugin"),
    ("fixtures", "workloads", "basic.yaml"),
)


@pytest.mark.parametrize("parts", SHIPPED)
def test_every_shipped_file_is_found(parts: tuple[str, ...]) -> None:
    assert content(*parts).exists()


def package(home: Path) -> Path:
    folder = home / "schedproof"
    folder.mkdir(parents=True)
    return folder


def test_in_a_checkout_content_is_beside_the_source_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PACKAGE", package(tmp_path / "harness"))
    assert content("clusters", "embedded.yaml") == tmp_path / "clusters" / "embedded.yaml"


def test_in_a_wheel_content_is_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = package(tmp_path / "site-packages")
    (installed / "content").mkdir()
    monkeypatch.setattr(module, "_PACKAGE", installed)
    assert content("clusters", "embedded.yaml") == installed / "content" / "clusters" / "embedded.yaml"


def test_the_readme_of_the_package_has_only_absolute_links() -> None:
    root = content("suites").parent
    described = root / tomllib.loads((root / "pyproject.toml").read_text())["project"]["readme"]
    targets = re.findall(r"\]\(([^)]*)\)|(?:href|src)=\"([^\"]*)\"", described.read_text())
    assert not [target for pair in targets for target in pair if target and not target.startswith("https://")]
