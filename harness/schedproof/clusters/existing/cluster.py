"""A cluster that others run. The harness only changes its own objects and, if allowed, nodes, and undoes it all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.cluster import Identity, Rbac, SecondApiServer
from schedproof.clusters.existing.access import read_access
from schedproof.clusters.existing.hosting import ExistingHosting, scheduler_image
from schedproof.clusters.existing.pod_traffic import PodTraffic
from schedproof.clusters.existing.relay import Relay, url_inside
from schedproof.clusters.existing.survey import (
    ExistingOptions,
    common_pause,
    explaining_refusals,
    require_prometheus,
    survey,
)
from schedproof.clusters.existing.sweep import RUN, SUBMISSION, sweep
from schedproof.clusters.node_backup import NotingApi
from schedproof.clusters.run_lease import RunLease
from schedproof.clusters.scripted import ScriptedPrometheus, ScriptedServers
from schedproof.clusters.simulated_nodes import SimulatedNodes
from schedproof.clusters.spec import NodeSpec
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.foundation.errors import HostError, SchedproofError, UsageError
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.processes.sandbox import Sandbox
from schedproof.traffic.discovery import Known, discover

_LOOPBACK = "127.0.0.1"
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


def binaries_for(options: ExistingOptions) -> tuple[str, ...]:
    """Return the binaries that run on this machine beside the cluster."""
    return ("kube-scheduler", "prometheus", *(("kwok",) if options.allow_node_changes else ()))


class ExistingCluster:
    """See `schedproof.clusters.cluster.Cluster`. The constructor returns when everything is ready.

    Args:
        options: the user's description of it.
        binaries: returns name to path of `binaries_for`, for a minor version of Kubernetes.
        logs: the folder for logs of processes on this machine.
        readings: whether any candidate needs readings of the nodes' traffic.

    Raises:
        SchedproofError: it cannot be reached or used, or another run uses it. Nothing is left behind.
    """

    name = "existing"

    def __init__(
        self,
        options: ExistingOptions,
        binaries: Callable[[str], Mapping[str, Path]],
        logs: Path,
        *,
        readings: bool = True,
    ) -> None:
        self._options = options
        self._run = secrets.token_hex(4)
        self.namespace = self.namespace_prefix = options.namespace_prefix
        self.callback_address = options.callback_address or _LOOPBACK
        self.prometheus_url = self._prometheus_inside = options.prometheus.rstrip("/")
        self.audit_log = options.audit_log
        self.targets_servers: dict[str, TargetsServer] = {}
        self.timings: dict[str, float] = {}
        self._closing = contextlib.ExitStack()
        begin = time.monotonic()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, logs, readings=readings)
            undo.pop_all()
        self.timings["total"] = time.monotonic() - begin

    def _start(self, binaries: Callable[[str], Mapping[str, Path]], logs: Path, *, readings: bool) -> None:
        # The container of a pod may create no namespaces, and ends with all that is in it.
        sandbox = Sandbox(namespaces=self._options.kubeconfig is not None)
        self._closing.callback(sandbox.close)
        self._access = read_access(self._options.kubeconfig, self._options.context, sandbox.scratch)
        self._user = self._access.api({RUN: self._run})
        self.feature_gates: Mapping[str, bool] = {}
        with explaining_refusals(self._access):
            found = survey(self._user, self._options)
        self.kubernetes, self.nodes, self.capabilities = found.kubernetes, found.nodes, found.capabilities
        if readings:
            require_prometheus(self._options, found.prometheus)
        if readings and not self.prometheus_url:
            (service,) = found.prometheus
            relay = Relay(self._user, service)
            self._closing.callback(relay.close)
            self.prometheus_url, self._prometheus_inside = relay.url, url_inside(service)
        self.workload_image = common_pause(found.usable)
        self.largest_load = self._options.allow_load or 0.0
        known = (
            discover(self.prometheus_url, self.nodes)
            if self.prometheus_url
            else Known("", {node: {} for node in self.nodes})
        )
        self.scrape_interval = known.scrape_interval
        self.device, self.node_template = known.device, _template(found.usable[0], known.device)
        ports = Ports()
        self._closing.callback(ports.close)
        self.host = Host(sandbox, ports, binaries(self.kubernetes), logs)
        self._known, self._labels = known.labels, dict(known.labels)
        self._scripted = ScriptedServers(self.host, self._labels, self.targets_servers)
        with explaining_refusals(self._access):
            lease = RunLease(self._user, self._run)
            self._closing.callback(lease.close)
            # Remove what an interrupted run has left.
            sweep(self._user)
            _require_free(self._user, self.namespace)
            # Another run has removed what is there of this one.
            self._closing.callback(lambda: sweep(self._user) if lease.is_held else [])
            bootstrap.namespace(self._user, self.namespace)
            self.api, self.harness_user = self._harness()
        self.api.nodes, self.api.lease = self._options.allow_node_changes, lease
        self.hosting = self._hosting(found.usable) if "real-pods" in self.capabilities else None
        self._traffic = PodTraffic(
            self.api, self.namespace, self.nodes, image=self._python_image, labels={RUN: self._run},
            most=self.largest_load,
        )  # fmt: skip
        self._closing.callback(self._traffic.close)
        self._joined = SimulatedNodes(self.host, self.api, self._kwok_kubeconfig, self._run)

    def _hosting(self, nodes: Sequence[Manifest]) -> ExistingHosting:
        addresses = nodes[0]["status"].get("addresses") or ()
        internal = next((entry["address"] for entry in addresses if entry["type"] == "InternalIP"), "")
        options = self._options
        return ExistingHosting(
            self.api, self.namespace, self._run, registry=options.registry, python_image=options.python_image,
            scheduler_image="" if options.own_scheduler else scheduler_image(nodes, self._user.version()),
            service_address=internal if options.callback_address else "", prometheus_url=self._prometheus_inside,
        )  # fmt: skip

    def _python_image(self) -> str:
        image = self._options.python_image
        return self.hosting.load_image(image) if self.hosting is not None and self.hosting.builds else image

    def _harness(self) -> tuple[NotingApi, str]:
        """Return the connection of the harness, and its user.

        That is a ServiceAccount of its own with all rights, which the audit log tells apart from all other clients; or
        the user of the kubeconfig, who may not grant that.
        """
        access, marks = self._access, {RUN: self._run}
        if not self._user.may("bind", "clusterroles", "cluster-admin"):
            return access.noting_api(marks), self._user.user()
        token = bootstrap.harness_token(self._user, home=self.namespace)
        own = NotingApi(access.url, access.ca, token=token, line=access.line, marks=marks)
        return own, bootstrap.harness_user(self.namespace)

    def _kwok_kubeconfig(self) -> Path:
        # For the kubelets of nodes that join.
        return self.identity("schedproof-kwok", Rbac(cluster_roles=("cluster-admin",))).kubeconfig

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self.api, name, rbac, directory=self.host.sandbox.scratch, server=self._access.url,
            ca=self._access.ca, line=self._access.line, home=self.namespace,
        )  # fmt: skip

    def servers(self) -> Mapping[str, int]:
        """Return no pids: the control plane is not known to run on this machine."""
        return {}

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        self._joined.add([dataclasses.replace(like or self.node_template, name=name)], idle=True)
        self._relabel()

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        nodes = [dataclasses.replace(like or self.node_template, name=name) for name in addresses]
        self._joined.add(nodes, idle=True, addresses=addresses)

    def remove_node(self, name: str) -> None:
        self._joined.remove(name)
        self._relabel()

    def _relabel(self) -> None:
        """Give nodes that join the labels that all nodes of the cluster have in common, and those that name them."""
        alike = dict(set.intersection(*(set(labels.items()) for labels in self._known.values())))
        self._labels.clear()
        self._labels.update(self._known)
        self._labels.update({node: {**alike, **own} for node, own in self._joined.labels.items()})

    def second_apiserver(self) -> SecondApiServer:
        raise HostError("a second apiserver can only be started in the embedded cluster")

    def advance_versions(self, version: int) -> int:  # noqa: ARG002 - the protocol's
        raise HostError("resourceVersions can only be advanced in the embedded cluster")

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        # The nodes that joined are not machines.
        self._traffic.set_rates({node: rate for node, rate in rates.items() if node in self.nodes}, direction)

    def scripted_metrics(self) -> ScriptedPrometheus:
        return self._scripted.take()

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        self._scripted.rules = rules

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name}

    def export_logs(self, folder: Path) -> None:
        with contextlib.suppress(SchedproofError, OSError):
            make_private(folder)
            events = [
                event
                for namespace in self.api.list("namespaces", labelSelector=RUN)["items"]
                for event in self.api.list("events", namespace["metadata"]["name"])["items"]
            ]
            (folder / "events.json").write_text(json.dumps(events, indent=1))
            (folder / "nodes.json").write_text(json.dumps(self.api.list("nodes")["items"], indent=1))

    def close(self) -> None:
        """Remove everything that was created. Safe to call twice."""
        self._closing.close()


def clean_existing(kubeconfig: Path, context: str) -> list[str]:
    """Remove what interrupted runs have left in a cluster, and all runs that were submitted to it; return what it was.

    Raises:
        SchedproofError: the cluster cannot be reached, or a live run uses it.
    """
    with contextlib.closing(Sandbox()) as sandbox:
        access = read_access(kubeconfig, context, sandbox.scratch)
        user = access.api()
        with explaining_refusals(access), contextlib.closing(RunLease(user, "schedproof clean")):
            return [*sweep(user), *sweep(user, SUBMISSION)]


def _require_free(api: Api, prefix: str) -> None:
    """Refuse existing namespaces with the prefix: the harness did not create them."""
    names = [item["metadata"]["name"] for item in api.list("namespaces")["items"]]
    if taken := [name for name in names if name == prefix or name.startswith(f"{prefix}-")]:
        raise UsageError(
            f"namespaces with this prefix exist already: {', '.join(taken)}",
            remedy="choose another --namespace-prefix",
        )


def _template(node: Manifest, device: str) -> NodeSpec:
    labels = node["metadata"].get("labels") or {}
    capacity = node["status"]["allocatable"]
    return NodeSpec(
        "node-{n}",
        {resource: str(capacity[resource]) for resource in _RESOURCES if resource in capacity},
        {key: value for key, value in labels.items() if key.startswith("topology.kubernetes.io/")},
        device=device,
    )
