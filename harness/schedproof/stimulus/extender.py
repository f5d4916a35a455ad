"""Stimuli for extenders: calls of our own, over the tapped line."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from schedproof.candidates.deploy.taps import HARNESS
from schedproof.candidates.kinds import ExtenderSpec
from schedproof.daemons.daemon import insecure_tls
from schedproof.foundation.errors import HostError
from schedproof.judge.extender_calls import DEFAULT_TIMEOUT, is_needed
from schedproof.stimulus.case import Case
from schedproof.stimulus.network import sample_step, scripted_past
from schedproof.stimulus.news import News
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schedproof.candidates.claims import NetworkClaims
    from schedproof.candidates.deploy.taps import Fault, Tap
    from schedproof.clusters.cluster import ScriptedMetrics
    from schedproof.foundation.deadlines import Deadline
    from schedproof.stimulus.pods import Pod
    from schedproof.stimulus.trial import Trial

__all__ = ["ExtenderCase"]

_ANSWER_SECONDS = 20.0
_LEAST = 1e5
"""Bytes per second of the quietest of nodes that differ."""
_NOBODY = "00000000-0000-4000-8000-000000000000"
"""The uid of a pod that does not exist."""


class ExtenderCase(Case):
    """A case whose candidate is an extender."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        assert isinstance(trial.candidate.spec, ExtenderSpec)
        self._config = trial.candidate.spec.config
        self._server: ScriptedMetrics | None = None
        self._traffic: dict[str, float] = {}

    @property
    def verbs(self) -> tuple[str, ...]:
        """All that are configured."""
        return self._config.verbs

    def add_idle_nodes(self, count: int, *, alike: bool = True) -> list[str]:
        """As for every case; and all nodes have readings, so that none is rejected for want of one.

        `alike`: without traffic; else no two have the same, by more than twice the claimed resolution.
        """
        added = super().add_idle_nodes(count)
        network = self.trial.candidate.claims.network
        if network is not None:
            nodes = [*self.trial.cluster.nodes, *added, *self.trial.reserved_nodes]
            factor = 1.5 + 2 * network.resolution
            order = enumerate(self.random.sample(nodes, len(nodes)))
            self._script(network, {node: 0.0 if alike else _LEAST * factor**place for place, node in order})
        return added

    def turn_load_round(self) -> None:
        """Give the quietest node the traffic of the loudest, and so on: no fixed choice is right before and after."""
        network, before = self.trial.candidate.claims.network, self._server
        if network is None or before is None:
            return
        self._script(network, dict(zip(self._traffic, reversed(self._traffic.values()), strict=True)))
        before.close()

    def _script(self, network: NetworkClaims, traffic: Mapping[str, float]) -> None:
        """Let Prometheus have these readings, in bytes per second, the lowest first."""
        self._traffic = dict(traffic)
        self._server = self.trial.cluster.scripted_metrics()
        begin = time.time() - scripted_past(network)
        counters = {node: Counter(1e9, ((begin, rate),)) for node, rate in traffic.items()}
        device = network.device.format(device=self.trial.cluster.device)
        self._server.script(Script({(network.metric, device): counters}, sample_step(network)))
        self.trial.attachment.prometheus.upstream = self._server.url
        News(self._recorder, network, None).wait()
        self._recorder.add("load", case=self.clause, phase=0, traffic=dict(traffic), source="scripted")

    def close(self) -> None:
        super().close()
        if self._server is not None:
            self.trial.attachment.prometheus.upstream = self.trial.cluster.prometheus_url
            self._server.close()

    def call_preempt(self, *, victim: Pod) -> None:
        """Ask it which pods may go, where a pod of a higher priority wants the place of `victim`, which is bound."""
        if not self._config.preempt_verb:
            return
        node, pod = self.node_of(victim), self._recorder.pods[victim.uid]
        manifest = {**pod, "metadata": {**pod["metadata"], "name": f"{victim.name}-preemptor", "uid": _NOBODY}}
        manifest["spec"] = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
        arguments: dict[str, Any] = {"Pod": manifest, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self._config.node_cache_capable:
            arguments["NodeNameToMetaVictims"] = {node: {"Pods": [{"UID": victim.uid}], "NumPDBViolations": 0}}
        else:
            arguments["NodeNameToVictims"] = {node: {"Pods": [pod], "NumPDBViolations": 0}}
        self.call(self._config.preempt_verb, json.dumps(arguments).encode(), what="a preemption")

    @property
    def needed(self) -> bool:
        """Whether pods wait while the extender is down, as it is configured."""
        return is_needed(self._config.as_dict())

    @contextlib.contextmanager
    def extender_broken(self, fault: Fault) -> Iterator[None]:
        """A context in which kube-scheduler cannot reach the extender, or gets no answer from it."""
        tap = self._tap
        tap.inject(fault)
        self._recorder.add("fault", case=self.clause, line="extender", fault=fault.value, on=True)
        try:
            yield
            self._recorder.add("fault", case=self.clause, line="extender", fault="", on=False)
        finally:
            tap.heal()

    def await_left_waiting(self, pods: Sequence[Pod]) -> None:
        """Give kube-scheduler the time to say of each of these pods that it could not be scheduled."""
        for pod in pods:
            self.await_condition([pod], "PodScheduled", self.beyond_timeout)

    @property
    def beyond_timeout(self) -> Deadline:
        """As long as the candidate claims to take for a pod, and its httpTimeout for each verb besides."""
        bind, timeout = self.deadlines.bind, self._config.http_timeout or DEFAULT_TIMEOUT
        return dataclasses.replace(bind, seconds=bind.seconds + timeout * len(self.verbs))

    @property
    def _tap(self) -> Tap:
        tap = self.trial.attachment.extender
        if tap is None:
            raise HostError("this extender has no tap: its line cannot be broken, and nothing of our own be sent to it")
        return tap

    @property
    def binds(self) -> bool:
        """Whether the extender is configured to bind."""
        return bool(self._config.bind_verb)

    def call_bind(self, pod: Pod, node: str) -> None:
        """Tell it to bind a pod, as kube-scheduler would."""
        arguments = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        self.call(self._config.bind_verb, json.dumps(arguments).encode(), what="a bind")

    @property
    def asking_verbs(self) -> tuple[str, ...]:
        """Those by which kube-scheduler asks about nodes, and nothing is done: filter and prioritize."""
        return tuple(verb for verb in (self._config.filter_verb, self._config.prioritize_verb) if verb)

    def question(self, pod: Pod, nodes: Sequence[str], *, by_names: bool | None = None, **more: Any) -> bytes:
        """What kube-scheduler sends to ask about a pod and these nodes, and `more`.

        `by_names`: whether nodes are given by their names alone; as configured (nodeCacheCapable), if not given.
        Nodes that do not exist are like the others.
        """
        arguments: dict[str, Any] = {"Pod": self._recorder.pods[pod.uid], "Nodes": None, "NodeNames": None, **more}
        if self._config.node_cache_capable if by_names is None else by_names:
            arguments["NodeNames"] = list(nodes)
        else:
            arguments["Nodes"] = {"metadata": {}, "items": [self._whole(name) for name in nodes]}
        return json.dumps(arguments).encode()

    def _whole(self, name: str) -> dict[str, Any]:
        node = self._recorder.nodes.get(name) or self._recorder.nodes[self.trial.cluster.nodes[0]]
        labels = {**node["metadata"].get("labels", {}), "kubernetes.io/hostname": name}
        status = {key: node["status"].get(key) for key in ("capacity", "allocatable")}
        return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}

    def ask_at_once(self, pods: Sequence[Pod]) -> None:
        """Ask every verb about each of these pods at the same time, about other nodes each time."""
        nodes, count = self.nodes, max(1, len(self.trial.cluster.nodes) // 2)

        def ask(number: int, pod: Pod) -> None:
            turned = nodes[number % len(nodes) :] + nodes[: number % len(nodes)]
            body = self.question(pod, turned[:count])
            for verb in self.asking_verbs:
                self.call(verb, body, what="a question beside others")

        with concurrent.futures.ThreadPoolExecutor(len(pods), "ask-at-once") as pool:
            for asked in [pool.submit(ask, number, pod) for number, pod in enumerate(pods)]:
                asked.result()

    def call(self, verb: str, body: bytes, *, what: str) -> None:
        """POST a body to a verb; `what` says what it is. What comes of it is on record."""
        connection = _connect(self._tap.url)
        headers = {
            "Content-Type": "application/json", "Accept-Encoding": "gzip", HARNESS: f"{self.clause} {verb} {what}",
        }  # fmt: skip
        try:
            connection.request("POST", f"{self._config.path_prefix}/{verb}", body, headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the tap has it on record
        finally:
            connection.close()


def _connect(url: str) -> http.client.HTTPConnection:
    """To a tap of ours, whose certificate may be its own."""
    target = urlsplit(url)
    address, port = target.hostname or "", target.port
    if target.scheme == "https":
        return http.client.HTTPSConnection(address, port, timeout=_ANSWER_SECONDS, context=insecure_tls())
    return http.client.HTTPConnection(address, port, timeout=_ANSWER_SECONDS)
