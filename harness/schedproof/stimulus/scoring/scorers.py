"""What a trial keeps for all questions about scores: surfaces that need no pods, and their Prometheus."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.binaries.resolve import resolve
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.deploy.plugin_build.plugin_build import build_probe, has_probe
from schedproof.foundation.progress import Progress, SilentProgress
from schedproof.normalization.answer import Answer, Readings, Surface
from schedproof.normalization.search import Searches
from schedproof.normalization.surfaces.normalize_score import NormalizeScoreSurface
from schedproof.normalization.surfaces.plugin import PluginSurface
from schedproof.normalization.surfaces.python import PythonSurface

_SERVER = "readings-server"


def build_scorers(candidate: Candidate, kubernetes: str, progress: Progress) -> None:
    """Build the programs that `Scorers` starts, with a progress display.

    Raises:
        CandidateError: the plugin does not compile in a probe.
        HostError: this machine cannot build it.
    """
    resolve([_SERVER], kubernetes=kubernetes, progress=progress)
    if isinstance(candidate.spec, PluginSpec) and _is_probed(candidate):
        build_probe(candidate.spec, name=candidate.name, kubernetes=kubernetes, progress=progress)


def _is_probed(candidate: Candidate) -> bool:
    spec = candidate.spec
    return isinstance(spec, PluginSpec) and candidate.claims.network is not None and has_probe(spec)


class Scorers:
    """Surfaces that need no pods, and their Prometheus, each started at first use. `close` ends them.

    Args:
        candidate: its scores are asked for.
        kubernetes: the minor version of the cluster.
        logs: the folder for their output.
    """

    def __init__(self, candidate: Candidate, kubernetes: str, logs: Path) -> None:
        self._candidate, self._kubernetes, self._logs = candidate, kubernetes, logs
        self._closing = contextlib.ExitStack()
        self.rules: Sequence[Mapping[str, Any]] = ()
        """Recording rules of `server`."""
        self.answers: dict[str, dict[Readings, Answer]] = {}
        """By surface: the answers so far, if a question takes long there."""
        self.searches = Searches()

    @functools.cached_property
    def server(self) -> ReadingsServer:
        """A Prometheus whose readings can be replaced within milliseconds."""
        binary = resolve([_SERVER], kubernetes=self._kubernetes, progress=SilentProgress())[_SERVER].path
        server = ReadingsServer(binary, self._logs)
        server.rules = self.rules
        self._closing.callback(server.close)
        return server

    @functools.cached_property
    def surfaces(self) -> list[Surface]:
        """The surfaces that the candidate offers without being attached to a cluster.

        Raises:
            CandidateError: its descriptor names a surface that does not work.
        """
        surfaces: list[Surface] = []
        if self._candidate.scoring is not None:
            surfaces.append(PythonSurface(self._candidate))
            self._closing.callback(surfaces[-1].close)
        if _is_probed(self._candidate):
            plugin = PluginSurface(
                self._candidate, self._kubernetes, self.server, logs=self._logs, progress=SilentProgress()
            )
            self._closing.callback(plugin.close)
            surfaces.append(plugin)
            alone = NormalizeScoreSurface(plugin)
            if alone.is_offered:
                surfaces.append(alone)
        return surfaces

    def close(self) -> None:
        self._closing.close()
