"""Prometheus in a container beside the nodes of a kind cluster, managed with testcontainers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.kind.cli import NETWORK, node_addresses
from schedproof.clusters.kind.docker import docker
from schedproof.clusters.kind.ownership import LOCK_LABEL
from schedproof.daemons.daemon import flags
from schedproof.daemons.password import USER, authorization, protect
from schedproof.daemons.prometheus import RULES, configuration, load_rules, write_targets
from schedproof.foundation.deadlines import CONTAINER_ANSWERS
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.http import connect, exchange
from schedproof.foundation.waiting import NotYet, wait_for

_HOME, _LOGS, _DATA = "/etc/schedproof", "/var/log/schedproof", "/prometheus"
_PORT = 9090


class PrometheusContainer:
    """A server that scrapes the given targets, with an empty database.

    Args:
        name: of the container.
        image: in this machine's Docker; its entrypoint is prometheus.
        home: a fresh folder for the configuration.
        logs: the folder for its log, and for failed scrapes with their reasons.
        lock: the cluster's lock file, which labels the container.
        scrape_interval: seconds.
        targets: address to labels.

    Raises:
        HostError: it cannot be started.
    """

    def __init__(
        self,
        name: str,
        image: str,
        *,
        home: Path,
        logs: Path,
        lock: Path,
        scrape_interval: float,
        targets: Mapping[str, Mapping[str, str]],
    ) -> None:
        from docker.errors import APIError
        from testcontainers.core.config import testcontainers_config
        from testcontainers.core.container import DockerContainer

        # Its reaper is an image from a registry; the harness itself removes containers with the lock's label.
        testcontainers_config.ryuk_disabled = True
        home.mkdir()
        self._name, self._logs = name, logs
        self._targets_file = home / "targets.json"
        self.set_targets(targets)
        scrapes = configuration(
            scrape_interval, f"{_HOME}/targets.json", scrape_failure_log_file=f"{_LOGS}/failed-scrapes.log"
        )
        (home / "prometheus.yml").write_text(json.dumps(scrapes))
        password = protect(home / "web.json")
        options = {
            "config.file": f"{_HOME}/prometheus.yml",
            "web.config.file": f"{_HOME}/web.json",
            "storage.tsdb.path": _DATA,
            "web.listen-address": f":{_PORT}",
            "log.level": "warn",
            "scrape.discovery-reload-interval": "100ms",  # hidden; see daemons/prometheus.py
        }
        self._container = (
            DockerContainer(image, name=name, command=[*flags(options), "--web.enable-lifecycle"])  # type: ignore[arg-type] # a list is accepted too
            .with_volume_mapping(str(home), _HOME, "ro")
            .with_volume_mapping(str(logs), _LOGS, "rw")
            .with_tmpfs_mount(_DATA)
            .with_kwargs(
                network=NETWORK,
                labels={LOCK_LABEL: str(lock)},
                # Its logs belong to the user that runs the harness.
                user=f"{os.getuid()}:{os.getgid()}",
            )
        )
        try:
            self._container.start()
        except APIError as error:
            self.close()
            raise HostError(
                f"cannot start Prometheus beside the cluster: {error.explanation}",
                remedy=f"run `docker run {image}` to see why",
            ) from error
        self._address = node_addresses([name])[name]
        self.url = f"http://{USER}:{password}@{self._address}:{_PORT}"

    def wait_ready(self) -> None:
        """Wait until it answers queries."""

        def probe() -> None:
            status, text = exchange(connect(self.url, 5), "GET", "/-/ready", headers=authorization(self.url))
            if status != http.client.OK:
                raise NotYet(f"/-/ready: {status} {text}")

        wait_for(probe, CONTAINER_ANSWERS, what="Prometheus to be ready", watching=(self,), poll=0.1)

    def set_targets(self, targets: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the scrape targets, which it discovers within a moment."""
        write_targets(self._targets_file, targets)

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """See `daemons.prometheus.load_rules`."""
        load_rules(self.url, self._targets_file.with_name(RULES), rules)

    def exit_error(self) -> SchedproofError | None:
        """See `waiting.Watched`."""
        state = docker("ps", "--all", "--format={{.Status}}", f"--filter=name=^/{self._name}$").strip()
        if state.startswith("Up"):
            return None
        output = self._output()[-2000:] if state else "(its container is gone)"
        return HostError(
            f"Prometheus has ended; last log lines:\n{output}",
            remedy="check whether the machine is out of memory: run `dmesg`",
        )

    def _output(self) -> str:
        return b"".join(self._container.get_logs()).decode(errors="replace")

    def close(self) -> None:
        """Remove the container, and keep its log."""
        from testcontainers.core.exceptions import ContainerStartException

        with contextlib.suppress(ContainerStartException):
            (self._logs / "prometheus.log").write_text(self._output())
        self._container.stop()
