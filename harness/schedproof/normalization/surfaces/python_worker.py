"""The process that runs a candidate's scoring function: `python -m` this module, then MODULE:NAME.

Standard input is a socket to the harness, for JSON lines. The worker first sends `{}`, or `{"error": "..."}` if the
function cannot be loaded. Then it reads one question per line (readings_to_json) and answers each with a line
(Answer.as_dict). It ends when the harness closes the socket or ends, even if the function never returns. The
function itself has standard input from /dev/null, and its output goes to a log.
"""

from __future__ import annotations

import faulthandler
import functools
import importlib
import json
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from schedproof.normalization.answer import readings_from_json
from schedproof.normalization.function import answer_of


def main() -> None:
    channel = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    faulthandler.enable(all_threads=False)  # a crash in native code then says where
    sys.path.insert(0, str(Path.cwd()))  # after the harness's imports, which the candidate's modules must not hide
    try:
        score = _load(sys.argv[1])
    except BaseException as error:  # noqa: BLE001, RUF100 - SystemExit of a script without a main guard, too
        _send(channel, {"error": _described(error)})
        return
    _send(channel, {})
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(channel.makefile("rb"), questions), daemon=True).start()
    while True:
        _send(channel, _answered(score, questions.get()))


def _receive(lines: BinaryIO, questions: queue.SimpleQueue[bytes]) -> None:
    for line in lines:
        questions.put(line)
    os._exit(0)  # not sys.exit, which would end only this thread


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall(json.dumps(message).encode() + b"\n")


def _load(entry_point: str) -> Callable[..., Any]:
    module, _, name = entry_point.partition(":")
    function = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    if not callable(function):
        raise TypeError(f"{entry_point} is {function!r:.80}, which cannot be called")
    return function


def _described(error: BaseException) -> str:
    """Return the exception, and the line of the candidate's code that it comes from, if there is one."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(Path.cwd())]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _answered(score: Callable[..., Any], question: bytes) -> dict[str, Any]:
    return answer_of(score, readings_from_json(json.loads(question))).as_dict()


if __name__ == "__main__":
    main()
