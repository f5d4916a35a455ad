"""A candidate in a benchmark: restarted for every round, without proxies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.benchmark.stage import Stage
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.deploy.attachment import Attachment
from schedproof.deploy.component import Component
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

    def start(self) -> None:
        """Publish its readings in Prometheus, then start it.

        Raises:
            CandidateError: it does not start, or does not become ready.
        """
        claims = self.candidate.claims.network
        if claims is not None:
            device = claims.device.format(device=self._stage.cluster.device)
            self._stage.put_readings(claims.metric, device, claims.window)
        self.attachment.start(self._record)
        if self.attachment.start_error is not None:
            raise self.attachment.start_error

    @property
    def components(self) -> Mapping[str, Component]:
        """Its running components, by their names in the report, which are the same for every candidate of a kind."""
        own = self.candidate.kind
        return {
            "kube-scheduler" if component.scheduler_port is not None else own: component
            for component in self.attachment.components
        }

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

    def halt(self) -> None:
        self.attachment.halt()

    def close(self) -> None:
        """Stop it and remove everything that it uses."""
        self.attachment.stop()
