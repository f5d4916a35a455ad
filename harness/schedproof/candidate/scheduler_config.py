"""Writes, completes and varies KubeSchedulerConfigurations."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.candidate.placeholders import fill

PREFERENCE_WEIGHT = 2_000
"""Weight of a plugin that claims to prefer nodes with little traffic. All other plugins only break its ties.

One point of the plugin's 0..100 must outweigh all default plugins together. Each of these adds at most 100 times its
weight (`score_weights`): 1500 points in total.
"""

DEFAULT_SCHEDULER = "default-scheduler"
"""The schedulerName of pods that do not set it."""

NO_LEADER_ELECTION: Mapping[str, Any] = MappingProxyType({"leaderElect": False})
"""For a single replica, which always leads."""

SERVED_VERSION = "kubescheduler.config.k8s.io/v1"
"""The only API version of KubeSchedulerConfiguration that Kubernetes has served since 1.29."""

DEFAULT_PLUGINS = frozenset(
    {
        "DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality", "InterPodAffinity",
        "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation",
        "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodGroupPodsCount", "PodTopologySpread",
        "PrioritySort", "SchedulingGates", "TaintToleration", "TopologyPlacementGenerator", "VolumeBinding",
        "VolumeRestrictions", "VolumeZone",
    }
)  # fmt: skip
"""Kubernetes' own plugins (1.36: pkg/scheduler/framework/plugins/names)."""

# The client's default limit of 50 requests a second would determine the result of every benchmark.
_CLIENT = {"qps": 5_000, "burst": 10_000}


def scheduler_configuration(
    scheduler_names: Sequence[str],
    kubeconfig: Path,
    *,
    extenders: Sequence[Mapping[str, Any]] = (),
    profile: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The configuration of a stock scheduler for `scheduler_names`, with all default plugins; it scores all nodes.

    `profile` has the fields of each profile besides its name.
    """
    configuration: dict[str, Any] = {
        "apiVersion": SERVED_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), **_CLIENT},
        "leaderElection": dict(NO_LEADER_ELECTION),
        # By default, only some of 100 or more nodes are scored, perhaps without the node that has the least traffic.
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": name, **profile} for name in scheduler_names],
    }
    if extenders:
        configuration["extenders"] = [dict(extender) for extender in extenders]
    return configuration


def plugin_profile(spec: PluginSpec, claims: Claims, values: Mapping[str, str]) -> dict[str, Any]:
    """The part of a profile that enables the candidate's plugin, with its args, at every extension point it implements.

    All default plugins stay enabled: pods rely on those that filter, and those that score break ties.
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
    """The candidate's own configuration, with the fields replaced that only the harness can know.

    These are the kubeconfig, leader election (off, for a single replica), and the addresses of the tapped extenders.
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
"""The Lease for leader election of a cluster's own scheduler, and of every scheduler that does not name another."""


def elects_by_shared_lease(configuration: Mapping[str, Any]) -> bool:
    """Whether a KubeSchedulerConfiguration uses the Lease of the cluster's own scheduler, which is the default.

    Source: SetDefaults_KubeSchedulerConfiguration and RecommendedDefaultLeaderElectionConfiguration.
    """
    election = configuration.get("leaderElection") or {}
    namespace, name = election.get("resourceNamespace") or "kube-system", election.get("resourceName")
    return election.get("leaderElect") is not False and f"{namespace}/{name or 'kube-scheduler'}" == SHARED_LEASE


def serving_all(configuration: dict[str, Any], scheduler_name: str) -> dict[str, Any]:
    """The configuration of a scheduler that replaces the control plane's, and so serves `default-scheduler` as well.

    Pods of `default-scheduler` get the profile of `scheduler_name`, unless they have a profile already.
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
    """The profile that serves a schedulerName; empty if none does."""
    profiles = configuration.get("profiles") or ()
    serving = (profile for profile in profiles if profile.get("schedulerName", DEFAULT_SCHEDULER) == scheduler_name)
    return next(serving, {})


def nodes_to_score(configuration: Mapping[str, Any], scheduler_name: str) -> int:
    """Return the percentage of nodes that a profile scores; 0: Kubernetes' adaptive default.

    Source: numFeasibleNodesToFind (pkg/scheduler/schedule_one.go); a profile's own value has precedence.
    """
    own = profile_of(configuration, scheduler_name).get("percentageOfNodesToScore")
    return int(configuration.get("percentageOfNodesToScore") or 0 if own is None else own)


def scoring_all_nodes(candidate: Candidate) -> Candidate:
    """Return the candidate whose own configuration, if it has one, lets its kube-scheduler score all nodes."""
    if candidate.scheduler_config is None:
        return candidate
    configuration = {**copy.deepcopy(dict(candidate.scheduler_config)), "percentageOfNodesToScore": 100}
    for profile in configuration.get("profiles") or ():
        profile.pop("percentageOfNodesToScore", None)
    return dataclasses.replace(candidate, scheduler_config=configuration)


def own_plugin(profile: Mapping[str, Any]) -> str:
    """The only plugin that a profile enables and that is not Kubernetes' own; "" if there are several, or none."""
    own = enabled_names(profile) - DEFAULT_PLUGINS - {"*"}
    return next(iter(own)) if len(own) == 1 else ""


def own_args(configuration: Mapping[str, Any]) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """The args of each plugin that is not Kubernetes' own, with the indices of its profile and pluginConfig."""
    for number, profile in enumerate(configuration.get("profiles") or ()):
        for index, entry in enumerate(profile.get("pluginConfig") or ()):
            if entry.get("name") not in DEFAULT_PLUGINS:
                yield number, index, entry.get("args") or {}


def ill_typed(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """For each arg of a plugin that is not Kubernetes' own: its name, an ill-typed value, the configuration with it.

    The profiles get other schedulerNames, so that a scheduler that starts in spite of it has no pods to schedule.
    """
    return [
        (arg, wrong, _with_arg(configuration, number, index, arg, wrong))
        for number, index, args in own_args(configuration)
        for arg, value in args.items()
        if arg not in ("apiVersion", "kind")
        for wrong in ["not a mapping" if isinstance(value, dict) else {"not": "of this type"}]
    ]


def misspelled(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """Like `ill_typed`, with an unknown arg added for each plugin that has args."""
    return [
        (UNKNOWN_ARG, 1, _with_arg(configuration, number, index, UNKNOWN_ARG, 1))
        for number, index, args in own_args(configuration)
        if args
    ]


def incomplete(configuration: Mapping[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    """Like `ill_typed`, without the whole pluginConfig (arg ""), then without each arg."""
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
    for position, profile in enumerate(document["profiles"]):
        profile["schedulerName"] = f"schedproof-tried-{position}"
    return document
