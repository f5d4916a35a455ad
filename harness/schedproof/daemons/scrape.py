"""The series of a node_exporter's scrape on an idle node, from which scripted series are made.

The collectors netdev and uname are those of the clusters' exporters (`start_node_exporter`,
`clusters/addons/node-exporter.yaml`). `tests/live/test_scrape.py` compares their families and labels with those of a
real scrape. All series of other default collectors are constant: `scrape_defaults.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from schedproof.daemons.scrape_defaults import USUAL, Machine, Still, linked, others

RECEIVED, SENT = "node_network_receive_bytes_total", "node_network_transmit_bytes_total"
"""The names of a device's byte counters in node_exporter's netdev collector."""

UNAME = "node_uname_info"
"""The series that queries join with for node names: its label `nodename` is the output of `uname -n`."""

JOB = "node-exporter"

WHOLE = 32
"""Scripted scrapes are whole for up to this many nodes: ten times as many would have millions of samples."""

_QUERIED = frozenset({RECEIVED, SENT, UNAME, "up"})

_COUNTED = MappingProxyType(
    {
        "receive": ("bytes", "compressed", "drop", "errs", "fifo", "frame", "multicast", "nohandler", "packets"),
        "transmit": ("bytes", "carrier", "colls", "compressed", "drop", "errs", "fifo", "packets"),
    }
)
"""The netdev collector's counters of each device, from netlink's 64-bit statistics (collector/netdev_linux.go)."""
_FAMILIES = tuple(f"node_network_{way}_{counter}_total" for way, counters in _COUNTED.items() for counter in counters)

_BUILD = MappingProxyType(
    {
        "goarch": "amd64", "goos": "linux", "goversion": "go1.26", "revision": "unknown", "tags": "unknown",
        "version": "1.12.1",
    }
)  # fmt: skip
_MACHINE = MappingProxyType(
    {"domainname": "(none)", "machine": "x86_64", "release": "6.1.0", "sysname": "Linux", "version": "#1 SMP"}
)


def opposite(metric: str) -> str:
    """Return the counter of the opposite direction; "" if the metric's name has no direction."""
    for way, other in (("_receive_", "_transmit_"), ("_transmit_", "_receive_")):
        if way in metric:
            return metric.replace(way, other)
    return ""


def exposed(devices: Iterable[str], *, whole: bool = True, machine: Machine | None = USUAL) -> list[Still]:
    """Return the exporter's series, without the target's labels and `nodename` of `UNAME`.

    Args:
        devices: the network devices, without the loopback.
        whole: if not, only the series that queries read or join with.
        machine: what the other default collectors report; None: there are no others.
    """
    names = tuple(devices)
    series = [Still({"__name__": family, "device": device}, 0.0) for device in ("lo", *names) for family in _FAMILIES]
    series.append(Still({"__name__": "node_exporter_build_info", **_BUILD}, 1.0))
    series.append(Still({"__name__": UNAME, **_MACHINE}, 1.0))
    for collector in ("netdev", "uname"):
        series.append(Still({"__name__": "node_scrape_collector_duration_seconds", "collector": collector}, 1e-4))
        series.append(Still({"__name__": "node_scrape_collector_success", "collector": collector}, 1.0))
    if not whole:
        series = [one for one in series if one.labels["__name__"] in _QUERIED and one.labels.get("device") != "lo"]
    if machine is None:
        return series
    return [*series, *(others(names, machine) if whole else (still for device in names for still in linked(device)))]


def reported(samples: int, *, whole: bool = True) -> dict[str, float]:
    """Return the series that Prometheus adds to a scrape (scrape/scrape.go, report); 0 `samples`: the scrape failed."""
    report = {
        "up": float(samples > 0),
        "scrape_duration_seconds": 0.002,
        "scrape_samples_scraped": float(samples),
        "scrape_samples_post_metric_relabeling": float(samples),
        "scrape_series_added": 0.0,
    }
    return report if whole else {"up": report["up"]}
