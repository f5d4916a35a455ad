"""The running scheduler as a surface: one pod per question, and the scores that are recorded for it.

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
"""MaxNodeScore and MaxExtenderPriority: the highest score of a plugin and of an extender."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a pod.

    Args:
        node: where it was bound; "" if it was not.
        message: why it was not bound, from its PodScheduled condition.
        unschedulable: whether that was because no node was feasible (otherwise something failed).
        scores: `score` records: what kube-scheduler logged for it, by scorer and node (normalized, weighted).
        calls: `extender` records: kube-scheduler's calls of an extender for it.
        feasible: how many nodes were feasible, if it was bound and nothing was scored.
        crash: last log lines of a process of the candidate that ended meanwhile.
    """

    node: str = ""
    message: str = ""
    unschedulable: bool = False
    scores: Sequence[Mapping[str, Any]] = ()
    calls: Sequence[Mapping[str, Any]] = ()
    feasible: int | None = None
    crash: str = ""


class Scores(Protocol):
    """Finds a candidate's own scores in the records of a pod."""

    def answer(self, asked: Sequence[str], outcome: Outcome) -> Answer: ...


class SchedulerSurface:
    """Asks with pods that may only go to the nodes in question.

    Args:
        nodes: of the cluster.
        scores: finds the candidate's scores.
        script: gives the candidate readings; returns when its next query to Prometheus is answered with them.
        schedule: creates a pod that is `confined` to nodes, waits for a decision, and deletes the pod.
        life: detects its end.
    """

    name = "scheduler"
    fewest = 2  # kube-scheduler does not score a single feasible node

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
        """Do nothing: no resource is held."""


def confined(nodes: Sequence[str]) -> dict[str, Any]:
    """Return the `affinity` of a pod that may only go to these nodes. matchFields takes one name per term."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@dataclasses.dataclass(frozen=True)
class ExtenderScores:
    """An extender's scores, as it responded to kube-scheduler over the tap."""

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
    """A plugin's scores, from the log of its scheduler, divided by the weight."""

    plugin: str
    weight: int

    def answer(self, asked: Sequence[str], outcome: Outcome) -> Answer:
        # For a pod that was tried twice, the last attempt counts.
        logged = {(score["scorer"], score["node"]): score["score"] for score in outcome.scores}
        own = {node: self._unweighted(score) for (scorer, node), score in logged.items() if scorer == self.plugin}
        scored = [node for scorer, node in logged if scorer == "total"]
        if not scored:
            return _unscored(asked, outcome, _PLUGIN_HIGHEST)
        filtered = tuple(node for node in asked if node not in scored)
        # All nodes were scored, but not by this plugin: its PreScore returned Skip. Then it prefers no node to another.
        scores = own or dict.fromkeys(scored, _PLUGIN_HIGHEST)
        return Answer(scores=tuple(scores.items()), filtered=filtered)

    def _unweighted(self, score: int) -> float:
        whole, rest = divmod(score, self.weight)
        return score / self.weight if rest else whole


def plugin_scores(configuration: Mapping[str, Any], scheduler_name: str, plugin: str = "") -> PluginScores | None:
    """Return the scores to look for in the log of a kube-scheduler with this KubeSchedulerConfiguration.

    None: the configuration does not determine them.

    Args:
        configuration: the one that it was started with.
        scheduler_name: of the profile that pods name.
        plugin: the candidate's; default: the enabled plugin that is not Kubernetes' own.
    """
    profile = profile_of(configuration, scheduler_name)
    name = plugin or own_plugin(profile)
    if not name:
        return None
    points = profile.get("plugins") or {}
    # A point's own weight takes precedence over that of `multiPoint`; no weight means 1 (framework/runtime).
    weights = [
        enabled.get("weight") or 1
        for point in ("score", "multiPoint")
        for enabled in (points.get(point) or {}).get("enabled") or ()
        if enabled.get("name") == name
    ]
    return PluginScores(name, weights[0]) if weights else None


def _unscored(asked: Sequence[str], outcome: Outcome, highest: int) -> Answer:
    """Return the answer for a pod without recorded scores."""
    if outcome.unschedulable:
        return Answer(filtered=tuple(asked))
    if not outcome.node:
        return Answer(refusal=outcome.message or "the pod was not bound, and its condition gives no reason")
    if outcome.feasible != 1:
        return Answer(refusal="no scores are on record, though the pod was bound")
    # kube-scheduler does not score a single feasible node: it is then the best.
    return Answer(((outcome.node, highest),), filtered=tuple(node for node in asked if node != outcome.node))
