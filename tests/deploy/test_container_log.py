"""A container's log is copied as it grows; of a large log the beginning and the end are kept."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from schedproof.deploy.container_log import ContainerLog
from schedproof.foundation.processes.sandbox_init import LOG_HEAD, LOG_TAIL

MIB = 1 << 20


class Stream:
    """80 MiB of log."""

    def chunks(self) -> Iterator[bytes]:
        yield b"first\n"
        for _ in range(80):
            yield b"x" * (MIB - 1) + b"\n"
        yield b"last\n"

    def close(self) -> None:
        pass


class Api:
    def log(self, *_where: str, **_query: str) -> Stream:
        return Stream()


def test_of_a_large_log_only_the_beginning_and_the_end_are_stored(tmp_path: Path) -> None:
    file = tmp_path / "candidate.log"
    log = ContainerLog(cast("Any", Api()), "namespace", "pod", file)
    log.complete(restarted=False)
    assert file.stat().st_size > 80 * MIB
    assert file.stat().st_blocks * 512 <= LOG_HEAD + LOG_TAIL + 2 * MIB
    content = file.read_bytes()
    assert content.startswith(b"first\n")
    assert content.endswith(b"last\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
