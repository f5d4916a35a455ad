"""A compiled plugin as a surface: called in a program that it is linked into.

The program is the candidate's own scheduler with another `app` (see `deploy.plugin_build`). It creates the plugin
under test as kube-scheduler would, and runs it from PreFilter to NormalizeScore for each question. The plugin gets
readings as always: it queries Prometheus, which here is `ReadingsServer`.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.candidate.placeholders import fill
from schedproof.candidate.scheduler_config import own_plugin, profile_of
from schedproof.candidate.start_errors import explain_start
from schedproof.candidate.surroundings import WorldSpec
from schedproof.daemons.daemon import clean_environment
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.deploy.plugin_build.plugin_build import build_probe
from schedproof.documents.manifests import merged
from schedproof.foundation.deadlines import CANDIDATE_READY, Deadline
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.lines import LineProcess
from schedproof.foundation.processes.last_words import crash_text
from schedproof.foundation.progress import Progress
from schedproof.foundation.waiting import until
from schedproof.normalization.answer import Answer, Readings
from schedproof.traffic.readings import node_labels

PROBE_ANSWER = Deadline(
    "answer of the probe", 30, "5,000 nodes take a tenth of a second, on a busy machine a second; plugins may wait 10 s"
)

DEVICE = "eth0"
"""The nodes' network interface: there is no cluster whose nodes could have another."""

RawScores = tuple[tuple[str, int], ...]
"""Node and the score that Score returned for it: the input of NormalizeScore."""

_NODES = ipaddress.ip_network("198.18.0.0/15")
"""The nodes' addresses: the block for benchmarks, which is not routed (RFC 2544)."""


class PluginSurface:
    """Asks the plugin of a candidate, without a cluster or rights.

    One plugin instance answers all questions, as in a running scheduler. After a crash it is created anew, without
    its state.

    Args:
        candidate: of kind plugin, with network claims.
        kubernetes: the minor version of the framework that it is compiled with.
        server: its Prometheus; the caller closes it.
        logs: the folder for its output.
        progress: shows a build.
        deadline: limits the time for one answer.

    Raises:
        CandidateError: it does not compile, or the plugin cannot be created.
        HostError: this machine cannot build it.
    """

    name = "plugin"
    fewest, most = 1, 5000
    nodes: tuple[str, ...] = ()

    def __init__(
        self,
        candidate: Candidate,
        kubernetes: str,
        server: ReadingsServer,
        *,
        logs: Path,
        progress: Progress,
        deadline: Deadline = PROBE_ANSWER,
    ) -> None:
        spec, claims = candidate.spec, candidate.claims.network
        if not isinstance(spec, PluginSpec) or claims is None:
            raise CandidateError(
                f"candidate {candidate.name} has no plugin that can be queried with readings",
                remedy="add spec.plugin, and spec.claims.network to name the readings that it uses",
            )
        self._candidate, self._claims, self._server = candidate, claims, server
        self._logs, self._deadline = logs, deadline
        self._device = claims.device.format(device=DEVICE)
        name, args = asked_plugin(candidate, {"prometheus": server.url, "device": DEVICE})
        self._setup = _line({"plugin": name, "args": args, **_world(candidate.world)})
        self._binary = build_probe(spec, name=candidate.name, kubernetes=kubernetes, progress=progress)
        self._labels: dict[str, Mapping[str, str]] = {}
        self._addresses: dict[str, str] = {}
        self.waited = 0.0
        self._probe: LineProcess | None = self._start()

    def ask(self, readings: Readings) -> Answer:
        """Return the plugin's scores for these readings, from PreFilter to NormalizeScore."""
        nodes = [node for node, _ in readings]
        addresses = [self._address(node) for node in nodes]
        self._server.put(self._claims.metric, self._device, self._claims.window, self._labels, readings)
        until(time.monotonic() + self._claims.staleness)  # the longest that a plugin claims to need, if it polls
        return self._answers([{"nodes": nodes, "addresses": addresses}])[0]

    def normalize(self, raw: RawScores) -> Answer:
        """Return what NormalizeScore alone makes of these raw scores."""
        return self.normalize_many([raw])[0]

    def normalize_many(self, raws: Sequence[RawScores]) -> list[Answer]:
        """Normalize several lists of raw scores, one after the other in one plugin, without a wait for each."""
        return self._answers([{"nodes": [node for node, _ in raw], "raw": [score for _, score in raw]} for raw in raws])

    def close(self) -> None:
        if self._probe is not None:
            self._probe.close()
            self._probe = None

    def _answers(self, questions: Sequence[Mapping[str, Any]]) -> list[Answer]:
        answers: list[Answer] = []
        while len(answers) < len(questions):
            probe = self._probe = self._probe or self._start()
            begun = probe.mark()
            try:
                probe.send(b"".join(map(_line, questions[len(answers) :])), self._deadline)
                while len(answers) < len(questions):
                    answers.append(_answer(json.loads(self._receive(probe))))
            except TimeoutError:
                answers.append(Answer(crash=f"no answer within {self._deadline.seconds:g} s"))
                self.close()
            except ConnectionError:
                code = probe.wait()
                answers.append(Answer(crash=crash_text(probe.printed(begun), code)))
                self._probe = None
        return answers

    def _receive(self, probe: LineProcess) -> bytes:
        begin = time.monotonic()
        try:
            return probe.receive(self._deadline)
        finally:
            self.waited += time.monotonic() - begin

    def _start(self) -> LineProcess:
        probe = LineProcess(
            (str(self._binary),), cwd=self._logs, env=clean_environment(self._logs), log=self._logs / "probe.log"
        )
        try:
            probe.send(self._setup, CANDIDATE_READY)
            failure = json.loads(probe.receive(CANDIDATE_READY))["error"]
        except TimeoutError:
            failure = f"the plugin was not created within {CANDIDATE_READY.seconds:g} s"
        except ConnectionError:
            failure = crash_text(probe.printed(), probe.wait())
        except BaseException:
            probe.close()
            raise
        if failure:
            probe.close()
            error = CandidateError(
                f"candidate {self._candidate.name}: its plugin cannot be created: {failure}",
                remedy=f"read its log, {probe.log}",
            )
            raise explain_start(failure, error)
        return probe

    def _address(self, node: str) -> str:
        """Return the node's address, which its series have as well; a node keeps it."""
        if node not in self._addresses:
            self._addresses[node] = str(_NODES[len(self._addresses) + 1])
            self._labels[node] = node_labels(node, self._addresses[node])
        return self._addresses[node]


