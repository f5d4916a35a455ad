"""Why a compiled scheduler ended at its start, and what to do: known messages of kube-scheduler."""

from __future__ import annotations

import re

from schedproof.foundation.errors import CandidateError

REFUSED_VERSION = re.compile(
    r'no kind \\?"KubeSchedulerConfiguration\\?" is registered for version \\?"(?P<name>[^"\\]+)'
)
# pkg/scheduler/framework/runtime/framework.go: updatePluginList and expandMultiPointPlugins
UNREGISTERED = re.compile(r'(?:[A-Z]\w+ )\\?"(?P<name>[^"\\]+)\\?" does not exist')
# pkg/scheduler/framework/runtime/registry.go: Register
NAME_TAKEN = re.compile(r'a plugin named \\?"?(?P<name>[^"\\\s]+)\\?"? already exists')
# pkg/scheduler/profile, pkg/scheduler/framework/runtime, and pkg/scheduler/apis/config/validation
QUEUE_SORTS = re.compile(
    r"(?P<name>different queue sort plugins?.*|plugins\.queueSort: .*must be the same for all profiles"
    r"|only one queue sort plugin .*)"
)

_KNOWN: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        REFUSED_VERSION,
        "this Kubernetes serves no KubeSchedulerConfiguration of {name}",
        "write `apiVersion: kubescheduler.config.k8s.io/v1` (v1beta3, its predecessor, was removed in 1.29)",
    ),
    (
        UNREGISTERED,
        "the configuration enables a plugin {name}, and none is registered under that name",
        "make the name in the configuration the same as in app.WithPlugin(NAME, ...); case and underscores count",
    ),
    (
        NAME_TAKEN,
        "a plugin is registered as {name}, and there is one of that name already",
        "register it under a name of its own: those of Kubernetes' plugins are taken, and each name is registered once",
    ),
    (
        re.compile(r"unknown flag: (?P<name>--[\w-]+)"),
        "kube-scheduler has no flag {name}",
        "leave the flag out; Kubernetes 1.23 removed --port and --address: --secure-port serves health and metrics",
    ),
    (
        # pkg/scheduler/apis/config/validation, which comes before NewFramework's "repeated config for plugin"
        re.compile(r'pluginConfig\[\d+\]: Duplicate value: \\?"(?P<name>[^"\\]+)'),
        "pluginConfig has two entries for the plugin {name}",
        "keep one entry of pluginConfig for each plugin",
    ),
    (
        QUEUE_SORTS,
        "all profiles must have the same queueSort plugin, and only one: {name}",
        "enable the same queueSort plugin in every profile, and disable PrioritySort there",
    ),
    (
        # pkg/scheduler/framework/runtime/framework.go: NewFramework looks weights up by what plugins call themselves
        re.compile(r'score plugin \\?"(?P<name>[^"\\]+)\\?" is not configured with weight'),
        "a plugin calls itself {name} (its method Name), and is registered and enabled under another name",
        "make spec.plugin.name, or the name in app.WithPlugin(NAME, ...), the same as Name() returns",
    ),
    (
        re.compile(r'unknown field \\?"(?P<name>[^"\\]+)'),
        "there is no field {name} in its args or configuration",
        "check the spelling of that field",
    ),
    (
        re.compile(r"(?P<name>(?:strict decoding error|[Uu]nmarshal|decoding .*[Aa]rgs|[Aa]rgs .*type)[^\n]*)"),
        "its plugin cannot read its args: {name}",
        "compare the args with the names and types that the plugin decodes; it must decode into a pointer",
    ),
)


def explain_start(log: str, error: CandidateError) -> CandidateError:
    """The error with what its log means put first, where the log says something known."""
    for pattern, meaning, fix in _KNOWN:
        if found := pattern.search(log):
            return CandidateError(f"{meaning.format(name=found['name'])}\n{error.message}", remedy=fix)
    return error
