"""tools/run_tests.py: a part that passed on a commit is not run on it again, and a failure is summarized in a few
lines.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import run_tests as tool

TEST = "def test_right(): pass\ndef test_wrong(): assert 1 == 2, 'said by the test'\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one part, which writes a line to the file `ran`."""
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "BUILD", tmp_path / "build")
    monkeypatch.setattr(tool, "PARTS", {"one": ((sys.executable, "-c", "open('ran', 'a').write('ran\\n')"),)})
    monkeypatch.setattr(sys, "argv", ["run_tests"])
    (tmp_path / ".gitignore").write_text("build\nran\n__pycache__\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "test")


def test_a_part_that_passed_on_a_tree_is_not_run_on_it_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for again in ((), (), ("--again",)):
        monkeypatch.setattr(sys, "argv", ["run_tests", *again])
        assert tool.main() == 0
    assert (root / "ran").read_text() == "ran\n" * 2
    assert (root / "build" / "passed" / "one").read_text().strip() == tool.tree() != ""


def test_a_pass_with_uncommitted_files_is_not_stored(root: Path) -> None:
    (root / "new").touch()
    assert tool.main() == 0
    assert not (root / "build" / "passed" / "one").exists()


def test_the_last_lines_name_a_failed_test_and_its_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert tool.main() == 0
    (root / "test_it.py").write_text(TEST)
    isolated = tool.tests("-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", "test_it.py")
    monkeypatch.setitem(tool.PARTS, "one", (isolated,))
    assert tool.main() == 1
    assert not (root / "build" / "passed" / "one").exists()
    last = capfd.readouterr().out.splitlines()[-tool.LAST_LINES :]
    assert "FAILED test_it.py::test_wrong" in last
    assert any("said by the test" in line for line in last)
    (row,) = [line.split() for line in last if line.startswith("one ")]
    assert row[2:] == ["2", "1", "failed"]


def test_a_failed_command_without_tests_is_reported_with_the_end_of_its_output(
    root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = (sys.executable, "-c", "print('before'); raise SystemExit('the reason')")
    monkeypatch.setitem(tool.PARTS, "one", (failing, failing))
    assert tool.main() == 1
    assert any("the reason" in line for line in capfd.readouterr().out.splitlines()[-tool.LAST_LINES :])
    assert (root / "build" / "logs" / "one.log").read_text().count("before\n") == 1


def test_an_unknown_part_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run_tests", "three"])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert ended.value.code == 2


def test_times_are_printed_in_minutes_and_seconds() -> None:
    text = tool.summary([tool.Outcome("gate", 635.4), tool.Outcome("docs", 59.6)])
    assert [line.split()[1] for line in text.splitlines()[1:]] == ["10m35s", "1m00s"]
