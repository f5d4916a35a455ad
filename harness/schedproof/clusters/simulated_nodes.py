"""Nodes without a machine: networks with real exporters, and Node objects that a kwok process simulates."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.clusters.api import Api
from schedproof.clusters.nodes import wait_gone, wait_ready
from schedproof.clusters.spec import NodeSpec
from schedproof.daemons.daemon import Host
from schedproof.daemons.kwok import start_kwok
from schedproof.daemons.node_exporter import NodeExporter, start_node_exporter
from schedproof.foundation.processes.sandbox import Process
from schedproof.traffic.fabric import Fabric
from schedproof.traffic.readings import made_up_address, node_labels

_NO_ADDRESSES: Mapping[str, str] = MappingProxyType({})
PLAYED = "schedproof.dev/played"
"""The annotation of simulated Node objects; its value identifies the run."""


class Exporters:
    """A network namespace for each node and, after `start`, a real node_exporter in it.

    Args:
        host: where the exporters run.
        address: this machine's address at which they are scraped.
    """

    def __init__(self, host: Host, address: str = "127.0.0.1") -> None:
        self._host, self._address = host, address
        self.fabric = Fabric(host)
        self._exporters: dict[str, NodeExporter] = {}
        self.started = False
        self.labels: dict[str, Mapping[str, str]] = {}
        """Node to the labels of its series."""

    @property
    def targets(self) -> dict[str, Mapping[str, str]]:
        """The scrape targets: address and port to labels."""
        return {exporter.address: self.labels[node] for node, exporter in self._exporters.items()}

    def start(self) -> None:
        """Start an exporter for each node, also for nodes added later. They accept connections a moment later."""
        self.started = True
        for node in self.labels:
            self._start(node)

    def add(self, node: str, device: str) -> None:
        self.fabric.add_node(node, device)
        self.labels[node] = node_labels(node, self.fabric.address(node))
        if self.started:
            self._start(node)

    def _start(self, node: str) -> None:
        self._exporters[node] = start_node_exporter(self._host, node, self.fabric.namespace(node), self._address)

    def remove(self, node: str) -> None:
        del self.labels[node]
        if node in self._exporters:
            self._exporters.pop(node).process.stop(grace=0)
        self.fabric.remove_node(node)

    def close(self) -> None:
        self.fabric.close()


class SimulatedNodes:
    """Simulated nodes that join a cluster of real kubelets, and leave it. Real nodes are not changed.

    Args:
        host: where kwok and the exporters run.
        api: may create and delete nodes.
        kubeconfig: returns kwok's kubeconfig; called when the first node joins.
        run: distinguishes these nodes from those of other runs.
        address: this machine's address at which exporters are scraped; "" if they are not scraped.
    """

    def __init__(self, host: Host, api: Api, kubeconfig: Callable[[], Path], run: str, *, address: str = "") -> None:
        self._host, self._api, self._kubeconfig = host, api, kubeconfig
        self._annotation, self._address = (PLAYED, run), address
        self._kwok: Process | None = None
        self._exporters: Exporters | None = None
        self._version = ""
        self._made_up = 0
        self._unscraped: dict[str, Mapping[str, str]] = {}
        self.names: list[str] = []

    @property
    def targets(self) -> Mapping[str, Mapping[str, str]]:
        """The scrape targets: address and port to labels."""
        return self._exporters.targets if self._exporters is not None else {}

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """Node to the labels of its series, or those it would have if scraped; without nodes of a given address."""
        return {**self._unscraped, **(self._exporters.labels if self._exporters is not None else {})}

    def add(
        self, specs: Sequence[NodeSpec], *, idle: bool = False, addresses: Mapping[str, str] = _NO_ADDRESSES
    ) -> None:
        """Add nodes, and wait until they are Ready. Idle nodes only exist in the API, without a device or exporter.

        The InternalIP of a node that is not scraped is its entry in `addresses`, or a unique address if that is
        missing or empty.
        """
        if self._kwok is None:
            self._kwok = start_kwok(self._host, self._kubeconfig(), annotation=self._annotation)
            self._version = self._api.version()
        for spec in specs:
            if self._address and not idle:
                if self._exporters is None:
                    self._exporters = Exporters(self._host, self._address)
                    self._exporters.start()
                self._exporters.add(spec.name, spec.device)
            elif not addresses.get(spec.name):
                self._made_up += 1
                self._unscraped[spec.name] = node_labels(spec.name, made_up_address(self._made_up))
            self._api.create("nodes", self._manifest(spec, addresses.get(spec.name, "")))
            self.names.append(spec.name)
        wait_ready(self._api, [spec.name for spec in specs], watching=(self._kwok,))

    def set_rates(self, rates: Mapping[str, float], direction: str) -> None:
        """Set rates as `Fabric.set_rates`, for nodes that have an exporter."""
        if rates:
            assert self._exporters is not None
            self._exporters.fabric.set_rates(rates, direction)

    def _manifest(self, spec: NodeSpec, address: str) -> dict[str, Any]:
        address = address or self.labels[spec.name]["instance"].rpartition(":")[0]
        manifest = spec.manifest(address, self._version)
        metadata = manifest["metadata"]
        # DaemonSets of a real cluster select this label, and would wait for pods that never run.
        metadata["labels"].pop("kubernetes.io/os", None)
        metadata["annotations"] |= [self._annotation]
        return manifest

    def remove(self, name: str) -> None:
        """Remove a node, and wait until its Node object is gone."""
        self._api.delete_if_there("nodes", name)
        if name in self.names:
            self.names.remove(name)
        self._unscraped.pop(name, None)
        if self._exporters is not None and name in self._exporters.labels:
            self._exporters.remove(name)
        wait_gone(self._api, name)

    def close(self) -> None:
        """Remove all remaining nodes. Safe to call twice."""
        with contextlib.ExitStack() as closing:
            if self._exporters is not None:
                closing.callback(self._exporters.close)
            for name in list(self.names):
                self.remove(name)
