"""Finds the nodes' series in a Prometheus that is not started by the harness."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence

from schedproof.daemons.scrape import RECEIVED
from schedproof.foundation.errors import HostError, UsageError
from schedproof.traffic.readings import NODE_LABEL, Reader

_PREFERRED = "eth0"
_LOOK_BACK = "5m"


@dataclasses.dataclass(frozen=True)
class Known:
    """The traffic device that all nodes have, and the labels of each node's series without `device`."""

    device: str
    labels: Mapping[str, Mapping[str, str]]
    scrape_interval: float = 15.0
    """Seconds between samples of a series; a usual value if there are too few of them."""


def discover(url: str, nodes: Sequence[str]) -> Known:
    """Query a Prometheus for the traffic counters of these nodes.

    Raises:
        HostError: it does not respond.
        UsageError: it has no series of the nodes with the label `node`.
    """
    import requests
    from prometheus_api_client.exceptions import PrometheusApiClientException

    with contextlib.closing(Reader(url)) as reader:
        try:
            series = reader.series(RECEIVED)
        except (requests.RequestException, PrometheusApiClientException, ValueError) as error:
            raise HostError(
                f"Prometheus does not respond at {url}: {error}",
                remedy=(
                    "--prometheus takes its base URL as seen from this machine; check it with: curl "
                    "URL/api/v1/query?query=up"
                ),
            ) from error
        known = known_of(series, nodes, url)
        sampled = reader.sampled(f'{RECEIVED}{{device="{known.device}"}}[{_LOOK_BACK}]')
    gaps = [after - before for times in sampled for before, after in itertools.pairwise(times)]
    # The median: a scrape may have been lost.
    return dataclasses.replace(known, scrape_interval=statistics.median(gaps)) if gaps else known


def known_of(series: Sequence[tuple[Mapping[str, str], float]], nodes: Sequence[str], url: str) -> Known:
    """Choose the device from labels and values of series: of several devices that all nodes have, eth0 or the busiest.

    Raises:
        UsageError: no device has a series of every node.
    """
    devices: dict[str, dict[str, tuple[Mapping[str, str], float]]] = {}
    for labels, value in series:
        if labels.get(NODE_LABEL) in nodes and labels.get("device", "lo") != "lo":
            devices.setdefault(labels["device"], {})[labels[NODE_LABEL]] = labels, value
    common = {device: found for device, found in devices.items() if set(found) == set(nodes)}
    if not common:
        known = {labels.get(NODE_LABEL, "") for labels, _ in series}
        missing = [node for node in nodes if node not in known]
        raise UsageError(
            (
                f"Prometheus at {url} has no {RECEIVED} series of a device that all nodes have, with the label "
                f"{NODE_LABEL!r}: "
            )
            + (f"no samples of {', '.join(missing)}" if missing else f"found devices {', '.join(sorted(devices))}"),
            remedy=(
                f"scrape a node_exporter on every node, and let relabeling set the label {NODE_LABEL!r} to the name "
                "of the Node object (from __meta_kubernetes_pod_node_name)"
            ),
        )
    device = max(common, key=lambda name: (name == _PREFERRED, sum(value for _, value in common[name].values()), name))
    return Known(
        device,
        {
            node: {name: value for name, value in labels.items() if name not in ("__name__", "device")}
            for node, (labels, _) in common[device].items()
        },
    )
