"""A Prometheus whose every sample is chosen: our own (`clusters/modules/readings-server`), over its real engine."""

from __future__ import annotations

import http.client
import json
import math
from typing import TYPE_CHECKING

from schedproof.daemons.daemon import clean_environment
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import HostError
from schedproof.foundation.lines import LineProcess
from schedproof.foundation.ports import listening_socket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["ReadingsServer"]


class ReadingsServer:
    """Serves one set of readings at a time, on loopback. It needs no cluster, no sandbox and no rights.

    Its clock stands still between two `put`s, so that all questions between them get the same answers.

    Args:
        binary: the program.
        logs: the folder for its log.
    """

    def __init__(self, binary: Path, logs: Path) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        # Inherited as it listens already: whoever asks before it has started waits in the queue.
        with listening_socket() as listener:
            port = listener.getsockname()[1]
            self._process = LineProcess(
                (str(binary), "--listen-fd", str(listener.fileno())),
                cwd=logs, env=clean_environment(logs), log=logs / "readings-server.log", fds=(listener.fileno(),),
            )  # fmt: skip
        self.url = f"http://127.0.0.1:{port}"
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DAEMON_READY.seconds)

    def put(
        self,
        metric: str,
        device: str,
        window: float,
        labels: Mapping[str, Mapping[str, str]],
        readings: Sequence[tuple[str, float | None]],
    ) -> None:
        """Replace all series; returns when every query that comes after it sees these, and none of the others.

        A node's series is a counter that rises by its reading, over twice the window and more, with eight samples a
        window. Equal readings give equal bits, and twice a reading is exactly twice each sample. Of a reading that is
        NaN or infinite each sample has that value; of one below 0 samples fall. A node without a reading has no such
        series, but, as each of them, `up` and `node_uname_info`.

        Args:
            metric: the series' name.
            device: its label `device`.
            window: seconds that candidates look back.
            labels: node to more labels of its series.
            readings: nodes and their bytes per second; None: the node has no sample.

        Raises:
            HostError: the server has ended, or does not take them.
        """
        targets = [{"job": "node-exporter", **labels[node]} for node, _ in readings]
        # JSON has no NaN and no infinities: they go as text.
        values = [value if value is None or math.isfinite(value) else str(value) for _, value in readings]
        step = max(1, round(window * 1000 / 8))
        document = {
            "past": round((2 * window + 5) * 1000),
            "step": step,
            "targets": targets,
            "metrics": [{"labels": {"__name__": metric, "device": device}, "values": values}],
        }
        try:
            self._connection.request("PUT", "/series", json.dumps(document))
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise HostError(
                f"the readings server does not answer: {error}; it said last:\n{self._process.printed()[-2_000:]}",
                remedy=f"read {self._process.log}",
            ) from error
        if answer.status != http.client.NO_CONTENT:
            raise HostError(
                f"the readings server refuses the readings: {answer.status} {said.decode(errors='replace')}",
                remedy="this is a bug of schedproof: please report it with the readings",
            )

    def close(self) -> None:
        self._connection.close()
        self._process.close()
