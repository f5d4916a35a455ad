"""The running scheduler as a surface: one pod for each question, and the scores that are on record for it.

Source: Kubernetes 1.36, pkg/scheduler/schedule_one.go (prioritizeNodes, which logs scores) and framework/runtime
(RunScorePlugins): scores are logged once all are normalized and within 0..100, times the plugin's weight.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from schedproof.candidate.kinds import ExtenderConfig
from schedproof.candidate.scheduler_config import own_plugin, profile_of
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.surfaces.extender import answer_of_filter, answer_of_prioritize
from schedproof.normalization.surfaces.life import Life

_PLUGIN_HIGHEST, _EXTENDER_HIGHEST = 100, 10
"""MaxNodeScore and MaxExtenderPriority: the best that each can give a node."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a pod.

    Args:
        node: where it was bound; "" if it was not.
        said: why it was not bound, in the words of its PodScheduled condition.
        unschedulable: whether that was because no node was left (else something failed).
        scores: `score` records: what kube-scheduler logged for it, by scorer and node (normalized, times weight).
        calls: `extender` records: what kube-scheduler asked an extender about it.
        feasible: how many nodes were left to choose from, where it was bound and nothing was scored.
        crash: last words of a process of the candidate that ended meanwhile.
    """

    node: str = ""
    said: str = ""
    unschedulable: bool = False
    scores: Sequence[Mapping[str, Any]] = ()
    calls: Sequence[Mapping[str, Any]] = ()
    feasible: int | None = None
    crash: str = ""


class Scores(Protocol):
    """Finds a candidate's own scores in what is on record for a pod."""

    def answer(self, asked: Sequence[str], outcome: Outcome) -> Answer: ...


class SchedulerSurface:
    """Asks by pods that may only go to the nodes in question.

    Args:
        nodes: of the cluster.
        scores: where the candidate's are found.
        script: makes readings the candidate's; returns when its next question to Prometheus is answered with them.
        schedule: creates a pod that is `confined` to nodes, waits until the candidate has decided, and deletes it.
        life: tells whether it lives.
    """

    name = "scheduler"
    fewest = 2  # kube-scheduler does not score where one node is left

    def __init__(
        self,
        nodes: Sequence[str],
        scores: Scores,
        *,
        script: Callable[[Readings], None],
        schedule: Callable[[Sequence[str]], Outcome],
        life: Life,
    ) -> None:
        self.nodes = tuple(nodes)
        self.most = len(nodes)
        self.waited = 0.0
        self._scores, self._script, self._schedule, self._life = scores, script, schedule, life

    def ask(self, readings: Readings) -> Answer:
        self._life.revive()
        self._script(readings)
        asked = [node for node, _ in readings]
        begin = time.monotonic()
        outcome = self._schedule(asked)
        self.waited += time.monotonic() - begin
        return Answer(crash=outcome.crash) if outcome.crash else self._scores.answer(asked, outcome)

    def close(self) -> None:
        """Nothing is held."""


def confined(nodes: Sequence[str]) -> dict[str, Any]:
    """The `affinity` of a pod that may only go to these nodes. A term of matchFields takes one name: one for each."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@dataclasses.dataclass(frozen=True)
class ExtenderScores:
    """An extender's, exactly as it answered kube-scheduler over the tap."""

    config: ExtenderConfig

    def answer(self, asked: Sequence[str], outcome: Outcome) -> Answer:
        filtered: tuple[str, ...] = ()
        if self.config.filter_verb and (call := self._last(self.config.filter_verb, outcome)) is not None:
            found = answer_of_filter(call)
            if found.refusal:
                return found
            filtered = found.filtered
        call = self._last(self.config.prioritize_verb, outcome)
        if call is not None:
            return dataclasses.replace(answer_of_prioritize(call), filtered=filtered)
        return _unscored(asked, outcome, _EXTENDER_HIGHEST)

    def _last(self, verb: str, outcome: Outcome) -> Mapping[str, Any] | None:
        path = f"{self.config.path_prefix}/{verb}".lstrip("/")
        return next((call for call in reversed(outcome.calls) if call["request"] == path), None)


@dataclasses.dataclass(frozen=True)
class PluginScores:
    """A plugin's, from the log of its scheduler, with the weight taken off again."""

    plugin: str
    weight: int

    def answer(self, asked: Sequence[str], outcome: Outcome) -> Answer:
        # Of a pod that was tried twice, the last try counts.
        logged = {(score["scorer"], score["node"]): score["score"] for score in outcome.scores}
        own = {node: self._unweighted(score) for (scorer, node), score in logged.items() if scorer == self.plugin}
        scored = [node for scorer, node in logged if scorer == "total"]
        if not scored:
            return _unscored(asked, outcome, _PLUGIN_HIGHEST)
        filtered = tuple(node for node in asked if node not in scored)
        # All nodes were scored, but not by this plugin: its PreScore said Skip. Then no node is preferred to another.
        scores = own or dict.fromkeys(scored, _PLUGIN_HIGHEST)
        return Answer(scores=tuple(scores.items()), filtered=filtered)

    def _unweighted(self, score: int) -> float:
        whole, rest = divmod(score, self.weight)
        return score / self.weight if rest else whole


def plugin_scores(configuration: Mapping[str, Any], scheduler_name: str, plugin: str = "") -> PluginScores | None:
    """What to look for in the log of a kube-scheduler with this KubeSchedulerConfiguration; None: there is no telling.

    Args:
        configuration: the one that it was started with.
        scheduler_name: of the profile that pods ask for.
        plugin: the candidate's; if not given, the one that is enabled and not Kubernetes' own.
    """
    profile = profile_of(configuration, scheduler_name)
    name = plugin or own_plugin(profile)
    if not name:
        return None
    points = profile.get("plugins") or {}
    # What a point says itself goes before what `multiPoint` says of all; and no weight is 1 (framework/runtime).
    weights = [
        enabled.get("weight") or 1
        for point in ("score", "multiPoint")
        for enabled in (points.get(point) or {}).get("enabled") or ()
        if enabled.get("name") == name
    ]
    return PluginScores(name, weights[0]) if weights else None


def _unscored(asked: Sequence[str], outcome: Outcome, highest: int) -> Answer:
    """Of a pod for which no score is on record."""
    if outcome.unschedulable:
        return Answer(filtered=tuple(asked))
    if not outcome.node:
        return Answer(refusal=outcome.said or "the pod was not bound, and its condition gives no reason")
    if outcome.feasible != 1:
        return Answer(refusal="no scores are on record, though the pod was bound")
    # kube-scheduler does not score where one node is left: that is then the best there is.
    return Answer(((outcome.node, highest),), filtered=tuple(node for node in asked if node != outcome.node))
