"""Prometheus servers and the candidate's line to them, played: for what a case does to the readings of nodes."""

from __future__ import annotations

from typing import Any

from schedproof.candidate.claims import NetworkClaims
from schedproof.history.faults import Fault
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.traffic.load import LoadChanges
from schedproof.traffic.script import Script

from .world import World

RECEIVED, SENT = "node_network_receive_bytes_total", "node_network_transmit_bytes_total"
CLAIMS = NetworkClaims(RECEIVED, "receive", window=0.2, resolution=0.1)
LOAD = {"node-1": 1000.0, "node-2": 3000.0}
CLUSTERS = "http://cluster"


class PlayedPrometheus:
    """A server that can be scripted; `acts` is what was done to all of them, in order."""

    def __init__(self, number: int, acts: list[Any]) -> None:
        self.url, self._acts = f"http://scripted-{number}", acts
        self.scripts: list[Script] = []
        self.failure = ""

    def wait_ready(self) -> None:
        self._acts.append(("ready", self.url))

    def script(self, script: Script) -> None:
        self._acts.append(("script", self.url))
        self.scripts.append(script)

    def close(self) -> None:
        self._acts.append(("close", self.url))


class PlayedTap:
    """The candidate's line to Prometheus."""

    def __init__(self, acts: list[Any]) -> None:
        self._acts, self._upstream = acts, CLUSTERS

    @property
    def upstream(self) -> str:
        return self._upstream

    @upstream.setter
    def upstream(self, url: str) -> None:
        self._acts.append(("lead to", url))
        self._upstream = url

    def inject(self, fault: Fault) -> None:
        self._acts.append(("inject", fault))

    def heal(self) -> None:
        self._acts.append(("heal",))

    def release(self) -> None:
        self._acts.append(("release",))


class Traffic:
    """A world whose Prometheus servers are played, and the load of a case in it."""

    def __init__(self, world: World, claims: NetworkClaims = CLAIMS) -> None:
        self.acts: list[Any] = []
        """What was done to servers, to the candidate's line and to the nodes, in order."""
        self.servers: list[PlayedPrometheus] = []
        world.cluster.prometheus_url = CLUSTERS
        world.cluster.scripted_metrics = self._new_server
        world.cluster.set_load = lambda rates, direction: self.acts.append(("packets", dict(rates), direction))
        world.attachment.prometheus = PlayedTap(self.acts)  # type: ignore[attr-defined]
        world.attachment.asks_prometheus = True  # type: ignore[attr-defined]
        world.trial.reserved_nodes = ("reserved",)
        self.world = world
        self.load = LoadChanges(world.context, claims, NodeChanges(world.context, world.view), world.view)

    def _new_server(self) -> PlayedPrometheus:
        self.servers.append(PlayedPrometheus(len(self.servers), self.acts))
        return self.servers[-1]

    @property
    def script(self) -> Script:
        """What was scripted last."""
        return self.servers[-1].scripts[-1]

    def rates(self, metric: str = RECEIVED, device: str = "eth0") -> dict[str, float]:
        """What flows now by the last script."""
        return {node: counter.phases[-1][1] for node, counter in self.script.counters[metric, device].items()}
