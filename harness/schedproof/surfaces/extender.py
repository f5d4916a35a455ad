"""An extender as a surface: its filter and prioritize, asked over HTTP as kube-scheduler asks them.

Source: Kubernetes 1.36, pkg/scheduler/extender.go; k8s.io/kube-scheduler/extender/v1.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import time
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from schedproof.candidates.exchanges import describe_extender_call
from schedproof.candidates.taps import Exchange
from schedproof.normalization.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schedproof.candidates.kinds import ExtenderConfig
    from schedproof.clusters.api import Manifest
    from schedproof.normalization.answer import Readings
    from schedproof.surfaces.life import Life

__all__ = ["ExtenderSurface", "answer_of_filter", "answer_of_prioritize"]

_TIMEOUT = 5.0
"""Seconds that kube-scheduler waits where `httpTimeout` is not set (DefaultExtenderTimeout)."""
_QUOTED = 200
"""Characters of an answer that a refusal quotes."""


class ExtenderSurface:
    """Asks an extender at `url()`, such as `http://127.0.0.1:8888`, its path prefix left out.

    Args:
        url: where it listens now.
        config: its verbs, and whether it is sent names or whole nodes.
        nodes: name to Node object, as the API has them.
        pod: what it is asked about: this pod, under another name and uid each time.
        script: makes readings the candidate's; returns when its next question to Prometheus is answered with them.
        life: tells whether it lives.
    """

    name = "extender"
    fewest = 1

    def __init__(
        self,
        url: Callable[[], str],
        config: ExtenderConfig,
        *,
        nodes: Mapping[str, Manifest],
        pod: Manifest,
        script: Callable[[Readings], None],
        life: Life,
    ) -> None:
        self._url, self._config, self._objects, self._pod = url, config, nodes, pod
        self._script, self._life = script, life
        self.nodes = tuple(nodes)
        self.most = len(nodes)

    def ask(self, readings: Readings) -> Answer:
        self._life.revive()
        self._script(readings)
        pod = self._fresh_pod()
        asked = [node for node, _ in readings]
        filtered: tuple[str, ...] = ()
        if self._config.filter_verb:
            answer = self._call(self._config.filter_verb, pod, asked, answer_of_filter)
            if answer.crash or answer.refusal:
                return answer
            filtered = answer.filtered
        left = [node for node in asked if node not in filtered]
        if not left:
            return Answer(filtered=filtered)
        answer = self._call(self._config.prioritize_verb, pod, left, answer_of_prioritize)
        return dataclasses.replace(answer, filtered=filtered)

    def close(self) -> None:
        """Nothing is held."""

    def _fresh_pod(self) -> Manifest:
        uid = str(uuid.uuid4())
        metadata = {**self._pod["metadata"], "name": f"{self._pod['metadata']['name']}-{uid[:8]}", "uid": uid}
        return {**self._pod, "metadata": metadata}

    def _call(
        self, verb: str, pod: Manifest, nodes: Sequence[str], read: Callable[[Mapping[str, Any]], Answer]
    ) -> Answer:
        names = self._config.node_cache_capable
        body = json.dumps(
            {
                "Pod": pod,
                "Nodes": None if names else {"metadata": {}, "items": [self._objects[node] for node in nodes]},
                "NodeNames": list(nodes) if names else None,
            }
        ).encode()
        try:
            exchange = self._post(f"{self._config.path_prefix}/{verb}", body)
        except TimeoutError as error:
            return Answer(crash=self._life.last_words()) if self._life.last_words() else _refused(verb, error)
        except (OSError, http.client.HTTPException) as error:
            words = self._life.watch_end()
            return Answer(crash=words) if words else _refused(verb, error)
        return read(describe_extender_call(exchange))

    def _post(self, path: str, body: bytes) -> Exchange:
        target = urlsplit(self._url())
        timeout = self._config.http_timeout or _TIMEOUT
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=timeout)
        begin = time.monotonic()
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        return Exchange("POST", path, body, response.status, answer, time.monotonic() - begin)


def answer_of_filter(call: Mapping[str, Any]) -> Answer:
    """Which nodes a filter refuses, or its refusal; `call` is an `extender` record of the history."""
    if refusal := _not_taken(call):
        return Answer(refusal=refusal)
    if call["error"]:
        return Answer(refusal=f"{call['request']}: {call['error']}")
    # No list at all is Go's empty one: nothing is left.
    left = call["answered"] or []
    if strangers := [node for node in left if node not in call["asked"]]:
        return Answer(refusal=f"{call['request']}: it lets {strangers[0]} pass, which it was not asked about")
    return Answer(filtered=tuple(node for node in call["asked"] if node not in left))


def answer_of_prioritize(call: Mapping[str, Any]) -> Answer:
    """The scores of an answer to prioritize, as they were answered, or why there are none."""
    if refusal := _not_taken(call):
        return Answer(refusal=refusal)
    scores = call["scores"]
    if scores is None:
        return Answer(refusal=f"{call['request']}: no list of hosts with scores: {call['answer'][:_QUOTED]}")
    for host, score in scores:
        if not isinstance(host, str) or isinstance(score, bool) or not isinstance(score, int | float):
            return Answer(refusal=f"{call['request']}: no host with a score: {host!r}, {score!r}")
    return Answer(scores=tuple((host, score) for host, score in scores))


def _not_taken(call: Mapping[str, Any]) -> str:
    """Why kube-scheduler would not even read an answer."""
    if call["status"] != HTTPStatus.OK:
        return f"{call['request']}: status {call['status']}: {call['answer'][:_QUOTED].strip()}"
    return "" if call["json"] else f"{call['request']}: this is no JSON: {call['answer'][:_QUOTED]}"


def _refused(verb: str, error: Exception) -> Answer:
    return Answer(refusal=f"{verb}: {type(error).__name__}: {error}")