def asked_plugin(candidate: Candidate, cluster: Mapping[str, str]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name of the plugin to ask, and the args that kube-scheduler would give it; None: no args.

    Args:
        candidate: of kind plugin.
        cluster: the values of placeholders that a cluster would know.

    Raises:
        CandidateError: the descriptor does not determine the plugin.
    """
    spec = candidate.spec
    assert isinstance(spec, PluginSpec)
    values = {**candidate.own_values(), **cluster}
    if candidate.scheduler_config is None:
        name, args = spec.name, dict(spec.args) or None
    else:
        profile = profile_of(candidate.scheduler_config, candidate.scheduler_name)
        name = spec.name or own_plugin(profile)
        config = {entry.get("name"): entry.get("args") for entry in profile.get("pluginConfig") or ()}
        args = config.get(name)
    if not name:
        raise CandidateError(
            f"candidate {candidate.name}: it is not clear which of its plugins to query",
            remedy="set spec.plugin.name to the name that it is registered under",
        )
    return name, fill(args, values)


def _world(world: WorldSpec) -> dict[str, Any]:
    """Return the pod of each question and what its nodes have, as in the suites."""
    requests = {"cpu": "100m"}
    container = {"name": "probe", "image": "probe", "resources": {"requests": requests}}
    pod = {"spec": {"schedulerName": "schedproof", "containers": [container]}}
    metadata = {"labels": world.nodes.labels, "annotations": world.nodes.annotations}
    node = {"metadata": metadata, "status": {"allocatable": world.nodes.resources}}
    return {"pod": merged(world.pods.document(), pod), "node": node}


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _answer(message: Mapping[str, Any]) -> Answer:
    nodes = message["nodes"] or ()
    return Answer(
        scores=tuple(zip(nodes, message["scores"] or (), strict=True)),
        refusal=message["refusal"],
        filtered=tuple(message["filtered"] or ()),
        raw=tuple(zip(nodes, message["raw"], strict=True)) if message["raw"] else (),
    )
