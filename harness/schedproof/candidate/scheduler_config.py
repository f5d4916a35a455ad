"""The KubeSchedulerConfiguration that the harness writes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.candidate.placeholders import fill

PREFERENCE_WEIGHT = 2_000
"""Weight of a plugin that claims to prefer quiet nodes. What it prefers decides; all else only breaks its ties.

One point of the plugin's 0..100 must count more than all default plugins together. Those add at most 100 each, times
their weights (`score_weights`), which makes 1500 points.
"""

DEFAULT_SCHEDULER = "default-scheduler"
"""The schedulerName of pods that name none."""

NO_LEADER_ELECTION: Mapping[str, Any] = MappingProxyType({"leaderElect": False})
"""A replica that leads: there is no other one."""

SERVED_VERSION = "kubescheduler.config.k8s.io/v1"
"""The one API version of KubeSchedulerConfiguration that Kubernetes has served since 1.29."""

DEFAULT_PLUGINS = frozenset(
    {
        "DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality", "InterPodAffinity",
        "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation",
        "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodGroupPodsCount", "PodTopologySpread",
        "PrioritySort", "SchedulingGates", "TaintToleration", "TopologyPlacementGenerator", "VolumeBinding",
        "VolumeRestrictions", "VolumeZone",
    }
)  # fmt: skip
"""Kubernetes 1.36: pkg/scheduler/framework/plugins/names."""

# The client's own default, 50 requests a second, would be the only thing that a benchmark measures.
_CLIENT = {"qps": 5_000, "burst": 10_000}


def scheduler_configuration(
    scheduler_names: Sequence[str],
    kubeconfig: Path,
    *,
    extenders: Sequence[Mapping[str, Any]] = (),
    profile: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The stock scheduler's configuration, under other names: all default plugins, all nodes scored.

    `profile` is what each profile has besides its name.
    """
    configuration: dict[str, Any] = {
        "apiVersion": SERVED_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), **_CLIENT},
        "leaderElection": dict(NO_LEADER_ELECTION),
        # From 100 nodes on the default scores only some of them, and the quietest may not be among those.
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": name, **profile} for name in scheduler_names],
    }
    if extenders:
        configuration["extenders"] = [dict(extender) for extender in extenders]
    return configuration


def plugin_profile(spec: PluginSpec, claims: Claims, values: Mapping[str, str]) -> dict[str, Any]:
    """The part of a profile that enables the candidate's plugin, with its args, wherever it implements a point.

    All default plugins stay on: those that filter because pods rely on them, those that score to break ties.
    """
    if not spec.name:
        return {}
    enabled: dict[str, Any] = {"name": spec.name}
    if "network-aware" in claims.profiles:
        enabled["weight"] = PREFERENCE_WEIGHT
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [enabled]}}}
    if spec.args:
        profile["pluginConfig"] = [{"name": spec.name, "args": fill(dict(spec.args), values)}]
    return profile


