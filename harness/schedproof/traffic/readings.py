"""Reads the nodes' traffic from Prometheus, with prometheus-api-client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.foundation.deadlines import FIRST_SCRAPE
from schedproof.foundation.waiting import NotYet, Watched, wait_for

NODE_LABEL = "node"
"""The label with the node's name, on every series."""


def made_up_address(number: int) -> str:
    """Return an address for a node that is not scraped: nothing listens there. Unique for each number up to 65,535."""
    return f"198.19.{number >> 8}.{number & 255}"


def node_labels(node: str, address: str) -> Mapping[str, str]:
    """Return the target labels of Kubernetes service discovery: the node's address, and its name (two usual labels)."""
    return {"instance": f"{address}:9100", NODE_LABEL: node, "kubernetes_node": node}


def traffic_query(metric: str, device: str, window: float) -> str:
    """Return a query for bytes per second by node, over `window` seconds, as a candidate would write it."""
    return f'sum by ({NODE_LABEL}) (rate({metric}{{device="{device}"}}[{round(window * 1000)}ms]))'


class Reader:
    """Queries one Prometheus server."""

    def __init__(self, url: str) -> None:
        import requests
        from prometheus_api_client import PrometheusConnect

        session = requests.Session()
        session.trust_env = False  # proxies and CA bundles of the environment do not apply to loopback
        self._server: Any = PrometheusConnect(url=url, session=session)
        self._session = session

    def traffic(self, query: str, moment: float | None = None) -> dict[str, float]:
        """Return bytes per second by node, as of `moment` (seconds since the epoch; default: now).

        Nodes without a sample are absent, and so is what has no node's name.
        """
        params: Mapping[str, object] = {} if moment is None else {"time": f"{moment:.3f}"}
        answer = self._server.custom_query(query, params=dict(params))
        return {
            entry["metric"][NODE_LABEL]: float(entry["value"][1]) for entry in answer if NODE_LABEL in entry["metric"]
        }

    def series(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Return the current result of a query: labels and value of each series."""
        return [(dict(entry["metric"]), float(entry["value"][1])) for entry in self._server.custom_query(query)]

    def sampled(self, query: str) -> list[list[float]]:
        """Return when each series of a range selector was sampled, in seconds since the epoch."""
        return [[float(moment) for moment, _ in entry["values"]] for entry in self._server.custom_query(query)]

    def metrics(self) -> set[str]:
        """Return the names of all metrics of which the server has samples; none if it does not respond."""
        import requests
        from prometheus_api_client.exceptions import PrometheusApiClientException

        try:
            return set(self._server.all_metrics())
        except (requests.RequestException, PrometheusApiClientException):
            return set()

    def close(self) -> None:
        self._session.close()


def wait_scraped(reader: Reader, nodes: Sequence[str], *, watching: Sequence[Watched] = ()) -> None:
    """Wait until Prometheus has scraped every node, which is later than its readiness."""

    def probe() -> None:
        up = reader.traffic(f"sum by ({NODE_LABEL}) (up)")
        if missing := [node for node in nodes if up.get(node) != 1]:
            raise NotYet(f"not scraped: {', '.join(missing)}")

    wait_for(probe, FIRST_SCRAPE, what="Prometheus to scrape every node", watching=watching)
