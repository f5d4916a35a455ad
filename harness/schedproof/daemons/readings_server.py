"""A Prometheus with scripted samples: `clusters/modules/readings-server`, which has Prometheus' real engine."""

from __future__ import annotations

import dataclasses
import functools
import http.client
import json
import math
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.daemons.daemon import clean_environment
from schedproof.daemons.scrape import JOB, WHOLE, exposed, opposite, reported
from schedproof.daemons.scrape_defaults import USUAL, others
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect, exchange
from schedproof.foundation.lines import LineProcess
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.ports import listening_socket

SAMPLES = 8
"""Samples of each series in a window, and scrapes."""


@dataclasses.dataclass(frozen=True)
class Selector:
    """What a vector selector of a PromQL expression reads.

    Attributes:
        metric: the metric's name; "" if the expression does not give it literally.
        look_back: how many seconds before the evaluation the oldest sample may be; None: the expression fixes it (@).
    """

    metric: str
    look_back: float | None


class ReadingsServer:
    """Serves one set of readings at a time, on loopback. It needs no cluster, no sandbox and no privileges.

    Its clock stands still between two `put`s, so that all queries between them get the same results; unless a `put` is
    `running`.

    Args:
        binary: the program.
        logs: the folder for its log.
    """

    def __init__(self, binary: Path, logs: Path) -> None:
        make_private(logs)
        # Inherited while it listens: requests before the program's start wait in the queue.
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
        *,
        running: bool = False,
    ) -> None:
        """Replace all series; returns when every later query sees only these.

        A node's series is a counter that rises by its reading, over more than twice the window, with eight samples a
        window. Equal readings give equal bits, and for twice a reading each sample is exactly twice as large. If a
        reading is NaN or infinite, each sample has that value; below 0, samples fall.

        Other series are as after scrapes of an exporter (`daemons/scrape.py`; for more than 32 nodes, only those
        that queries read or join with). In the opposite direction, nodes have each other's readings, the quietest
        that of the loudest. Scrapes of a node without a reading have failed: its `up` is 0.

        Args:
            metric: the series' name.
            device: its label `device`.
            window: seconds that candidates look back.
            labels: node to more labels of its series.
            readings: nodes and their bytes per second; None: the node has no sample.
            running: whether the clock runs until the next `put`: counters rise, with a new sample every eighth of the
                window.

        Raises:
            HostError: the server has ended, or refuses them.
        """
        scrape = {**_scrape(metric, device, window, whole=len(readings) <= WHOLE), "rules": list(self.rules)}
        nodes, values = [node for node, _ in readings], [value for _, value in readings]
        fresh = {node: labels[node] for node in nodes if self._targets.get(node) != labels[node]}
        change: dict[str, Any] = {"rates": [_written(values)]}
        if opposite(metric):
            change["rates"].append(_written(_mirrored(values)))
        if running:
            change["running"] = True
        # Unchanged parts are not sent: they take longer than all else.
        if scrape != self._scrape:
            change["scrape"] = scrape
        if fresh:
            change["targets"] = {node: {"job": JOB, **own} for node, own in fresh.items()}
        if fresh or nodes != self._nodes:
            change["nodes"] = nodes
        self._scrape = self._nodes = None  # in case that it is refused
        self._send(change)
        self._targets.update(fresh)
        self._scrape, self._nodes = scrape, nodes

    def selectors(self, query: str) -> list[Selector]:
        """Return what an expression reads, according to Prometheus' own parser; nothing if it cannot be parsed.

        Raises:
            HostError: the server has ended.
        """
        path = f"/selectors?{urllib.parse.urlencode({'query': query})}"
        status, text = exchange(connect(self.url, DAEMON_READY.seconds), "GET", path)
        if not status:
            raise HostError(f"the readings server does not answer: {text}", remedy=f"read {self._process.log}")
        found = json.loads(text)["data"] if status == http.client.OK else ()
        return [Selector(one["metric"], None if one["fixed"] else one["lookBack"]) for one in found]

    def _send(self, change: Mapping[str, Any]) -> None:
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
    """Return what is constant in the scrapes of each node: all but the readings."""
    rates = [{"__name__": name, "device": device} for name in (metric, opposite(metric)) if name]
    rest = [still for still in exposed([device], whole=whole) if still.labels not in rates]
    # A cluster's real exporters have no other collectors: these series are pushed, and so have no metadata.
    bare = others((device,), USUAL)
    succeeded, failed = (reported(samples, whole=whole) for samples in (len(rates) + len(rest), 0))
    return {
        "past": round((2 * window + 5) * 1000),
        "step": max(1, round(window * 1000 / SAMPLES)),
        "rates": [{"labels": labels} for labels in rates],
        "still": [
            *(
                {"labels": dict(one.labels), "value": one.value, "growth": one.growth, "bare": one in bare}
                for one in rest
            ),
            *({"labels": {"__name__": name}, "value": succeeded[name], "failed": failed[name]} for name in succeeded),
        ],
    }


def _written(values: Sequence[float | None]) -> list[float | str | None]:
    # JSON has no NaN or infinities: they are sent as text.
    return [value if value is None or math.isfinite(value) else str(value) for value in values]


def _mirrored(values: Sequence[float | None]) -> list[float | None]:
    """Return the values in mirrored order: the smallest in place of the largest; None stays None."""
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    mirrored: list[float | None] = [None] * len(values)
    for (_, place), (value, _) in zip(order, reversed(order), strict=True):
        mirrored[place] = value
    return mirrored
