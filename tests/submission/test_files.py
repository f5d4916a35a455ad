"""What of a candidate's folder gets into a cluster."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.foundation.errors import UsageError
from schedproof.submission.files import LARGEST, candidate_files

ATTACHED = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: running}
spec:
  schedulerName: running
  attached: {selector: {app: scheduler}}
"""


@pytest.fixture
def candidate(tmp_path: Path) -> Candidate:
    (tmp_path / "candidate.yaml").write_text(ATTACHED)
    return load_candidate(tmp_path / "candidate.yaml")


def test_each_file_has_its_path_and_mode_again(candidate: Candidate, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "tool").write_bytes(b"\xff\x00")
    (tmp_path / "deep" / "er" / "tool").chmod(0o755)
    for name in (".git", "__pycache__"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    files = candidate_files(candidate)
    assert files.content["data"] == {"file-0": ATTACHED}
    assert {key: base64.b64decode(text) for key, text in files.content["binaryData"].items()} == {"file-1": b"\xff\x00"}
    assert files.items == [
        {"key": "file-0", "path": "candidate.yaml", "mode": 0o444},
        {"key": "file-1", "path": "deep/er/tool", "mode": 0o555},
    ]


def test_too_much_is_refused_with_the_largest_file(candidate: Candidate, tmp_path: Path) -> None:
    (tmp_path / "trace.bin").write_bytes(bytes(LARGEST))
    with pytest.raises(UsageError, match=r"a ConfigMap.* holds 1,048,576; the largest is trace\.bin with 1,048,576"):
        candidate_files(candidate)
