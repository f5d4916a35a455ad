from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from schedproof.daemons.daemon import Host, flags, wait_http
from schedproof.foundation.deadlines import DAEMON_READY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from schedproof.foundation.sandbox import Process

__all__ = ["Prometheus", "configuration", "start_prometheus", "write_targets"]


@dataclasses.dataclass(frozen=True)
class Prometheus:
    """A Prometheus server on loopback that scrapes what its targets file lists, and takes pushed samples."""

    process: Process
    port: int
    targets_file: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        wait_http(self.process, self.port, "/-/ready", DAEMON_READY)

    def set_targets(self, targets: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the scrape targets: address to labels. Picked up by Prometheus' file discovery (inotify)."""
        write_targets(self.targets_file, targets)


def write_targets(file: Path, targets: Mapping[str, Mapping[str, str]]) -> None:
    """Replace a targets file as Prometheus' file discovery reads it: address to labels."""
    groups = [{"targets": [address], "labels": dict(labels)} for address, labels in targets.items()]
    # A rename is atomic: Prometheus never reads half a file.
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(groups))
    fresh.rename(file)


def configuration(scrape_interval: float, targets_file: str, **scrape: object) -> dict[str, object]:
    """What Prometheus is to scrape, and how often (seconds); `scrape` are more fields of its scrape config."""
    discovery = {"job_name": "node-exporter", "file_sd_configs": [{"files": [targets_file]}]}
    return {
        "global": {"scrape_interval": f"{round(scrape_interval * 1000)}ms"},
        "scrape_configs": [{**discovery, **scrape}],
    }


def start_prometheus(
    host: Host,
    name: str,
    *,
    scrape_interval: float,
    targets: Mapping[str, Mapping[str, str]] | None = None,
    out_of_order: str = "30d",
) -> Prometheus:
    """Start a server with an empty database; returns at once.

    Args:
        host: where it runs.
        name: tells several servers of one cluster apart (logs, data).
        scrape_interval: seconds.
        targets: see `Prometheus.set_targets`.
        out_of_order: how far behind the newest sample a pushed one may lie.
    """
    home = host.sandbox.scratch / name
    home.mkdir()
    port = host.ports.reserve()
    server = Prometheus(None, port, home / "targets.json")  # type: ignore[arg-type] # replaced below
    server.set_targets(targets or {})
    config = configuration(scrape_interval, str(server.targets_file))
    config["storage"] = {"tsdb": {"out_of_order_time_window": out_of_order}}
    (home / "prometheus.yml").write_text(json.dumps(config))
    options = {
        "config.file": home / "prometheus.yml",
        "storage.tsdb.path": home / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "log.level": "warn",
        # Both hidden: the default only looks at new targets every 5 s.
        "scrape.discovery-reload-interval": "100ms",
    }
    argv = ["prometheus", *flags(options), "--web.enable-remote-write-receiver"]
    return dataclasses.replace(server, process=host.start(name, argv))