def own_configuration(
    candidate: Candidate,
    kubeconfig: Path,
    values: Mapping[str, str],
    *,
    extenders: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The candidate's native configuration, taken as it is, but for what only the harness can know.

    That is where the apiserver is, that this replica leads, and where the tapped extender listens.
    """
    assert candidate.scheduler_config is not None
    configuration: dict[str, Any] = fill(copy.deepcopy(dict(candidate.scheduler_config)), values)
    configuration["clientConnection"] = {
        **_CLIENT,
        **configuration.get("clientConnection", {}),
        "kubeconfig": str(kubeconfig),
    }
    configuration["leaderElection"] = dict(NO_LEADER_ELECTION)
    if extenders:
        configuration["extenders"] = [dict(extender) for extender in extenders]
    return configuration


def served_by(candidate: Candidate) -> list[str]:
    """The schedulerNames that a candidate serves."""
    if candidate.scheduler_config is None:
        return [candidate.scheduler_name]
    profiles = candidate.scheduler_config.get("profiles") or [{}]
    return [profile.get("schedulerName", DEFAULT_SCHEDULER) for profile in profiles]


SHARED_LEASE = "kube-system/kube-scheduler"
"""The Lease by which a cluster's own scheduler elects its leader, and every other one that names none."""


def elects_by_shared_lease(configuration: Mapping[str, Any]) -> bool:
    """Whether a KubeSchedulerConfiguration elects by the Lease of a cluster's own scheduler, as is the default.

    Source: SetDefaults_KubeSchedulerConfiguration and RecommendedDefaultLeaderElectionConfiguration.
    """
    election = configuration.get("leaderElection") or {}
    namespace, name = election.get("resourceNamespace") or "kube-system", election.get("resourceName")
    return election.get("leaderElect") is not False and f"{namespace}/{name or 'kube-scheduler'}" == SHARED_LEASE


def serving_all(configuration: dict[str, Any], scheduler_name: str) -> dict[str, Any]:
    """The configuration of a scheduler in the control plane's place: pods that name no scheduler are its own as well.

    They get the profile of `scheduler_name`, unless there is one for them.
    """
    profiles = configuration.get("profiles") or [{}]
    served = {profile.get("schedulerName", DEFAULT_SCHEDULER): profile for profile in profiles}
    if DEFAULT_SCHEDULER in served:
        return configuration
    return {**configuration, "profiles": [*profiles, {**served[scheduler_name], "schedulerName": DEFAULT_SCHEDULER}]}


def enabled_names(profile: Mapping[str, Any]) -> frozenset[str]:
    """The plugins that a profile enables by name, at any extension point."""
    return frozenset(
        str(plugin.get("name"))
        for point in (profile.get("plugins") or {}).values()
        for plugin in (point or {}).get("enabled") or ()
    )


def profile_of(configuration: Mapping[str, Any], scheduler_name: str) -> Mapping[str, Any]:
    """The profile that serves a schedulerName; an empty one where none does."""
    profiles = configuration.get("profiles") or ()
    return next((one for one in profiles if one.get("schedulerName", DEFAULT_SCHEDULER) == scheduler_name), {})


def own_plugin(profile: Mapping[str, Any]) -> str:
    """The one plugin that a profile enables and that is not Kubernetes' own; "" where that is not one."""
    own = enabled_names(profile) - DEFAULT_PLUGINS - {"*"}
    return next(iter(own)) if len(own) == 1 else ""


def own_args(configuration: Mapping[str, Any]) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """The args of each plugin that is not Kubernetes' own, with the numbers of its profile and of its pluginConfig."""
    for number, profile in enumerate(configuration.get("profiles") or ()):
        for index, entry in enumerate(profile.get("pluginConfig") or ()):
            if entry.get("name") not in DEFAULT_PLUGINS:
                yield number, index, entry.get("args") or {}


def ill_typed(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """Each arg of each plugin that is not Kubernetes' own, a value of another type, and the configuration with that.

    The profiles get other schedulerNames, so that a scheduler that starts with it has no pods to schedule.
    """
    return [
        (arg, wrong, _with_arg(configuration, number, index, arg, wrong))
        for number, index, args in own_args(configuration)
        for arg, value in args.items()
        if arg not in ("apiVersion", "kind")
        for wrong in ["not a mapping" if isinstance(value, dict) else {"not": "of this type"}]
    ]


def misspelled(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """As `ill_typed`: the args of each plugin that has some, with one more that no plugin knows."""
    return [
        (UNKNOWN_ARG, 1, _with_arg(configuration, number, index, UNKNOWN_ARG, 1))
        for number, index, args in own_args(configuration)
        if args
    ]


def incomplete(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """As `ill_typed`: the configuration without each of these args, then without the whole pluginConfig (arg "")."""
    return [
        (arg, None, _with_arg(configuration, number, index, arg, None))
        for number, index, args in own_args(configuration)
        for arg in ("", *args)
        if arg not in ("apiVersion", "kind")
    ]


UNKNOWN_ARG = "schedproofUnknown"


def _with_arg(configuration: Mapping[str, Any], number: int, index: int, arg: str, value: Any) -> dict[str, Any]:
    """The configuration with an arg, without it (value None), or without the pluginConfig (arg "")."""
    document = copy.deepcopy(dict(configuration))
    entries = document["profiles"][number]["pluginConfig"]
    if not arg:
        del entries[index]
    elif value is None:
        del entries[index]["args"][arg]
    else:
        entries[index]["args"][arg] = value
    for other, changed in enumerate(document["profiles"]):
        changed["schedulerName"] = f"schedproof-tried-{other}"
    return document
