"""What Prometheus says about the nodes' traffic, read with prometheus-api-client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NODE_LABEL", "Reader", "traffic_query"]

NODE_LABEL = "node"
"""The label by which every series of an embedded cluster names its node."""


def traffic_query(metric: str, device: str, window: float) -> str:
    """Bytes per second and node, over `window` seconds, as a candidate would ask for them."""
    return f'sum by ({NODE_LABEL}) (rate({metric}{{device="{device}"}}[{round(window * 1000)}ms]))'


class Reader:
    """Asks one Prometheus server."""

    def __init__(self, url: str) -> None:
        import requests
        from prometheus_api_client import PrometheusConnect

        session = requests.Session()
        session.trust_env = False  # proxies and CA bundles of the environment are not for loopback
        self._server: Any = PrometheusConnect(url=url, session=session)
        self._session = session

    def traffic(self, query: str, moment: float | None = None) -> dict[str, float]:
        """Node to bytes per second, as of `moment` (seconds since the epoch; default: now).

        Nodes without a sample are absent.
        """
        params: Mapping[str, object] = {} if moment is None else {"time": f"{moment:.3f}"}
        answer = self._server.custom_query(query, params=dict(params))
        return {entry["metric"].get(NODE_LABEL, ""): float(entry["value"][1]) for entry in answer}

    def close(self) -> None:
        self._session.close()
