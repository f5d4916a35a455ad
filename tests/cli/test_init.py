"""`schedproof init`: a new candidate works as written, and existing files are unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from schedproof import suites
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.cli import init as scaffold
from schedproof.cli import main as cli
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.claimable import CLAIMABLE

PROMISED = {
    "README.md", "candidate.yaml", "candidate.schema.json", "test_scheduler.py", "pytest.ini", ".gitignore",
    ".github/workflows/conformance.yaml",
}  # fmt: skip
SOURCES = {
    "extender": {"extender.py"},
    "controller": {"controller.py", "requirements.txt", "rules.py", "traffic.py", "world.py"},
    "plugin": {"go.mod", "go.sum", "leasttraffic/plugin.go", "leasttraffic/prometheus.go"},
}


def files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


ORIGINS = [
    (None, "pip install schedproof"),
    ({"url": "file:///home/me/schedproof", "dir_info": {"editable": True}}, "pip install schedproof"),
    (
        {"url": "https://example.com/schedproof.git", "vcs_info": {"vcs": "git", "commit_id": "0123abcd"}},
        "pip install 'schedproof @ git+https://example.com/schedproof.git@0123abcd'",
    ),
    (
        {"url": "https://example.com/s-1-py3-none-any.whl", "archive_info": {}},
        "pip install https://example.com/s-1-py3-none-any.whl",
    ),
    ({"url": "file:///tmp/s-1-py3-none-any.whl", "archive_info": {}}, "pip install ./s-1-py3-none-any.whl"),
]


@pytest.mark.parametrize("kind", scaffold.KINDS)
@pytest.mark.parametrize(("origin", "expected"), ORIGINS)
def test_the_readme_and_the_ci_job_install_the_installed_version_of_schedproof(
    kind: str, origin: object, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = SimpleNamespace(read_text=lambda _: origin and json.dumps(origin))
    monkeypatch.setattr(scaffold.metadata, "distribution", lambda _: noted)
    scaffold.scaffold(kind, tmp_path / "mine")
    assert f"$ {expected}\n" in (tmp_path / "mine" / "README.md").read_text()
    job = yaml.safe_load((tmp_path / "mine" / ".github" / "workflows" / "conformance.yaml").read_text())
    assert expected in [step.get("run") for step in job["jobs"]["conformance"]["steps"]]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run `init`, which must exit with 2 and a remedy; return its standard error."""
    assert cli.main(["init", *arguments]) == 2
    err = capsys.readouterr().err
    assert "\n  fix: " in err
    return err


@pytest.mark.parametrize("kind", scaffold.KINDS)
def test_a_candidate_of_each_kind_is_written_under_its_folder_s_name(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "with space" / "my-scheduler"
    assert cli.main(["init", kind, str(folder)]) == 0
    written = files(folder)
    assert set(written) == PROMISED | SOURCES[kind]
    assert not [name for name, text in written.items() if scaffold.TEMPLATE_NAME in text]
    candidate = load_candidate(folder, known=CLAIMABLE)
    assert (candidate.name, candidate.scheduler_name, candidate.kind) == ("my-scheduler", "my-scheduler", kind)
    assert not candidate.exclusions
    assert {"core", kind, "network-aware", "normalization"} == set(candidate.claims.profiles)
    out = capsys.readouterr().out
    assert f"cd '{folder}'" in out
    assert "schedproof run ." in out


@pytest.mark.parametrize("kind", scaffold.KINDS)
def test_the_templates_are_valid_candidates(kind: str) -> None:
    candidate = load_candidate(content("fixtures", "templates", kind), known=CLAIMABLE)
    assert candidate.name == candidate.scheduler_name == scaffold.TEMPLATE_NAME
    job = content("fixtures", "templates", kind, ".github", "workflows", "conformance.yaml")
    workflow = yaml.safe_load(job.read_text())
    assert any("schedproof run ." in step.get("run", "") for step in workflow["jobs"]["conformance"]["steps"])


@pytest.mark.parametrize("name", ["no", "123", "1e3", "null", "0x1f", "nul", "a", "a" * 53])
def test_any_valid_scheduler_name_is_written_as_text(name: str, tmp_path: Path) -> None:
    for kind in scaffold.KINDS:
        scaffold.scaffold(kind, tmp_path / kind / name)
        assert load_candidate(tmp_path / kind / name).scheduler_name == name


def test_an_existing_empty_folder_is_used_and_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir(mode=0o750)
    monkeypatch.chdir(tmp_path / "mine")
    assert cli.main(["init", "extender", "."]) == 0
    assert load_candidate(Path()).name == "mine"
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o750


def test_caches_and_results_in_a_template_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "fixtures" / "templates" / "extender"
    for name in ("a.py", "__pycache__/a.pyc", ".pytest_cache/README.md", "schedproof-results/x/report.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"\xff")
    monkeypatch.setattr(scaffold, "content", tmp_path.joinpath)
    assert [str(target) for target in scaffold.template_files("extender")] == ["a.py"]


def test_a_wrong_kind_is_refused_and_the_kinds_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean extender?" in refused(capsys, "extendr", str(tmp_path / "mine"))
    assert "extender, controller, plugin" in refused(capsys, "../candidates", str(tmp_path / "mine"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("My_Scheduler", "my-scheduler"), ("-x", "x"), ("x-", "x"), ("a" * 54, "a" * 53), ("über", "ber"), ("...", "my-")],
)
def test_an_invalid_name_is_refused_and_a_valid_name_is_suggested(
    name: str, suggested: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    err = refused(capsys, "plugin", str(tmp_path / name))
    assert repr(name) in err
    assert f"for example {suggested}" in err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty_is_refused_and_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / ".hidden").write_text("precious")
    assert "it contains .hidden" in refused(capsys, "extender", str(folder))
    assert files(folder) == {".hidden": "precious"}


@pytest.mark.parametrize("kind_of", ["file", "link to nowhere", "loop"])
def test_a_path_that_is_not_a_folder_is_refused_and_unchanged(
    kind_of: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine"
    if kind_of == "file":
        path.write_text("precious")
    else:
        path.symlink_to("mine" if kind_of == "loop" else "nowhere")
    refused(capsys, "extender", str(path))
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_where_the_folder_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("precious")
    assert "Not a directory" in refused(capsys, "plugin", str(tmp_path / "file" / "mine"))
    assert files(tmp_path) == {"file": "precious"}


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_is_undone(failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_text

    def fails(file: Path, *arguments: str, **named: str) -> str:
        if file.name == "plugin.go":
            raise failure
        return read(file, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", fails)
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "not" / "there"):
        with pytest.raises((UsageError, KeyboardInterrupt)):
            scaffold.scaffold("plugin", folder)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["empty"]


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"

    def races(_folder: Path) -> None:
        folder.mkdir()
        (folder / "candidate.yaml").write_text("precious")

    monkeypatch.setattr(scaffold, "_require_empty", races)
    with pytest.raises(UsageError, match="File exists"):
        scaffold.scaffold("extender", folder)
    assert files(folder) == {"candidate.yaml": "precious"}


def test_the_suites_export_a_test_for_every_clause() -> None:
    names = {f"test_{clause}".replace("/", "_").replace("-", "_") for clause in CATALOGUE}
    assert set(suites.__all__) == names


@pytest.mark.parametrize("kind", scaffold.KINDS)
def test_pytest_collects_the_clauses_of_a_new_candidate_and_starts_nothing(kind: str, tmp_path: Path) -> None:
    scaffold.scaffold(kind, tmp_path / "mine")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_scheduler.py::test_core_binds[mine]" in done.stdout
