"""The parts of a recorded KubeSchedulerConfiguration that matter to judges.

- `addedAffinity` (NodeAffinityArgs) is ANDed with what each pod of the profile requires, and its preferred terms count
  beside the pod's own.
- `managedResources` with `ignoredByScheduler`: what an extender may count, and kube-scheduler does not.
- `ignoredResources` and `ignoredResourceGroups` (NodeResourcesFitArgs): extended resources that do not count.
- A disabled filter plugin changes no verdict: the rules are Kubernetes' promises to the authors of pods, which the
  profile `core` claims, and another plugin may keep them. A failure names the disabled plugins.
- `percentageOfNodesToScore`: with 100 nodes or more (minFeasibleNodesToFind), a scheduler that may stop before it has
  looked at all nodes need not prefer any.
- `podMaxBackoffSeconds` is how long a pod may wait after many errors.
- The default constraints of PodTopologySpread concern pods of Services and ReplicaSets, which the harness does not
  create.

Sources: pkg/scheduler/apis/config/types_pluginargs.go, pkg/scheduler/schedule_one.go (numFeasibleNodesToFind).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.candidate.scheduler_config import profile_of
from schedproof.candidate.subjects import CLAUSES, Subject
from schedproof.history.history import History
from schedproof.judge.rulings.extender_calls import configuration

_FILTERS = frozenset(
    {
        "DynamicResources", "InterPodAffinity", "NodeAffinity", "NodePorts", "NodeResourcesFit", "NodeUnschedulable",
        "NodeVolumeLimits", "PodTopologySpread", "TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
    }
)  # fmt: skip
_UNREADY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
"""Admission taints each new node like this (TaintNodesByCondition), and the node controller removes it."""
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ALL_ARE_SCORED = 100
"""With fewer nodes a scheduler looks at all of them, whatever the percentage."""


def as_configured(history: History, pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod with the affinity that its scheduler adds, and without the resources that it ignores, for the default
    rules. If taints do not count for the candidate, it tolerates the one that a node has until it is ready.
    """
    profile = _profile(history, pod["spec"].get("schedulerName", ""))
    added = _args(profile, "NodeAffinity").get("addedAffinity") or {}
    fit = _args(profile, "NodeResourcesFit")
    names, groups = set(fit.get("ignoredResources") or ()), set(fit.get("ignoredResourceGroups") or ())
    names |= {resource["name"] for resource in managed_apart(history)}
    terms = (added.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms")
    preferred = added.get(_PREFERRED) or ()
    taints_count = history.excluded.isdisjoint(CLAUSES[Subject.TAINTS])
    if terms is None and not preferred and not names and not groups and taints_count:
        return pod
    changed = copy.deepcopy(dict(pod))
    if not taints_count:
        changed["spec"]["tolerations"] = [*(changed["spec"].get("tolerations") or ()), _UNREADY]
    if terms is not None:
        _require(changed["spec"], terms)
    if preferred:
        affinity = changed["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity[_PREFERRED] = [*(affinity.get(_PREFERRED) or ()), *preferred]
    for container in (*changed["spec"].get("containers", ()), *changed["spec"].get("initContainers", ())):
        requests = (container.get("resources") or {}).get("requests") or {}
        for resource in [name for name in requests if "/" in name]:
            if resource in names or resource.partition("/")[0] in groups:
                del requests[resource]
    return changed


def managed_apart(history: History) -> list[Mapping[str, Any]]:
    """The extender's managed resources that kube-scheduler leaves to it; empty if the candidate is no extender."""
    managed = configuration(history).get("managedResources") or ()
    return [resource for resource in managed if resource.get("ignoredByScheduler")]


def _require(spec: dict[str, Any], added: Sequence[Mapping[str, Any]]) -> None:
    """AND required terms with the present terms; in each list the terms are ORed."""
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    own = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = (
        list(added) if own is None else [_both(present, more) for present in own["nodeSelectorTerms"] for more in added]
    )
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}


def _both(present: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    kinds = ("matchExpressions", "matchFields")
    if not all(any(term.get(kind) for kind in kinds) for term in (present, added)):
        return {}  # an empty term selects no node
    return {kind: [*(present.get(kind) or ()), *(added.get(kind) or ())] for kind in kinds}


def disabled_filters(history: History, pod: Mapping[str, Any]) -> str:
    """The filter plugins that a pod's profile disables, as the end of a summary; "" if there are none."""
    profile = _profile(history, pod["spec"].get("schedulerName", ""))
    disabled: set[str] = set()
    for point in ("multiPoint", "filter"):
        named = {str(plugin.get("name")) for plugin in _listed(profile, point, "disabled")}
        enabled = {str(plugin.get("name")) for plugin in _listed(profile, point, "enabled")}
        disabled |= (set(_FILTERS) if "*" in named else named & _FILTERS) - enabled
    return f"; its configuration disables {', '.join(sorted(disabled))}" if disabled else ""


def not_all_scored(history: History) -> str:
    """Why no preference can be required of a scheduler that looks at only some of the nodes; "" if it looks at all."""
    document, count = history.configuration, len(history.world.latest().nodes)
    if not document or count < _ALL_ARE_SCORED:
        return ""
    profiles: Sequence[Mapping[str, Any]] = document.get("profiles") or ({},)
    for profile in profiles:
        percentage = profile.get("percentageOfNodesToScore", document.get("percentageOfNodesToScore")) or 0
        if percentage < 100:
            setting = f"percentageOfNodesToScore is {percentage or 'not set'}"
            return f"its configuration lets it stop before it has looked at all of {count} nodes: {setting}, not 100"
    return ""


def back_off(history: History) -> float:
    """Seconds that a pod may have to wait after attempts that end in errors; 0 if that is left at its default."""
    return float(history.configuration.get("podMaxBackoffSeconds") or 0)


def _profile(history: History, scheduler_name: str) -> Mapping[str, Any]:
    document = history.configuration
    return profile_of(document, scheduler_name) if document else {}


def _args(profile: Mapping[str, Any], plugin: str) -> Mapping[str, Any]:
    entries = profile.get("pluginConfig") or ()
    return next((entry.get("args") or {} for entry in entries if entry.get("name") == plugin), {})


def _listed(profile: Mapping[str, Any], point: str, which: str) -> Sequence[Mapping[str, Any]]:
    return ((profile.get("plugins") or {}).get(point) or {}).get(which) or ()
