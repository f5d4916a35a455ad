"""A candidate in a benchmark: restarted for every round, without proxies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.benchmark.stage import Stage
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.scheduler_config import nodes_to_score
from schedproof.deploy.attachment import Attachment
from schedproof.deploy.component import Component, component_name
from schedproof.deploy.record import Recording, discard


class Contestant:
    """Starts and stops a candidate. `start` returns when it is ready, `halt` when its processes have ended.

    Args:
        stage: where it runs.
        name: in the report.
        candidate: what to start.
        folder: for its logs.
        record: receives what its taps see; None: it runs without taps.
        flags: additional flags of its kube-scheduler, besides the workload's feature gates.
    """

    def __init__(
        self,
        stage: Stage,
        name: str,
        candidate: Candidate,
        folder: Path,
        *,
        record: Recording | None = None,
        flags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.candidate = candidate
        self._stage = stage
        self._record = record or discard
        self.attachment = Attachment(
            stage.cluster,
            candidate,
            folder,
            "process",
            tapped=record is not None,
            watched=False,
            flags={**flags, **stage.scheduler_flags},
        )

    def publish_readings(self) -> None:
        """Publish its readings in Prometheus, before each start."""
        claims = self.candidate.claims.network
        if claims is not None:
            device = claims.device.format(device=self._stage.cluster.device)
            self._stage.put_readings(claims.metric, device, claims.window)

    def start(self) -> None:
        """Start it.

        Raises:
            CandidateError: it does not start, or does not become ready.
        """
        self.attachment.start(self._record)
        if self.attachment.start_error is not None:
            raise self.attachment.start_error

    @property
    def components(self) -> Mapping[str, Component]:
        """Its running components, by their names in the report: `kube-scheduler`, its kind for its own program, and
        `process NAME` for each of its `processes`.
        """
        return {_reported_name(self.candidate, component): component for component in self.attachment.components}

    @property
    def scheduler(self) -> Component | None:
        """Its kube-scheduler, stock or custom; None if it has none."""
        return next(
            (component for component in self.attachment.components if component.scheduler_port is not None), None
        )

    @property
    def client_limits(self) -> Mapping[str, Any]:
        """The client-side rate limit of its kube-scheduler: `qps` and `burst`; empty if unknown."""
        connection = (self.attachment.configuration or {}).get("clientConnection", {})
        return {name: connection[name] for name in ("qps", "burst") if name in connection}

    @property
    def nodes_to_score(self) -> int | None:
        """Its kube-scheduler's percentageOfNodesToScore; 0: Kubernetes' adaptive default; None: it has none."""
        configuration = self.attachment.configuration
        return None if configuration is None else nodes_to_score(configuration, self.candidate.scheduler_name)

    def halt(self) -> None:
        self.attachment.halt()

    def close(self) -> None:
        """Stop it and remove everything that it uses."""
        self.attachment.stop()


def _reported_name(candidate: Candidate, component: Component) -> str:
    if component.scheduler_port is not None:
        return "kube-scheduler"
    process = component.name.removeprefix(component_name(candidate)).strip()
    return f"process {process}" if process else candidate.kind
