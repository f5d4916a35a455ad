"""A candidate that is measured: started again for every round, without proxies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.benchmark.stage import Stage
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.deploy.attachment import Attachment, discard
from schedproof.deploy.component import Component
from schedproof.deploy.record import Recording


class Contestant:
    """`start` returns when it is ready, `halt` when it is gone.

    Args:
        name: in the report.
        folder: for its logs.
        record: what its taps see; None: it has none.
        flags: more of its kube-scheduler's, beside the workload's feature gates.
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
        """Bring it up; its readings are there before it is.

        Raises:
            CandidateError: it does not start, or does not get ready.
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
        """What runs, by the name that the report gives it: the same for every candidate of a kind."""
        own = self.candidate.kind
        return {
            "kube-scheduler" if component.scheduler_port is not None else own: component
            for component in self.attachment.components
        }

    @property
    def scheduler(self) -> Component | None:
        """Its kube-scheduler, stock or its own; None where it has none."""
        return next(
            (component for component in self.attachment.components if component.scheduler_port is not None), None
        )

    @property
    def client_limits(self) -> Mapping[str, Any]:
        """The requests per second that its kube-scheduler allows itself; empty where that is not known."""
        connection = (self.attachment.configuration or {}).get("clientConnection", {})
        return {name: connection[name] for name in ("qps", "burst") if name in connection}

    def halt(self) -> None:
        self.attachment.halt()

    def close(self) -> None:
        """Take everything down that is left of it."""
        self.attachment.stop()
