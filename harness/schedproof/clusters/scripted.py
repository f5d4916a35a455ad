"""Prometheus servers of this machine, all of whose samples the harness chooses."""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.daemons.prometheus import Prometheus, start_prometheus, wait_recorded
from schedproof.daemons.scrape import RECEIVED
from schedproof.daemons.scrape_defaults import USUAL, Machine
from schedproof.traffic.push_loop import PushLoop
from schedproof.traffic.script import Script
from schedproof.traffic.series import push

_AHEAD = 40.0
"""Seconds of samples that one push covers. Prometheus rejects samples more than ten minutes ahead."""

_BRIEF = {"GOGC": "off", "GOMEMLIMIT": "512MiB"}
"""Avoids garbage collection, which takes 40 % of the processor time of a server that lives for seconds."""


class ScriptedServers:
    """Returns a fresh server at every call of `take`, and starts the next one in advance.

    Args:
        host: where the servers run, on loopback: candidates reach them through their tap.
        labels: node to the labels of its series, as in the cluster's own Prometheus; may change.
        targets_servers: receives the targets server of each scripted server, by its URL.
        machine: the nodes' machines, as their exporters report them.
    """

    def __init__(
        self,
        host: Host,
        labels: Mapping[str, Mapping[str, str]],
        targets_servers: MutableMapping[str, TargetsServer],
        machine: Machine = USUAL,
    ) -> None:
        self._host, self._labels, self._targets_servers = host, labels, targets_servers
        self._machine = machine
        self._spare: list[Prometheus] = []
        self.rules: Sequence[Mapping[str, Any]] = ()
        """Recording rules of the servers that are taken from now on."""
        self._started = 0

    def take(self) -> ScriptedPrometheus:
        while len(self._spare) < 2:
            self._started += 1
            name = f"prometheus-scripted-{self._started}"
            self._spare.append(start_prometheus(self._host, name, scrape_interval=60, env=_BRIEF))
        return ScriptedPrometheus(
            self._spare.pop(0), self._labels, self._targets_servers, self._host.logs, self._machine, rules=self.rules
        )


class ScriptedPrometheus:
    """See `schedproof.clusters.cluster.ScriptedMetrics`."""

    def __init__(
        self,
        server: Prometheus,
        labels: Mapping[str, Mapping[str, str]],
        targets_servers: MutableMapping[str, TargetsServer],
        logs: Path,
        machine: Machine,
        *,
        rules: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._targets_servers, self._logs, self._machine = targets_servers, logs, machine
        self._rules = rules
        self._server = server
        self._labels = labels
        self._ahead: PushLoop | None = None
        self.url = server.url

    @property
    def failure(self) -> str:
        return self._ahead.failure if self._ahead is not None else ""

    def wait_ready(self) -> None:
        self._server.wait_ready()

    def script(self, script: Script) -> None:
        self.wait_ready()
        labels = {**self._labels, **script.targets}
        end = time.time() + _AHEAD
        push(self.url, script.series(labels, end, machine=self._machine))
        metric = next((metric for metric, _ in script.counters), RECEIVED)
        self._targets_servers[self.url] = TargetsServer(self._logs, labels, script.step, up=script.nodes, metric=metric)

        def push_on() -> None:
            nonlocal end
            pushed, end = end, time.time() + _AHEAD
            push(self.url, script.series(labels, end, after=pushed, machine=self._machine))

        # Push before the previous samples end; few scenarios last that long.
        self._ahead = PushLoop(push_on, _AHEAD / 2, name="script")
        if self._rules:
            # Rules are evaluated in real time, so they only have results from now on.
            self._server.load_rules(self._rules)
            wait_recorded(self.url)

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
        if (targets_server := self._targets_servers.pop(self.url, None)) is not None:
            targets_server.close()
        self._server.process.stop(grace=0)
