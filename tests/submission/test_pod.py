"""What happens in the pod beside the run."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from schedproof.submission.pod import send


def test_the_report_is_sent_whole(tmp_path: Path) -> None:
    (tmp_path / "candidates").mkdir()
    (tmp_path / "candidates" / "log").write_text("x")
    stream = io.BytesIO()
    send(tmp_path, stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        archive.extractall(tmp_path / "fetched", filter="data")
    assert (tmp_path / "fetched" / "candidates" / "log").read_text() == "x"


def test_nothing_is_sent_of_a_run_that_wrote_nothing(tmp_path: Path) -> None:
    stream = io.BytesIO()
    send(tmp_path / "none", stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        assert archive.getnames() == []
