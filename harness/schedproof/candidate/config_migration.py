"""Turns a KubeSchedulerConfiguration of a removed API version into one of v1, and says what changed and why.

Source: https://kubernetes.io/docs/reference/scheduling/config/#scheduler-configuration-migrations, and the release
notes of Kubernetes 1.22 to 1.32 for plugins that were removed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from schedproof.candidate.scheduler_config import SERVED_VERSION

_GROUP = "kubescheduler.config.k8s.io"
REMOVED_VERSIONS = tuple(f"{_GROUP}/v1beta{number}" for number in (1, 2, 3))

_STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Plugins of v1beta1, and the strategy of NodeResourcesFit that replaces each."""
_FIT = "NodeResourcesFit"
_GONE = {
    "NodeLabel": "NodeAffinity, which is enabled by default, reads the affinity of pods",
    "NodePreferAvoidPods": "use taints of nodes",
    "SelectorSpread": "PodTopologySpread, which is enabled by default, spreads pods of a service",
    "ServiceAffinity": "InterPodAffinity, which is enabled by default, reads the affinity of pods",
    **dict.fromkeys(
        ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"),
        "NodeVolumeLimits, which is enabled by default, limits volumes of all drivers",
    ),
}
"""Plugins that were removed, and what does their work."""
_SERVERS = ("healthzBindAddress", "metricsBindAddress")
_WEIGHTS = "InterPodAffinity 2 (was 1), NodeAffinity 2 (was 1), TaintToleration 3 (was 1)"


def migrated(configuration: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The configuration as v1, and a sentence for each change.

    Args:
        configuration: of one of `REMOVED_VERSIONS`, or of v1, which comes back unchanged.
    """
    found = copy.deepcopy(dict(configuration))
    version = found.get("apiVersion")
    if version == SERVED_VERSION:
        return found, []
    changes = [f"apiVersion: {version} is no longer served; since Kubernetes 1.29, v1 is the only version"]
    changes += [
        f"{field} is removed: the endpoints are served at --secure-port of the command line"
        for field in _SERVERS
        if found.pop(field, None) is not None
    ]
    for number, profile in enumerate(found.get("profiles") or ()):
        where = profile.get("schedulerName") or f"profile {number}"
        changes += [f"{where}: {change}" for change in _profile(profile)]
        if version != f"{_GROUP}/v1beta3":
            changes.append(f"{where}: weights that are not set have other defaults since v1beta3: {_WEIGHTS}")
    found["apiVersion"] = SERVED_VERSION
    return found, changes


def _profile(profile: dict[str, Any]) -> Iterator[str]:
    """Change a profile, and yield what was changed."""
    for point, plugins in (profile.get("plugins") or {}).items():
        for state in ("enabled", "disabled"):
            if isinstance(plugins, dict) and plugins.get(state):
                yield from _listed(plugins, state, f"plugins.{point}.{state}")
    configured: list[dict[str, Any]] = []
    for entry in profile.get("pluginConfig") or ():
        name = entry.get("name")
        if name in _GONE:
            yield f"pluginConfig: {name} is removed; {_GONE[name]}"
        elif name in _STRATEGIES:
            yield f"pluginConfig: the args of {name} are now the scoringStrategy of {_FIT}"
            _add_strategy(configured, _STRATEGIES[name], entry.get("args") or {})
        else:
            configured.append(entry)
            if isinstance(entry.get("args"), dict) and "apiVersion" in entry["args"]:
                entry["args"]["apiVersion"] = SERVED_VERSION
    if profile.get("pluginConfig"):
        profile["pluginConfig"] = configured


def _listed(plugins: dict[str, Any], state: str, where: str) -> Iterator[str]:
    kept = []
    for entry in plugins[state]:
        name = entry.get("name")
        if name in _GONE:
            yield f"{where}: {name} is removed; {_GONE[name]}"
        elif name in _STRATEGIES and state == "disabled":
            yield f"{where}: {name} is removed; there is nothing to disable"
        elif name in _STRATEGIES:
            yield f"{where}: {name} is now {_FIT} with the scoringStrategy {_STRATEGIES[name]} (pluginConfig)"
            kept.append({**entry, "name": _FIT})
        else:
            kept.append(entry)
    plugins[state] = kept


def _add_strategy(configured: list[dict[str, Any]], kind: str, args: Mapping[str, Any]) -> None:
    strategy: dict[str, Any] = {"type": kind, **({"resources": args["resources"]} if "resources" in args else {})}
    if "shape" in args:
        strategy["requestedToCapacityRatio"] = {"shape": args["shape"]}
    entry = next((entry for entry in configured if entry.get("name") == _FIT), None)
    if entry is None:
        entry = {"name": _FIT}
        configured.append(entry)
    entry["args"] = {**(entry.get("args") or {}), "scoringStrategy": strategy}
