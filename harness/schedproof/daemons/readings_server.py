"""A Prometheus whose every sample is chosen: our own (`clusters/modules/readings-server`), over its real engine."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.daemons.daemon import clean_environment
from schedproof.daemons.scrape import JOB, WHOLE, exposed, opposite, reported
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import HostError
from schedproof.foundation.lines import LineProcess
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.ports import listening_socket

SAMPLES = 8
"""Of each series in a window; targets are scraped as often."""


class ReadingsServer:
    """Serves one set of readings at a time, on loopback. It needs no cluster, no sandbox and no rights.

    Its clock stands still between two `put`s, so that all questions between them get the same answers.

    Args:
        binary: the program.
        logs: the folder for its log.
    """

    def __init__(self, binary: Path, logs: Path) -> None:
        make_private(logs)
        # Inherited as it listens already: a request before it has started waits in the queue.
        with listening_socket() as listener:
            port = listener.getsockname()[1]
            self._process = LineProcess(
                (str(binary), "--listen-fd", str(listener.fileno())),
                cwd=logs, env=clean_environment(logs), log=logs / "readings-server.log", fds=(listener.fileno(),),
            )  # fmt: skip
        self.rules: Sequence[Mapping[str, Any]] = ()
        """Recording rules, as `record`, `expr` and `labels`: evaluated at each `put`, in their order."""
        self.url = f"http://127.0.0.1:{port}"
        self._scrape: Mapping[str, Any] | None = None
        self._targets: dict[str, Mapping[str, str]] = {}
        self._nodes: list[str] | None = None

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
        NaN or infinite each sample has that value; of one below 0 samples fall.

        All else is as after scrapes of an exporter (`daemons/scrape.py`; of more than 32 nodes only what is asked for
        or joined with). In the other direction each node has the reading of another one, the quietest that of the
        loudest. Scrapes of a node without a reading have failed: its `up` is 0.

        Args:
            metric: the series' name.
            device: its label `device`.
            window: seconds that candidates look back.
            labels: node to more labels of its series.
            readings: nodes and their bytes per second; None: the node has no sample.

        Raises:
            HostError: the server has ended, or does not take them.
        """
        scrape = {**_scrape(metric, device, window, whole=len(readings) <= WHOLE), "rules": list(self.rules)}
        nodes, values = [node for node, _ in readings], [value for _, value in readings]
        fresh = {node: labels[node] for node in nodes if self._targets.get(node) != labels[node]}
        change: dict[str, Any] = {"rates": [_written(values)]}
        if opposite(metric):
            change["rates"].append(_written(_mirrored(values)))
        # What is known already need not be told again, and takes longer than all else.
        if scrape != self._scrape:
            change["scrape"] = scrape
        if fresh:
            change["targets"] = {node: {"job": JOB, **own} for node, own in fresh.items()}
        if fresh or nodes != self._nodes:
            change["nodes"] = nodes
        self._scrape = self._nodes = None  # in case that it is refused
        self._tell(change)
        self._targets.update(fresh)
        self._scrape, self._nodes = scrape, nodes

    def _tell(self, change: Mapping[str, Any]) -> None:
        try:
            self._process.send(json.dumps(change).encode() + b"\n", DAEMON_READY)
            refusal = json.loads(self._process.receive(DAEMON_READY))["error"]
        except (OSError, ValueError) as error:
            raise HostError(
                f"the readings server does not answer: {error!r}; its last output:\n{self._process.printed()[-2_000:]}",
                remedy=f"read {self._process.log}",
            ) from error
        if refusal:
            raise HostError(
                f"the readings server refuses the readings: {refusal}",
                remedy="this is a bug of schedproof: please report it with the readings",
            )

    def close(self) -> None:
        self._process.close()


@functools.lru_cache(maxsize=64)
def _scrape(metric: str, device: str, window: float, *, whole: bool) -> Mapping[str, Any]:
    """What there is to be read of each node, but for its reading."""
    rates = [{"__name__": name, "device": device} for name in (metric, opposite(metric)) if name]
    rest = [one for one in exposed([device], whole=whole) if one[0] not in rates]
    succeeded, failed = (reported(samples, whole=whole) for samples in (len(rates) + len(rest), 0))
    return {
        "past": round((2 * window + 5) * 1000),
        "step": max(1, round(window * 1000 / SAMPLES)),
        "rates": [{"labels": labels} for labels in rates],
        "still": [
            *({"labels": labels, "value": value} for labels, value in rest),
            *({"labels": {"__name__": name}, "value": succeeded[name], "failed": failed[name]} for name in succeeded),
        ],
    }


def _written(values: Sequence[float | None]) -> list[float | str | None]:
    # JSON has no NaN and no infinities: they go as text.
    return [value if value is None or math.isfinite(value) else str(value) for value in values]


def _mirrored(values: Sequence[float | None]) -> list[float | None]:
    """Where there are values, those of the opposite order."""
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    mirrored: list[float | None] = [None] * len(values)
    for (_, place), (value, _) in zip(order, reversed(order), strict=True):
        mirrored[place] = value
    return mirrored
