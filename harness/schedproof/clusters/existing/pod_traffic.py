"""Sends real packets between pods of a cluster that others run, at chosen rates."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from schedproof.clusters.api import Api, Attached, Manifest, NotFound
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import POD_GONE, POD_STARTED
from schedproof.foundation.errors import HostError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.traffic import fabric_engine, traffic_engine

LOAD_SECONDS = 1800
"""How long a Job of load lasts at most."""

_NAME = "load"
_PROGRAM = (Path(fabric_engine.__file__), Path(traffic_engine.__file__))


class PodTraffic:
    """A Job with a pod on each node, as long as there is any traffic.

    A pod ends when the connection to its standard input does, at the latest with the harness.

    Args:
        api: the harness's own.
        namespace: of the run.
        nodes: at least two names.
        image: returns the name of one with python3, which nodes have or can pull.
        labels: of all objects of the run.
        most: bytes per second that a node gets at most.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        nodes: Sequence[str],
        *,
        image: Callable[[], str],
        labels: Mapping[str, str],
        most: float,
    ) -> None:
        self._api, self._namespace, self._nodes = api, namespace, list(nodes)
        self._image, self._labels, self._most = image, dict(labels), most
        self._lock = threading.Lock()
        self._engines: dict[str, _Engine] = {}

    def set_rates(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        """Set the bytes per second at each node's device; other nodes keep theirs. All pods end with the last traffic.

        The next node sends what a node receives, and receives what it transmits.

        Raises:
            HostError: a rate is too high, or a pod has ended.
            DeadlineExceededError: a pod does not start.
        """
        if above := [node for node, rate in rates.items() if rate > self._most]:
            raise HostError(f"{rates[above[0]]:.0f} bytes per second for {above[0]} are more than the user allows")
        with self._lock:
            if not self._engines:
                if not any(rates.values()):
                    return
                self._start()
            for node, rate in rates.items():
                other = self._nodes[(self._nodes.index(node) + 1) % len(self._nodes)]
                sender, receiver = (other, node) if direction == "receive" else (node, other)
                self._engines[sender].set_rate(self._engines[receiver].address, rate)
            if not any(rate for engine in self._engines.values() for rate in engine.rates.values()):
                self._stop()

    def _start(self) -> None:
        image = self._image()
        program = {module.name: module.read_text() for module in _PROGRAM}
        made = {"metadata": {"name": _NAME, "labels": self._labels}, "data": program}
        self._api.create("configmaps", made, self._namespace)
        with contextlib.ExitStack() as undo:
            undo.callback(self._stop)
            self._api.create("jobs", job(self._nodes, image, self._labels), self._namespace)
            pods = wait_for(self._running, POD_STARTED, what="pods that send load to run", poll=0.2)
            for node, pod in pods.items():
                attached = self._api.attach(self._namespace, pod["metadata"]["name"])
                self._engines[node] = _Engine(pod["metadata"]["name"], pod["status"]["podIP"], attached)
            undo.pop_all()

    def _running(self) -> dict[str, Manifest]:
        found: dict[str, Manifest] = {}
        for pod in self._pods():
            statuses: list[Manifest] = pod["status"].get("containerStatuses") or []
            state: Manifest = statuses[0].get("state") or {} if statuses else {}
            if "running" not in state:
                conditions = [c["message"] for c in pod["status"].get("conditions") or () if c.get("message")]
                about: Manifest = next(iter(state.values()), {})
                why = " ".join(filter(None, (about.get("reason"), about.get("message"), *conditions)))
                raise NotYet(f"{pod['metadata']['name']}: {why or 'not started'}")
            found[pod["spec"]["nodeName"]] = pod
        if missing := [node for node in self._nodes if node not in found]:
            raise NotYet(f"none on {', '.join(missing)}")
        return found

    def _pods(self) -> list[Manifest]:
        return list(self._api.list("pods", self._namespace, labelSelector=f"job-name={_NAME}")["items"])

    def _stop(self) -> None:
        for engine in self._engines.values():
            engine.end()
        self._engines.clear()
        with contextlib.suppress(NotFound):  # it removes itself
            self._api.remove(self._api.path("jobs", self._namespace, _NAME))
        self._api.delete_if_there("configmaps", _NAME, self._namespace)

        def gone() -> None:
            if left := self._pods():
                raise NotYet(", ".join(pod["metadata"]["name"] for pod in left))

        wait_for(gone, POD_GONE, what="pods that sent load to go", poll=0.2)

    def close(self) -> None:
        """End all traffic; the cluster removes what is left of the pods."""
        with self._lock:
            for engine in self._engines.values():
                engine.end()
            self._engines.clear()


class _Engine:
    """A pod that sends packets: see `traffic_engine`."""

    def __init__(self, name: str, address: str, attached: Attached) -> None:
        self.address = address
        self.rates: dict[str, float] = {}
        self._name, self._attached = name, attached

    def set_rate(self, address: str, rate: float) -> None:
        self._attached.send(json.dumps({"rates": {address: rate}}).encode() + b"\n")
        # What it wrote at its start may have been lost, and does not matter.
        while line := self._attached.readline():
            if "ok" in json.loads(line):
                self.rates[address] = rate
                return
        raise HostError(
            f"the pod {self._name}, which sends load, has ended",
            remedy="a Job of load lasts half an hour at most: claim a shorter window; see also the pod's events",
        )

    def end(self) -> None:
        self._attached.close()


def job(nodes: Sequence[str], image: str, labels: Mapping[str, str]) -> Manifest:
    """Return the Job with a pod on each of these nodes."""
    manifest: Manifest = yaml.safe_load(content("clusters", "addons", "load.yaml").read_text())
    spec, pod = manifest["spec"], manifest["spec"]["template"]
    spec["completions"] = spec["parallelism"] = len(nodes)
    spec["activeDeadlineSeconds"] = LOAD_SECONDS
    manifest["metadata"]["labels"] = dict(labels)
    pod["metadata"]["labels"] |= labels
    pod["spec"]["containers"][0]["image"] = image
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    affinity["nodeSelectorTerms"] = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes
    ]
    return manifest
