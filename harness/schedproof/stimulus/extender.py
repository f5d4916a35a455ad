"""Stimuli for extenders: calls of our own, over the tapped line."""

from __future__ import annotations

import http.client
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from schedproof.candidates.kinds import ExtenderSpec
from schedproof.candidates.taps import HARNESS
from schedproof.foundation.errors import HostError
from schedproof.foundation.waiting import until
from schedproof.metrics.series import Counter
from schedproof.stimulus.case import Case
from schedproof.stimulus.network import sample_step, scripted_past

if TYPE_CHECKING:
    from schedproof.clusters.cluster import ScriptedMetrics
    from schedproof.stimulus.trial import Trial

__all__ = ["ExtenderCase"]

_ANSWER_SECONDS = 20.0


class ExtenderCase(Case):
    """A case whose candidate is an extender."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        assert isinstance(trial.candidate.spec, ExtenderSpec)
        self._config = trial.candidate.spec.config
        self._server: ScriptedMetrics | None = None

    @property
    def verbs(self) -> tuple[str, ...]:
        """All that are configured."""
        return self._config.verbs

    def add_idle_nodes(self, count: int) -> list[str]:
        """As for every case; and all nodes have readings, idle ones, so that nobody rejects them for want of those."""
        added = super().add_idle_nodes(count)
        network = self.trial.candidate.claims.network
        if network is not None:
            self._server = self.trial.cluster.scripted_metrics()
            begin = time.time() - scripted_past(network)
            idle = {node: Counter(1e9, ((begin, 0.0),)) for node in (*self.trial.cluster.nodes, *added)}
            device = network.device.format(device=self.trial.cluster.device)
            self._server.script(device, network.metric, sample_step(network), idle)
            self.trial.attachment.prometheus.upstream = self._server.url
            until(time.monotonic() + network.staleness)
        return added

    def close(self) -> None:
        super().close()
        if self._server is not None:
            self.trial.attachment.prometheus.upstream = self.trial.cluster.prometheus_url
            self._server.close()

    def call(self, verb: str, body: bytes, *, what: str) -> None:
        """POST a body to a verb; `what` says what it is. What comes of it is on record."""
        tap = self.trial.attachment.extender
        if tap is None:
            raise HostError("the line to this extender is encrypted, so nothing of our own can be sent over it")
        target = urlsplit(tap.url)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=_ANSWER_SECONDS)
        headers = {"Content-Type": "application/json", HARNESS: f"{self.clause} {verb} {what}"}
        try:
            connection.request("POST", f"{self._config.path_prefix}/{verb}", body, headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the tap has it on record
        finally:
            connection.close()
