"""A candidate's scoring function as a surface: called in a separate process, which it may end or block."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.deadlines import CANDIDATE_READY, Deadline
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.lines import LineProcess
from schedproof.normalization.answer import Answer, Readings, readings_to_json

SCORES_RETURNED = Deadline("scores returned", 20, "5,000 nodes are scored in milliseconds, on a busy machine in tens")


class PythonSurface:
    """Calls the function of `spec.scoring.python`, from the folder of the file that names it.

    Its argument is a dict of node to bytes per second (None: no sample), in the order of the question; it returns a
    mapping of node to score, or (node, score) pairs. An exception, an exit and a hang are crashes. After an exit or
    a hang the function is loaded anew for the next question.

    Args:
        candidate: has a `scoring`.
        deadline: limits the time that the function may take.

    Raises:
        CandidateError: the function does not exist or cannot be loaded.
    """

    name = "python"
    fewest, most = 1, 5000
    nodes: tuple[str, ...] = ()

    def __init__(self, candidate: Candidate, *, deadline: Deadline = SCORES_RETURNED) -> None:
        if candidate.scoring is None:
            raise CandidateError(
                f"{candidate.name} has no scoring function",
                remedy='name one in spec.scoring: {python: "module:function"}',
            )
        entry = candidate.scoring.python
        self._entry_point = f"{entry.module}:{entry.function}"
        self._folder = entry.folder
        self._deadline = deadline
        self.waited = 0.0
        # Without a name in any folder, so it is removed however the harness ends.
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - see close
        self._log = Path(f"/proc/self/fd/{self._printed.fileno()}")
        self._worker: LineProcess | None = None
        try:
            self._worker = self._start()
        except BaseException:
            self.close()
            raise

    def ask(self, readings: Readings) -> Answer:
        if self._worker is None:
            self._worker = self._start()
        os.truncate(self._log, 0)  # the log then has output of this question only, and cannot fill the disk
        question = json.dumps(readings_to_json(readings)).encode() + b"\n"
        begin = time.monotonic()
        try:
            self._worker.send(question, self._deadline)
            answer = self._worker.receive(self._deadline)
        except TimeoutError:
            crash = f"no answer within {self._deadline.seconds:g} s"
        except ConnectionError:
            crash = _end_of(self._worker)
        else:
            return Answer.from_dict(json.loads(answer))
        finally:
            self.waited += time.monotonic() - begin
        self._worker.close()
        self._worker = None
        return Answer(crash=crash)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._printed.close()

    def _start(self) -> LineProcess:
        self._log.write_bytes(b"")
        # -P: the candidate's folder is put on the path only after all imports of the harness. -B: do not leave
        # __pycache__ in that folder.
        argv = (sys.executable, "-P", "-B", "-m", "schedproof.normalization.surfaces.python_worker", self._entry_point)
        worker = LineProcess(argv, cwd=self._folder, env=os.environ, log=self._log)
        try:
            loaded: dict[str, Any] = json.loads(worker.receive(CANDIDATE_READY))
            failure = loaded.get("error", "")
        except TimeoutError:
            failure = f"not loaded within {CANDIDATE_READY.seconds:g} s"
        except ConnectionError:
            failure = _end_of(worker)
        except BaseException:  # Ctrl-C
            worker.close()
            raise
        if failure:
            worker.close()
            raise CandidateError(
                f"the scoring function {self._entry_point} cannot be loaded: {failure}",
                remedy=f"set spec.scoring.python to module:function, which is imported from {self._folder}",
            )
        return worker


def _end_of(worker: LineProcess) -> str:
    """Return how the process ended, and its last log lines."""
    code = worker.wait()
    words = last_words(worker.printed())
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"the process ended with {how}{f': {words}' if words else ''}"


_FAULT = re.compile(r"Fatal Python error: (?P<what>.*)")
_FRAME = re.compile(r'File "(?:.*/)?(?P<file>[^"]+)", line (?P<line>\d+)')


def last_words(log: str) -> str:
    """Return why a Python process ended, from its output: a fault and its innermost frame, or else the last line."""
    if fault := _FAULT.search(log):
        frame = _FRAME.search(log, fault.end())
        return fault["what"] + (f" ({frame['file']}:{frame['line']})" if frame else "")
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
