"""An extender as a surface: its filter and prioritize verbs, called over HTTP as kube-scheduler calls them.

Source: Kubernetes 1.36, pkg/scheduler/extender.go; k8s.io/kube-scheduler/extender/v1.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from schedproof.candidate.kinds import ExtenderConfig
from schedproof.clusters.api import Manifest
from schedproof.foundation.http import MOST_REDIRECTS
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.surfaces.kept_alive import KeptAlive
from schedproof.normalization.surfaces.life import Life
from schedproof.proxies.codings import decoded, offered
from schedproof.proxies.exchange import KEPT, Exchange
from schedproof.proxies.exchanges import describe_extender_call

_TIMEOUT = 5.0
"""Seconds that kube-scheduler waits if `httpTimeout` is not set (DefaultExtenderTimeout)."""
_TAKEN = "gzip"
"""The content coding that Go's client, and so kube-scheduler, accepts."""
_QUOTED = 200
"""Characters of a response that a refusal quotes."""


class ExtenderSurface:
    """Asks an extender over HTTP or HTTPS, on a connection that is kept for the next question, as kube-scheduler does.

    Args:
        connect: returns a connection to its current address, with a timeout in seconds.
        config: its verbs, and whether it gets node names or whole nodes.
        nodes: name to Node object, as in the API.
        pod: the pod to ask about, with another name and uid each time.
        script: gives the candidate readings; returns when its next query to Prometheus is answered with them.
        life: detects its end.
    """

    name = "extender"
    fewest = 1

    def __init__(
        self,
        connect: Callable[[float], http.client.HTTPConnection],
        config: ExtenderConfig,
        *,
        nodes: Mapping[str, Manifest],
        pod: Manifest,
        script: Callable[[Readings], None],
        life: Life,
    ) -> None:
        self._client, self._config, self._objects, self._pod = KeptAlive(connect), config, nodes, pod
        self._script, self._life = script, life
        self.nodes = tuple(nodes)
        self.most = len(nodes)
        self.waited = 0.0

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
        if not self._config.prioritize_verb:
            return Answer(filtered=filtered)
        answer = self._call(self._config.prioritize_verb, pod, left, answer_of_prioritize)
        return dataclasses.replace(answer, filtered=filtered)

    def close(self) -> None:
        """Close the connection, which may be the only one that the extender serves. The next question reconnects."""
        self._client.close()

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
        return read(describe_extender_call(exchange, self._config.recorded()))

    def _post(self, path: str, body: bytes) -> Exchange:
        headers = {"Content-Type": "application/json", "Accept-Encoding": _TAKEN}
        begin = time.monotonic()
        seconds, onward = self._config.http_timeout or _TIMEOUT, path
        try:
            for _ in range(MOST_REDIRECTS + 1):
                response = self._client.post(onward, body, headers, seconds)
                if not response.location:
                    break
                onward = response.location
        finally:
            seconds = time.monotonic() - begin
            self.waited += seconds
        answer = decoded(response.content, response.encoding, KEPT, accepted=offered(_TAKEN))
        return Exchange("POST", path, body, response.status, answer, seconds)


def answer_of_filter(call: Mapping[str, Any]) -> Answer:
    """Return which nodes a filter call excludes, or its refusal; `call` is an `extender` record of the history."""
    if refusal := _not_taken(call):
        return Answer(refusal=refusal)
    if call["error"]:
        return Answer(refusal=f"{call['request']}: {call['error']}")
    # A missing list is Go's empty list: no node is left.
    left = call["answered"] or []
    if strangers := [node for node in left if node not in call["asked"]]:
        return Answer(refusal=f"{call['request']}: it lets {strangers[0]} pass, which was not in the request")
    return Answer(filtered=tuple(node for node in call["asked"] if node not in left))


def answer_of_prioritize(call: Mapping[str, Any]) -> Answer:
    """Return the scores in the response to prioritize, as they are, or why there are none."""
    if refusal := _not_taken(call):
        return Answer(refusal=refusal)
    scores = call["scores"]
    if scores is None:
        return Answer(refusal=f"{call['request']}: no list of hosts with scores: {call['answer'][:_QUOTED]}")
    for host, score in scores:
        if not isinstance(host, str) or isinstance(score, bool) or not isinstance(score, int | float):
            return Answer(refusal=f"{call['request']}: no host with a score: {host!r}, {score!r}")
    # kube-scheduler adds the scores that it gets: a node that is left out has 0. See extender/prioritize-complete.
    scored = {host for host, _ in scores}
    left_out = ((node, 0) for node in call["asked"] if node not in scored)
    return Answer(scores=(*((host, score) for host, score in scores), *left_out))


def _not_taken(call: Mapping[str, Any]) -> str:
    """Return why kube-scheduler would not read a response; "" if it would."""
    if call["status"] != HTTPStatus.OK:
        return f"{call['request']}: status {call['status']}: {call['answer'][:_QUOTED].strip()}"
    return "" if call["json"] else f"{call['request']}: this is not valid JSON: {call['answer'][:_QUOTED]}"


def _refused(verb: str, error: Exception) -> Answer:
    return Answer(refusal=f"{verb}: {type(error).__name__}: {error}")
