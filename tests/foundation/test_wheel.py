"""What is in the wheel, and that its commands work outside of the checkout; on a cluster: tests/live/test_wheel.py."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from schedproof.judge.catalogue import CATALOGUE

from .wheel import PAGES, ROOT, Installed, build, first_commands

CANDIDATES = {"least-traffic-controller", "least-traffic-extender", "least-traffic-plugin", "stock"}
WHOLE = (
    "clusters",
    "fixtures/templates",
    "fixtures/workloads",
    "suites",
    *(f"fixtures/candidates/{name}" for name in CANDIDATES),
)
LEFT_BY_TOOLS = re.compile(r"/(__pycache__|\.pytest_cache|\.ruff_cache|\.mypy_cache|schedproof-results)/")
NOT_FOR_USERS = re.compile(
    r"defects/|defective|unusual|described|benchmark/[^/]*/candidate\.yaml|first-scheduler|first-day|recorded|_test\.go$"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installed:
    return Installed(tmp_path_factory.mktemp("venv"), wheel)


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_has_the_files_that_commands_need(wheel: Path) -> None:
    for folder in WHOLE:
        files = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        needed = {name for name in files if not LEFT_BY_TOOLS.search(name) and not NOT_FOR_USERS.search(name)}
        assert needed
        assert not {f"schedproof/content/{name}" for name in needed} - names(wheel)
    assert "schedproof/content/fixtures/defects.yaml" in names(wheel)  # `schedproof explain` quotes it
    assert "schedproof/py.typed" in names(wheel)


def test_the_wheel_has_no_files_that_only_tests_of_schedproof_need(wheel: Path) -> None:
    assert not [name for name in names(wheel) if NOT_FOR_USERS.search(name) or LEFT_BY_TOOLS.search(name)]
    held = {
        match[1] for name in names(wheel) if (match := re.match(r"schedproof/content/fixtures/candidates/(.*)/", name))
    }
    assert {path.split("/")[0] for path in held} == CANDIDATES
    assert {name.split("/")[0] for name in names(wheel)} == {"schedproof", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}


def test_the_metadata_has_links_to_sources_documentation_and_issues(wheel: Path) -> None:
    (metadata,) = (name for name in names(wheel) if name.endswith(".dist-info/METADATA"))
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    urls = dict(re.findall(r"^Project-URL: (\w+), (https://\S+)$", text, re.MULTILINE))
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}
    assert f"]({urls['Documentation']})" in text


@pytest.mark.parametrize("page", PAGES)
def test_the_first_commands_of_the_documentation_work_outside_of_the_repository(
    installed: Installed, page: str, tmp_path: Path
) -> None:
    """Commands that start a cluster are replaced by collecting the tests with pytest."""
    folder, tried = tmp_path, []
    for argv in first_commands(page):
        tried.append(" ".join(argv[:2]))
        match argv:
            case ["cd", name]:
                folder /= name
            case ["schedproof", "init", kind, _]:
                assert kind == "extender"
                installed.run(*argv, cwd=folder)
            case ["schedproof", "check", *_]:
                assert "extender" in installed.run(*argv, cwd=folder)
            case ["schedproof", "explain", clause]:
                output = installed.run(*argv, cwd=folder)
                assert output.startswith(f"{clause} (required")
                assert "example defects:" in output
                assert "see it fail:" not in output  # the planted defects are not there
            case ["pytest"]:
                output = installed.run(
                    "python", "-m", *argv, "--collect-only", "-q", "-p", "no:cacheprovider", cwd=folder
                )
                assert output.count("test_scheduler.py::") >= len(CATALOGUE)
            case _:
                assert argv[:2] in (["pip", "install"], ["schedproof", "run"], ["schedproof", "bench"]), argv
    assert {"schedproof init", "schedproof check", "schedproof run", "schedproof explain"} <= set(tried)


def test_the_installed_wheel_is_imported(installed: Installed, tmp_path: Path) -> None:
    output = installed.run("python", "-c", "import schedproof; print(schedproof.__file__)", cwd=tmp_path)
    assert Path(output.strip()).is_relative_to(installed.packages)


def test_candidates_names_the_repository_of_candidates_that_are_not_shipped(
    installed: Installed, tmp_path: Path
) -> None:
    *listed, empty, elsewhere = installed.run("schedproof", "candidates", cwd=tmp_path).splitlines()
    assert {line.split()[0] for line in listed} == CANDIDATES
    assert not empty
    assert "git clone https://" in elsewhere
    assert elsewhere in installed.run("schedproof", "candidates", "defects/", cwd=tmp_path, code=2)
