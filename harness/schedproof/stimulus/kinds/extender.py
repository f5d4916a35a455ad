"""Stimuli for extenders: requests of the harness, and faults of the tapped connection."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from schedproof.candidate.claims import NetworkClaims
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.clusters.cluster import ScriptedMetrics
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect, connect_by_name, exchange, insecure_tls
from schedproof.foundation.http2 import ALPN
from schedproof.history.acts import LineFault, NodesLoad, TransportTried
from schedproof.history.faults import Fault
from schedproof.judge.clauses.extender.tls import AS_CONFIGURED, PLAIN, WITHOUT_CERTIFICATE
from schedproof.judge.rulings.extender_calls import DEFAULT_TIMEOUT, is_needed
from schedproof.proxies.exchange import HARNESS
from schedproof.proxies.taps import Tap
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.traffic.load import sample_step, scripted_past
from schedproof.stimulus.traffic.new_readings import await_new_readings
from schedproof.stimulus.traffic.own_placements import OwnPlacements
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

_ANSWER_SECONDS = 20.0
_PATIENCE = 30.0
"""Seconds of waiting without any response, after which a case sends no further requests: they would get none either."""
_LEAST = 1e5
"""Bytes per second at the quietest node, if nodes differ."""
_NO_POD = "00000000-0000-4000-8000-000000000000"
"""The uid of a pod that does not exist."""


class ExtenderStimulus:
    """Sends requests to an extender, and breaks the line between it and kube-scheduler."""

    def __init__(self, context: Context, spec: ExtenderSpec, nodes: NodeChanges, status: PodStatus) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._nodes, self._status = nodes, status
        self._config, self._ready = spec.config, spec.ready
        self._server: ScriptedMetrics | None = None
        self._traffic: dict[str, float] = {}
        self._waited_in_vain = 0.0

    @property
    def verbs(self) -> tuple[str, ...]:
        """The configured verbs."""
        return self._config.verbs

    def add_idle_nodes(self, count: int, *, alike: bool = True) -> list[str]:
        """Add idle nodes, give all nodes readings, so that none is rejected for lack of one, and return the new names.

        `alike`: no node has traffic; otherwise any two differ by more than twice the claimed resolution. In that
        case, wait first until earlier placements no longer count: an extender cannot know which of several equal
        nodes a pod went to.
        """
        if not alike and self._trial.probes_apart:
            OwnPlacements(self._trial).wait()
        added = self._nodes.add_idle(count)
        network = self._trial.candidate.claims.network
        if network is not None:
            nodes = [*self._trial.cluster.nodes, *added, *self._trial.reserved_nodes]
            factor = 1.5 + 2 * network.resolution
            order = enumerate(self._context.random.sample(nodes, len(nodes)))
            self._script(network, {node: 0.0 if alike else _LEAST * factor**place for place, node in order})
        return added

    def reverse_load(self) -> None:
        """Give the quietest node the traffic of the loudest, and so on: no fixed choice is right before and after."""
        network, before = self._trial.candidate.claims.network, self._server
        if network is None or before is None:
            return
        self._script(network, dict(zip(self._traffic, reversed(self._traffic.values()), strict=True)))
        before.close()

    def _script(self, network: NetworkClaims, traffic: Mapping[str, float]) -> None:
        """Give the candidate a Prometheus with these readings, in bytes per second, in ascending order."""
        self._traffic = dict(traffic)
        self._server = self._trial.cluster.scripted_metrics()
        begin = time.time() - scripted_past(network)
        counters = {node: Counter(1e9, ((begin, rate),)) for node, rate in traffic.items()}
        device = network.device.format(device=self._trial.cluster.device)
        self._server.script(Script({(network.metric, device): counters}, sample_step(network), self._nodes.targets))
        self._trial.attachment.prometheus.upstream = self._server.url
        await_new_readings(self._trial)
        self._recorder.add(NodesLoad(case=self._context.clause, phase=0, traffic=dict(traffic), source="scripted"))

    def undo(self) -> None:
        """Connect the candidate to the cluster's Prometheus again."""
        if self._server is not None:
            self._trial.attachment.prometheus.upstream = self._trial.cluster.prometheus_url
            self._server.close()

    def call_preempt(self, *, victim: Pod) -> None:
        """Call the preempt verb for a pod of a higher priority that needs the room of the bound pod `victim`."""
        if not self._config.preempt_verb:
            return
        pod = self._recorder.pods[victim.uid]
        node = pod["spec"]["nodeName"]
        manifest = {**pod, "metadata": {**pod["metadata"], "name": f"{victim.name}-preemptor", "uid": _NO_POD}}
        manifest["spec"] = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
        arguments: dict[str, Any] = {"Pod": manifest, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self._config.node_cache_capable:
            arguments["NodeNameToMetaVictims"] = {node: {"Pods": [{"UID": victim.uid}], "NumPDBViolations": 0}}
        else:
            arguments["NodeNameToVictims"] = {node: {"Pods": [pod], "NumPDBViolations": 0}}
        self.call(self._config.preempt_verb, json.dumps(arguments).encode(), what="a preemption")

    @property
    def needed(self) -> bool:
        """Whether the configuration makes pods wait while the extender is down."""
        return is_needed(self._config.recorded())

    @contextlib.contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """A context in which kube-scheduler cannot reach the extender, or gets no response from it."""
        tap = self._tap
        tap.inject(fault)
        self._recorder.add(LineFault(case=self._context.clause, line="extender", fault=fault, on=True))
        try:
            yield
            self._recorder.add(LineFault(case=self._context.clause, line="extender", fault="", on=False))
        finally:
            tap.heal()
            self._waited_in_vain = 0.0
            # The client is kube-scheduler, which always has a timeout and is not under test.
            tap.release()

    def await_left_waiting(self, pods: Sequence[Pod]) -> None:
        """Give kube-scheduler time to report for each of these pods that it could not be scheduled."""
        for pod in pods:
            self._status.await_condition([pod], "PodScheduled", self.beyond_timeout)

    @property
    def beyond_timeout(self) -> Deadline:
        """The claimed time to bind a pod, plus the httpTimeout for each verb."""
        bind, timeout = self._context.deadlines.bind, self._config.http_timeout or DEFAULT_TIMEOUT
        return dataclasses.replace(bind, seconds=bind.seconds + timeout * len(self.verbs))

    @property
    def _tap(self) -> Tap:
        tap = self._trial.attachment.extender
        if tap is None:
            raise HostError(
                "this extender has no tap: its connection cannot be interrupted, and no requests can be sent to it"
            )
        return tap

    @property
    def binds(self) -> bool:
        """Whether the extender is configured to bind."""
        return bool(self._config.bind_verb)

    def call_bind(self, pod: Pod, node: str) -> None:
        """Call the bind verb for a pod, as kube-scheduler would."""
        arguments = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        self.call(self._config.bind_verb, json.dumps(arguments).encode(), what="a bind")

    @property
    def asking_verbs(self) -> tuple[str, ...]:
        """The verbs without effects, by which kube-scheduler asks about nodes: filter and prioritize."""
        return tuple(verb for verb in (self._config.filter_verb, self._config.prioritize_verb) if verb)

    def question(self, pod: Pod, nodes: Sequence[str], *, by_names: bool | None = None, **more: Any) -> bytes:
        """Return the body of kube-scheduler's request about a pod and these nodes, with the fields in `more`.

        `by_names`: whether it contains only node names; by default as configured (nodeCacheCapable). Nodes that do
        not exist look like the others.
        """
        arguments: dict[str, Any] = {"Pod": self._recorder.pods[pod.uid], "Nodes": None, "NodeNames": None, **more}
        if self._config.node_cache_capable if by_names is None else by_names:
            arguments["NodeNames"] = list(nodes)
        else:
            arguments["Nodes"] = {"metadata": {}, "items": [self._node(name) for name in nodes]}
        return json.dumps(arguments).encode()

    def _node(self, name: str) -> dict[str, Any]:
        node = self._recorder.nodes.get(name) or self._recorder.nodes[self._trial.cluster.nodes[0]]
        labels = {**node["metadata"].get("labels", {}), "kubernetes.io/hostname": name}
        status = {key: node["status"].get(key) for key in ("capacity", "allocatable")}
        return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}

    def ask_at_once(self, pods: Sequence[Pod]) -> None:
        """Call every verb for each of these pods at the same time, with other nodes for each pod."""
        nodes, count = self._nodes.names, max(1, len(self._trial.cluster.nodes) // 2)

        def ask(number: int, pod: Pod) -> None:
            turned = nodes[number % len(nodes) :] + nodes[: number % len(nodes)]
            body = self.question(pod, turned[:count])
            for verb in self.asking_verbs:
                self.call(verb, body, what="a question beside others")

        with concurrent.futures.ThreadPoolExecutor(len(pods), "ask-at-once") as pool:
            for asked in [pool.submit(ask, number, pod) for number, pod in enumerate(pods)]:
                asked.result()

    def ask_by_other_transports(self, pod: Pod) -> None:
        """Call a verb without the tap: as kube-scheduler is configured, over plain HTTP, and without a certificate."""
        if not self.asking_verbs:
            return
        server = urlsplit(self._tap.upstream)
        connections: Mapping[str, Callable[[], http.client.HTTPConnection]] = {
            AS_CONFIGURED: lambda: self._tap.connect(_ANSWER_SECONDS),
            PLAIN: lambda: connect(f"http://{server.netloc}", _ANSWER_SECONDS),
            WITHOUT_CERTIFICATE: lambda: connect_by_name(
                server.hostname or "", server.port, _ANSWER_SECONDS, insecure_tls(ALPN), server.hostname or ""
            ),
        }
        body = self.question(pod, self._nodes.names)
        for how, opened in connections.items():
            status, error = self._ask(opened, body)
            self._recorder.add(TransportTried(case=self._context.clause, how=how, status=status, error=error))

    def _ask(self, opened: Callable[[], http.client.HTTPConnection], body: bytes) -> tuple[int, str]:
        """Return the status of the response, or 0 and the error."""
        path, headers = f"{self._config.path_prefix}/{self.asking_verbs[0]}", {"Content-Type": "application/json"}
        try:
            connection = opened()
        except OSError as error:  # for instance, the certificate is not trusted
            return 0, f"{type(error).__name__}: {error}"[:200]
        status, text = exchange(connection, "POST", path, body, headers)
        return status, "" if status else text[:200]

    def call(self, verb: str, body: bytes, *, what: str) -> None:
        """POST a body to a verb; the tap records the response. `what` describes the body."""
        self._send("POST", f"{self._config.path_prefix}/{verb}", body, f"{verb} {what}")

    def ask_health(self) -> None:
        """Request its health as a kubelet does, at the path in its descriptor or the usual one."""
        path = self._ready or "/healthz"
        self._send("GET", path, b"", f"{path} its health")

    def _send(self, method: str, path: str, body: bytes, what: str) -> None:
        if self._waited_in_vain > _PATIENCE:
            return
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
            HARNESS: f"{self._context.clause} {what}",
        }
        begin = time.monotonic()
        # The tap records the response, or that there was none.
        status, _ = exchange(connect(self._tap.url, _ANSWER_SECONDS), method, path, body, headers)
        self._waited_in_vain = 0.0 if status else self._waited_in_vain + time.monotonic() - begin
