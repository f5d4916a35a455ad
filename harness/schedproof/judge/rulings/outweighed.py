"""Whether kube-scheduler's own plugins outweighed the candidate's scores, or decided between equal scores.

On nodes that differ in their traffic only, these plugins give all nodes the same score. On other nodes, as in an
existing cluster, they may count more than an extender of a small weight: each of its scores of 0 to 10 adds ten times
as many points, times its weight, and each plugin up to 100, times its own (prioritizeNodes in
pkg/scheduler/schedule_one.go; weights: pkg/scheduler/apis/config/v1/default_plugins.go). The scores that kube-scheduler
logged for a pod show it.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedproof.candidate.kinds import weighed_beyond_int64
from schedproof.candidate.scheduler_config import DEFAULT_PLUGINS, own_plugin, profile_of
from schedproof.history.history import History
from schedproof.judge.rulings.decisions import pod_scores
from schedproof.judge.rulings.extender_calls import configuration as extender_configuration
from schedproof.judge.rulings.ruling import Ruling

_EXTENDER, _TOTAL = "extender", "total"
_OF_EXTENDERS = 10
"""MaxNodeScore / MaxExtenderPriority. An extender's scores are logged as it gave them, a plugin's times its weight."""


def outweighed(history: History, ruling: Ruling) -> tuple[frozenset[str], str]:
    """The nodes that the candidate's own scores put first if kube-scheduler's put another first, and a sentence about
    it.

    No nodes and "" if that is not the case, or not on record.
    """
    own, others = _scores(history, ruling)
    chosen = ruling.binding.node
    first = frozenset(node for node, score in own.items() if score == max(own.values()))
    if chosen not in own or chosen in first:
        return frozenset(), ""
    node = max(first, key=others.__getitem__)
    if own[node] + others[node] > own[chosen] + others[chosen]:
        return frozenset(), ""  # it was not for its points that the node was chosen
    return first, (
        f"its own scores put {node} before {chosen} ({own[node]:g} to {own[chosen]:g} points), but kube-scheduler's "
        f"plugins put {chosen} first ({others[node]:g} to {others[chosen]:g}): nodes differ in more than their "
        "traffic, and its weight does not outweigh that"
    )


def tie_broken(history: History, ruling: Ruling, node: str) -> bool:
    """Whether a node was as good as the chosen node by the candidate's own scores, and worse by kube-scheduler's."""
    own, others = _scores(history, ruling)
    chosen = ruling.binding.node
    return {node, chosen} <= own.keys() and own[node] == own[chosen] and others[node] < others[chosen]


def _scores(history: History, ruling: Ruling) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Points of the feasible nodes by the candidate's own scores, and by all others; none if the others are not
    kube-scheduler's, or if the candidate's overflow (`weight-overflows` of `judge.symptoms`).
    """
    metadata = ruling.binding.manifest["metadata"]
    logged = pod_scores(history, f"{metadata['namespace']}/{metadata['name']}")
    extender = extender_configuration(history)
    weight = extender.get("weight") or 1
    if extender and weighed_beyond_int64(weight):
        return {}, {}
    scorer, factor = _EXTENDER, _OF_EXTENDERS * weight
    if not extender:
        name = ruling.binding.manifest["spec"].get("schedulerName", "")
        scorer, factor = own_plugin(profile_of(history.configuration, name)), 1
    scores = {node: logged[node] for node in ruling.feasible if _TOTAL in logged.get(node, {})}
    scorers = {plugin for its in scores.values() for plugin in its}
    if scorer not in scorers or scorers - {scorer, _TOTAL} - DEFAULT_PLUGINS:
        return {}, {}
    own = {node: factor * its.get(scorer, 0) for node, its in scores.items()}
    return own, {node: its[_TOTAL] - own[node] for node, its in scores.items()}
