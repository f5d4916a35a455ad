from __future__ import annotations

import dataclasses
import datetime
import http.client
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from schedproof.daemons.daemon import Host, flags, wait_http
from schedproof.daemons.password import USER, authorization, protect
from schedproof.foundation.deadlines import DAEMON_READY, FIRST_SCRAPE
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.http import connect, exchange
from schedproof.foundation.processes.sandbox import Process
from schedproof.foundation.waiting import NotYet, wait_for

RULES = "rules.json"
"""The file of recording rules, in the folder of the targets file."""

_EVALUATED = "500ms"


@dataclasses.dataclass(frozen=True)
class Prometheus:
    """A Prometheus server on loopback that scrapes the targets of a file, and accepts pushed samples.

    It requires its `password`, because Prometheus cannot restrict clients to reading: the candidates' tap does.
    """

    process: Process
    port: int
    targets_file: Path
    password: str = dataclasses.field(repr=False)

    @property
    def url(self) -> str:
        """Its base URL, with the password."""
        return f"http://{USER}:{self.password}@127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        wait_http(self.process, self.port, "/-/ready", DAEMON_READY, headers=authorization(self.url))

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """Replace the recording rules; see the function `load_rules`."""
        load_rules(self.url, self.targets_file.with_name(RULES), rules)

    def set_targets(self, targets: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the scrape targets: address to labels. Prometheus' file discovery (inotify) picks them up."""
        write_targets(self.targets_file, targets)

    def wait_scraped(self, addresses: Collection[str]) -> None:
        """Wait until exactly these targets are discovered, and each has been scraped."""

        def probe() -> None:
            status, text = _ask(self.url, "GET", "/api/v1/targets?state=active")
            if status != http.client.OK:
                raise NotYet(f"{status} {text[-400:]}")
            targets = json.loads(text)["data"]["activeTargets"]
            up = {target["discoveredLabels"]["__address__"] for target in targets if target["health"] == "up"}
            if up != set(addresses):
                raise NotYet(f"scraped so far: {', '.join(sorted(up))}")

        wait_for(probe, FIRST_SCRAPE, what="Prometheus to scrape every node", watching=(self.process,))


def write_targets(file: Path, targets: Mapping[str, Mapping[str, str]]) -> None:
    """Replace a targets file, which Prometheus' file discovery reads: address to labels."""
    groups = [{"targets": [address], "labels": dict(labels)} for address, labels in targets.items()]
    # Renaming is atomic: Prometheus never reads half a file.
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(groups))
    fresh.rename(file)


def load_rules(url: str, file: Path, rules: Sequence[Mapping[str, Any]]) -> None:
    """Replace a server's recording rules: it evaluates these every half second, in their order, and no others.

    Raises:
        UsageError: it rejects them.
    """
    if not rules and not file.exists():
        return
    group = {"name": "claimed", "interval": _EVALUATED, "rules": [dict(rule) for rule in rules]}
    file.write_text(json.dumps({"groups": [group] if rules else []}))
    status, text = _ask(url, "POST", "/-/reload")
    if status != http.client.OK:
        raise UsageError(
            f"Prometheus rejects the recording rules of claims.network.rules: {text[-400:]}",
            remedy="run `promtool check rules FILE`",
        )


def wait_recorded(url: str) -> None:
    """Wait until each rule has been evaluated after this call.

    Raises:
        UsageError: a rule cannot be evaluated.
    """
    since = datetime.datetime.now(datetime.UTC)

    def probe() -> None:
        status, text = _ask(url, "GET", "/api/v1/rules")
        if status != http.client.OK:
            raise NotYet(f"{status} {text[-400:]}")
        for rule in (rule for group in json.loads(text)["data"]["groups"] for rule in group["rules"]):
            if datetime.datetime.fromisoformat(rule["lastEvaluation"]) <= since:
                raise NotYet(f"rule {rule['name']} was last evaluated at {rule['lastEvaluation']}")
            if rule["health"] == "err":
                raise UsageError(
                    f"the recording rule {rule['name']} of claims.network.rules fails: {rule.get('lastError')}",
                    remedy="try its expr on a Prometheus that scrapes node_exporter",
                )

    wait_for(probe, DAEMON_READY, what="the recording rules to be evaluated")


def _ask(url: str, method: str, path: str) -> tuple[int, str]:
    status, text = exchange(connect(url, 30), method, path, headers=authorization(url))
    if not status:
        raise HostError(f"Prometheus does not answer {path}: {text}", remedy="read its log")
    return status, text


def configuration(scrape_interval: float, targets_file: str, **scrape: object) -> dict[str, object]:
    """Return Prometheus' configuration: targets, interval in seconds; `scrape` has more fields of its scrape config."""
    discovery = {"job_name": "node-exporter", "file_sd_configs": [{"files": [targets_file]}]}
    return {
        "global": {"scrape_interval": f"{round(scrape_interval * 1000)}ms"},
        "rule_files": [str(PurePosixPath(targets_file).with_name(RULES))],
        "scrape_configs": [{**discovery, **scrape}],
    }


def start_prometheus(
    host: Host,
    name: str,
    *,
    scrape_interval: float,
    out_of_order: str = "30d",
    env: Mapping[str, str] | None = None,
) -> Prometheus:
    """Start a server with an empty database; returns at once.

    Args:
        host: where it runs.
        name: distinguishes several servers of one cluster (logs, data).
        scrape_interval: seconds.
        out_of_order: how far behind the newest sample a pushed sample may be.
        env: additional environment variables.
    """
    home = host.sandbox.scratch / name
    home.mkdir()
    port = host.ports.reserve()
    password = protect(home / "web.json")
    server = Prometheus(None, port, home / "targets.json", password)  # type: ignore[arg-type] # replaced below
    server.set_targets({})
    config = configuration(scrape_interval, str(server.targets_file))
    config["storage"] = {"tsdb": {"out_of_order_time_window": out_of_order}}
    (home / "prometheus.yml").write_text(json.dumps(config))
    options = {
        "config.file": home / "prometheus.yml",
        "storage.tsdb.path": home / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "web.config.file": home / "web.json",
        "log.level": "warn",
        # Both are hidden flags: by default, new targets are only read every 5 s.
        "scrape.discovery-reload-interval": "100ms",
    }
    argv = ["prometheus", *flags(options), "--web.enable-remote-write-receiver", "--web.enable-lifecycle"]
    return dataclasses.replace(server, process=host.start(name, argv, env=env))
