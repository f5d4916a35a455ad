"""Pushes samples repeatedly from a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from schedproof.foundation.errors import HostError


class PushLoop:
    """Calls `push` every `interval` seconds, until it is closed or a push fails.

    The first call is one interval after the start.

    Attributes:
        failure: why the last push failed; "" while all have succeeded.
    """

    failure = ""

    def __init__(self, push: Callable[[], None], interval: float, *, name: str) -> None:
        self._push, self._interval = push, interval
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self._interval):
            try:
                self._push()
            except (OSError, HostError) as error:
                self.failure = str(error) or repr(error)
                return

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
