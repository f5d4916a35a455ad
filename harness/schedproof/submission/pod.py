"""What happens in the pod of a submission beside the run: `python -m schedproof.submission.pod hold`, or `send`.

Standard library only, and no shell.
"""

from __future__ import annotations

import signal
import sys
import tarfile
from pathlib import Path
from typing import BinaryIO

FOLDER = Path("/report/report")
"""Of the run's report."""


def hold() -> None:
    """Return at SIGTERM; meanwhile the pod, and the report in it, stay."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.sigwait({signal.SIGTERM})


def send(folder: Path, stream: BinaryIO) -> None:
    """Write what is in a folder to a stream, as a compressed archive; an empty one if there is no folder."""
    with tarfile.open(fileobj=stream, mode="w|gz") as archive:
        if folder.is_dir():
            archive.add(folder, arcname=".")


if __name__ == "__main__":
    if sys.argv[1:] == ["hold"]:
        hold()
    else:
        send(FOLDER, sys.stdout.buffer)
